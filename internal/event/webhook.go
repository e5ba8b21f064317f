package event

import (
	"fmt"
	"strings"
	"time"

	"latchkey.dev/internal/db"
)

// SubscribeWebhook stores the cursor of a webhook, which receives the events that get a position from now on. Its name as a subscriber is
// its id. It does nothing if the webhook has a cursor.
func SubscribeWebhook(tx *db.Tx, webhookID string) error { return subscribe(tx, webhookID, webhookID) }

// UnsubscribeWebhook deletes the cursors of a webhook. The webhook does not receive the events that it has not received yet.
func UnsubscribeWebhook(tx *db.Tx, webhookID string) error {
	if _, err := tx.ExecContext(tx.Context(), deleteWebhookCursors, webhookID); err != nil {
		return fmt.Errorf("delete the cursors of a webhook: %w", err)
	}
	return nil
}

// RetryWebhookNow makes all retries of a webhook due, for example after a successful test. It keeps the counts of failed attempts. A sweep
// of the worker then starts the retries.
func RetryWebhookNow(tx *db.Tx, webhookID string) error {
	if _, err := tx.ExecContext(tx.Context(), retryNow, tx.Now(), webhookID, tx.Now()); err != nil {
		return fmt.Errorf("make the retries of a webhook due: %w", err)
	}
	return nil
}

// RestartWebhookRetries makes all retries of a webhook due, and forgets the failed attempts: each event that waits is retried as often as a
// new one.
func RestartWebhookRetries(tx *db.Tx, webhookID string) error {
	if _, err := tx.ExecContext(tx.Context(), restartRetries, tx.Now(), webhookID); err != nil {
		return fmt.Errorf("restart the retries of a webhook: %w", err)
	}
	return nil
}

// WebhookCursors returns the cursors of a webhook in the order of [Cursors]. A disabled webhook has none.
func WebhookCursors(view *db.Tx, propertyID, webhookID string) ([]*Cursor, error) {
	all, err := Cursors(view, webhookID)
	for _, c := range all {
		c.PropertyID = propertyID
	}
	return all, err
}

// maxBacklog is the most events of a backlog that are counted.
const maxBacklog = 10_000

// Backlog describes the events that a webhook has not received.
type Backlog struct {
	Waiting  int        // Waiting counts events up to maxBacklog
	Since    *time.Time // Since is when the oldest waiting event was stored; nil: none waits
	HeldBack int        // HeldBack counts the subjects that wait for a retry
	RetryAt  *time.Time // RetryAt is when the next subject is retried; nil: none waits
}

// WebhookBacklog counts the events of some kinds that a webhook has not received. Without kinds, events of every kind count. Events without
// a position do not count yet, and HeldBack counts subjects whatever their kinds. A disabled webhook has an empty backlog.
func WebhookBacklog(view *db.Tx, propertyID, webhookID string, kinds []string) (Backlog, error) {
	cursors, err := WebhookCursors(view, propertyID, webhookID)
	if err != nil || len(cursors) == 0 {
		return Backlog{}, err
	}
	main := cursors[0]
	b := Backlog{HeldBack: len(cursors) - 1}
	if b.HeldBack > 0 {
		b.RetryAt = &cursors[1].RetryAt
	}
	if err := b.add(view, kinds, afterMain, propertyID, main.Position); err != nil {
		return Backlog{}, err
	}
	if b.HeldBack > 0 {
		err = b.add(view, kinds, afterHeldBack, propertyID, main.Position, webhookID)
	}
	return b, err
}

// add adds events to the backlog: those of the kinds, or of every kind, that the FROM clause from selects with the parameters args.
func (b *Backlog) add(view *db.Tx, kinds []string, from string, args ...any) error {
	if len(kinds) > 0 {
		marks := make([]string, len(kinds))
		for i, kind := range kinds {
			args = append(args, kind)
			marks[i] = fmt.Sprintf("$%d", len(args))
		}
		from += ` AND e.kind IN (` + strings.Join(marks, ", ") + `)`
	}
	n := 0
	_, err := view.ReadOne(fmt.Sprintf(countEvents, from, maxBacklog), args, &n)
	if err != nil {
		return fmt.Errorf("count the events that a webhook has not received: %w", err)
	}
	var oldest time.Time
	found, err := view.ReadOne(fmt.Sprintf(oldestEvent, from), args, &oldest)
	if err != nil {
		return fmt.Errorf("find the oldest event that a webhook has not received: %w", err)
	}
	b.Waiting = min(b.Waiting+n, maxBacklog)
	if found && (b.Since == nil || oldest.Before(*b.Since)) {
		b.Since = &oldest
	}
	return nil
}
