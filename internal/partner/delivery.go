package partner

import (
	"net/url"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/webhook"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// retryWaits are the waits after the first, second and further failed attempts to deliver an event, as Standard Webhooks recommends. If the
// attempt after the last wait fails, the event is given up.
var retryWaits = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// failingFor is the time since the last success, or since the registration without one, from which an event that is given up disables the
// webhook. It is a little shorter than the time for which one event is retried (75 h 35 min).
const failingFor = 75 * time.Hour

// RetryWait returns the wait after a number of failed attempts to deliver an event. It returns false if the event is then given up, and for
// 0 attempts.
func RetryWait(attempts int) (time.Duration, bool) {
	if attempts < 1 || attempts > len(retryWaits) {
		return 0, false
	}
	return retryWaits[attempts-1], true
}

// WebhookState returns "disabled", or the state of a webhook's health: unknown, ok or failing.
func WebhookState(w *WebhookRow) string {
	if w.DisabledAt != nil {
		return "disabled"
	}
	return WebhookHealth(w).State()
}

// WebhookHealth returns the results of the last deliveries to a webhook in the form of an endpoint's health.
func WebhookHealth(w *WebhookRow) Health {
	return Health{Failures: w.Failures, LastSuccessAt: w.LastSuccessAt, LastFailureAt: w.LastFailureAt, LastError: Failure{w.LastError, w.LastProblem}}
}

// WebhookHost returns the host of a webhook's URL, for staff. The rest of the URL may contain a token.
func WebhookHost(w *WebhookRow) string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// DeliveryLease is the right of one job to deliver the events of a webhook: only one job at a time has it. It expires if it is not renewed,
// because the process of the job has died.
type DeliveryLease struct {
	PropertyID, WebhookID string
	Job                   int64
}

// drainFor is how long the right to deliver lasts without a renewal. It is longer than one delivery may take.
const drainFor = 45 * time.Second

// Begin takes the right to deliver for drainFor, unless another job has it (busy). w is the webhook. It is nil if busy, or if the webhook
// is disabled or was deleted.
func (d DeliveryLease) Begin(tx *db.Tx) (w *WebhookRow, busy bool, err error) {
	rows, err := listWebhooks(tx, webhook.PropertyID(d.PropertyID), webhook.ID(d.WebhookID))
	if err != nil || len(rows) == 0 || rows[0].DisabledAt != nil {
		return nil, false, err
	}
	w = rows[0]
	if w.DrainedUntil != nil && w.DrainedBy != d.Job && tx.Now().Before(*w.DrainedUntil) {
		return nil, true, nil
	}
	err = tx.Webhook.Update().Where(webhook.PropertyID(d.PropertyID), webhook.ID(d.WebhookID)).
		SetDrainedBy(d.Job).SetDrainedUntil(tx.Now().Add(drainFor)).Exec(tx.Context())
	if err != nil {
		return nil, false, wrapError("begin to deliver to a webhook", err)
	}
	return w, false, nil
}

// renew extends the right to deliver. It returns event.ErrMoved if the job has lost the right, or if the webhook was disabled or deleted.
func (d DeliveryLease) renew(tx *db.Tx) error {
	n, err := tx.Webhook.Update().
		Where(webhook.PropertyID(d.PropertyID), webhook.ID(d.WebhookID), webhook.DrainedBy(d.Job), webhook.DisabledAtIsNil()).
		SetDrainedUntil(tx.Now().Add(drainFor)).Save(tx.Context())
	if err == nil && n == 0 {
		return event.ErrMoved
	}
	if err != nil {
		return wrapError("go on to deliver to a webhook", err)
	}
	return nil
}

// End releases the right to deliver, so that another job can take it at once. It does nothing, and returns no error, if the job has lost
// the right.
func (d DeliveryLease) End(tx *db.Tx) error {
	err := tx.Webhook.Update().Where(webhook.PropertyID(d.PropertyID), webhook.ID(d.WebhookID), webhook.DrainedBy(d.Job)).
		ClearDrainedUntil().Exec(tx.Context())
	if err != nil {
		return wrapError("end to deliver to a webhook", err)
	}
	return nil
}

// endDelivery adds to a change of webhooks that a running job loses its right to deliver, because it has loaded settings that the change
// makes outdated: the URL, the kinds, the scopes or the secret. What the job does then is not stored, so another one repeats its last
// message, and finds the events of a new kind that the former settings would have passed over.
func endDelivery(m *ent.WebhookMutation) {
	m.SetDrainedBy(0)
	m.ClearDrainedUntil()
}

// Delivery is the outcome of one attempt to deliver one event to a webhook.
type Delivery struct {
	Failure Failure // Failure is why it failed; zero: it was delivered, or not sent
	Sent    bool    // Sent is false if nothing was sent, because the event does not concern the webhook
	GivenUp bool    // GivenUp means that the event is not retried any more
	Gone    bool    // Gone means that the webhook answered 410, which disables it
}

// Record stores the outcome of a delivery, and renews the right to deliver. If nothing was sent, it only renews. A failure can notify
// staff: see notifyFailedDelivery. disabled means that the failure disabled the webhook, which then has no cursors any more. The error is
// event.ErrMoved if the job has lost the right, or if the webhook was disabled or deleted meanwhile; nothing is then stored.
func (d DeliveryLease) Record(tx *db.Tx, o Delivery) (disabled bool, err error) {
	if err := d.renew(tx); err != nil || !o.Sent {
		return false, err
	}
	w, err := loadWebhook(tx, d.PropertyID, d.WebhookID)
	if err != nil {
		return false, err
	}
	if !o.Failure.Failed() {
		return false, recordDelivered(tx, w)
	}
	return recordFailed(tx, w, o)
}

// recordDelivered stores a success and resets the count of consecutive failures. It skips a write that would only renew a recent success.
func recordDelivered(tx *db.Tx, w *WebhookRow) error {
	if w.Failures == 0 && w.LastSuccessAt != nil && tx.Now().Sub(*w.LastSuccessAt) < successPrecision {
		return nil
	}
	err := tx.Webhook.UpdateOne(w).Where(webhook.PropertyID(w.PropertyID)).SetFailures(0).SetLastSuccessAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return wrapError("store the health of a webhook", err)
	}
	return nil
}

