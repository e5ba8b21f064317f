package partner

// selectDueWebhooks finds the webhooks with a retry that is due.
const selectDueWebhooks = `SELECT DISTINCT w.property_id, w.id FROM event_cursors AS c JOIN webhooks AS w ON w.id = c.webhook_id
	WHERE c.retry_at <= $1 AND c.subject <> ''`
