package partner

// selectDueWebhooks finds the webhooks with a retry that is due, or whose right to deliver has expired without a release, because the job
// crashed.
const selectDueWebhooks = `SELECT w.property_id, w.id FROM event_cursors AS c JOIN webhooks AS w ON w.id = c.webhook_id
	WHERE c.retry_at <= $1 AND c.subject <> ''
	UNION SELECT property_id, id FROM webhooks WHERE drained_until <= $2 AND disabled_at IS NULL`