// recordFailed counts a failed delivery, notifies staff if necessary, and, if disabledReason has a reason, disables the webhook and drops
// its undelivered events.
func recordFailed(tx *db.Tx, w *WebhookRow, o Delivery) (disabled bool, err error) {
	update := tx.Webhook.UpdateOne(w).Where(webhook.PropertyID(w.PropertyID)).AddFailures(1).SetLastFailureAt(tx.Now()).SetLastError(o.Failure.stored()).SetLastProblem(o.Failure.Problem)
	if o.GivenUp {
		update.AddGivenUp(1).SetGivenUpAt(tx.Now())
	}
	reason := disabledReason(w, o, tx.Now())
	if reason != "" {
		update.SetDisabledAt(tx.Now()).SetDisabledReason(reason)
		if err := event.UnsubscribeWebhook(tx, w.ID); err != nil {
			return false, err
		}
	}
	if err := update.Exec(tx.Context()); err != nil {
		return false, wrapError("store the health of a webhook", err)
	}
	return reason != "", notifyFailedDelivery(tx, w, o, reason)
}

// disabledReason returns why a failed delivery disables a webhook, or "" if it does not: the webhook answered 410, or an event was given up
// and at least failingFor has passed since the last success or, without one, since the registration.
func disabledReason(w *WebhookRow, o Delivery, now time.Time) string {
	since := w.CreatedAt
	if w.LastSuccessAt != nil {
		since = *w.LastSuccessAt
	}
	switch {
	case o.Gone:
		return DisabledGone
	case o.GivenUp && now.Sub(since) >= failingFor:
		return DisabledFailing
	}
	return ""
}

// notifyFailedDelivery notifies staff, once per episode of failures (see episodeGap), that a webhook was disabled, that an event was given
// up, or that deliveries failed three times in a row, which is also an event for partners. The first failure of an episode only resolves
// the notices of earlier ones, unless it gives an event up or disables the webhook. reason is why the webhook was disabled, or "".
func notifyFailedDelivery(tx *db.Tx, w *WebhookRow, o Delivery, reason string) error {
	kind := notice.Kind("")
	switch {
	case reason == DisabledGone:
		kind = notice.WebhookGone
	case reason == DisabledFailing:
		kind = notice.WebhookDisabled
	case o.GivenUp:
		kind = notice.WebhookGivenUp
	case w.Failures == 0 && w.LastFailureAt != nil && tx.Now().Sub(*w.LastFailureAt) > episodeGap:
		return resolveWebhookNotices(tx, w.PropertyID, w.ID)
	case w.Failures+1 == failuresToNotify:
		kind = notice.WebhookFailing
	default:
		return nil
	}
	open, err := notice.IsOpen(tx, kind.Key(w.ID))
	if err != nil || open {
		return err
	}
	own, err := Integration(tx, w.PropertyID, w.IntegrationID)
	if err != nil {
		return err
	}
	params := message.Params{"app": own.Name, "host": WebhookHost(w)}
	if kind == notice.WebhookFailing {
		params["problem"], params["failures"] = o.Failure.forStaff(), failuresToNotify
		err = event.Append(tx, event.Event{
			PropertyID: w.PropertyID, Subject: w.IntegrationID, Kind: event.EndpointFailing,
			Body: map[string]any{"integrationId": w.IntegrationID, "action": "webhook", "webhookId": w.ID, "failures": failuresToNotify},
		})
		if err != nil {
			return err
		}
	}
	return notice.Add(tx, notice.Notice{PropertyID: w.PropertyID, Kind: kind, Subject: w.IntegrationID, Params: params, OnceKey: kind.Key(w.ID)})
}

// resolveWebhookNotices resolves all notices about failures of a webhook.
func resolveWebhookNotices(tx *db.Tx, propertyID, webhookID string) error {
	var keys []string
	for _, kind := range []notice.Kind{notice.WebhookFailing, notice.WebhookGivenUp, notice.WebhookDisabled, notice.WebhookGone} {
		keys = append(keys, kind.Key(webhookID))
	}
	return notice.Resolve(tx, propertyID, keys...)
}

// RecordWebhookTest stores the result of a test message that a person sent to a webhook. failure is zero for a success. A failed test is
// stored as the last error, but does not count as a failure. A successful test counts like a delivery, and makes the events that wait for a
// retry due at once. It returns a not-found fault if the webhook was removed.
func RecordWebhookTest(tx *db.Tx, propertyID, webhookID string, failure Failure) error {
	w, err := loadWebhook(tx, propertyID, webhookID)
	if err != nil {
		return err
	}
	if !failure.Failed() {
		if err := event.RetryWebhookNow(tx, webhookID); err != nil {
			return err
		}
		return recordDelivered(tx, w)
	}
	err = tx.Webhook.UpdateOne(w).Where(webhook.PropertyID(propertyID)).SetLastError(failure.stored()).SetLastProblem(failure.Problem).Exec(tx.Context())
	if err != nil {
		return wrapError("store the health of a webhook", err)
	}
	return nil
}

// DueWebhook is a webhook for which a job must be enqueued.
type DueWebhook struct{ PropertyID, ID string }

// DueWebhooks returns the webhooks for which a delivery job must be enqueued: those with a subject whose retry is due, and those whose job
// crashed and did not release its right to deliver.
func DueWebhooks(view *db.Tx) ([]DueWebhook, error) {
	due, err := db.ReadList(view, func(w *DueWebhook) []any { return []any{&w.PropertyID, &w.ID} }, selectDueWebhooks, view.Now(), view.Now())
	if err != nil {
		return nil, wrapError("find webhooks with due deliveries", err)
	}
	return due, nil
}

// WebhooksAt returns the enabled webhooks of several properties, in the order of their registration.
func WebhooksAt(view *db.Tx, propertyIDs []string) ([]*WebhookRow, error) {
	rows, err := view.Webhook.Query().Where(webhook.PropertyIDIn(propertyIDs...), webhook.DisabledAtIsNil()).
		Order(webhook.ByID(sql.OrderAsc())).All(view.Context())
	if err != nil {
		return nil, wrapError("list the webhooks of properties", err)
	}
	return rows, nil
}
