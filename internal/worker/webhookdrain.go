package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/partner"
)

// drain is the run of one job that delivers the events of one webhook.
type drain struct {
	Webhooks
	right   partner.DeliveryLease
	hook    *partner.WebhookRow
	scopes  []string
	secrets []string
	until   time.Time // until is when the drain leaves the rest to another job
	inTurn  bool      // inTurn means that the drain holds one of the few turns for failing webhooks, until endTurn
}

// errStop ends a drain that must not continue now. The webhook is disabled, the time is over, or the message must wait.
var errStop = errors.New("the webhook receives nothing now")

// deliverDue delivers the events that are due to the webhook. It returns the wait until the job continues, 0 if the time of the drain is
// over, or noMore if nothing can be delivered now. Then events can remain: those of failing subjects and, if too many subjects fail, all
// others. [Webhooks.Retries] continues when a retry is due.
func (x *drain) deliverDue(ctx context.Context) (time.Duration, error) {
	if err := x.loadSettings(ctx); err != nil {
		return 0, err
	}
	for x.until = x.DB.Clock().Now().Add(drainTime); x.hasTime(); {
		view := x.DB.View(ctx)
		cursors, err := event.WebhookCursors(view, x.hook.PropertyID, x.hook.ID)
		if err != nil {
			return 0, err
		}
		if len(cursors) == 0 {
			return noMore, nil // the webhook was disabled meanwhile
		}
		c, _ := nextCursor(cursors, view.Now())
		if c == nil {
			return noMore, nil // too many subjects fail: the sweep continues when a retry is due
		}
		limit := pageLimit(c, cursors, webhookPage)
		events, err := event.After(view, c, cursors[0], limit)
		if err != nil || len(events) == 0 && c.Subject == "" {
			return noMore, err
		}
		wait, err := x.deliverPage(ctx, newPage(c, cursors, events, limit))
		if errors.Is(err, errStop) {
			return wait, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// hasTime reports whether the time of the drain is not over yet.
func (x *drain) hasTime() bool { return x.DB.Clock().Now().Before(x.until) }

// takeTurn reports whether the drain may send another message now. If the webhook's last delivery failed, it needs one of the few turns for
// failing webhooks, and keeps it until endTurn. It does not wait for a turn.
func (x *drain) takeTurn() bool {
	if x.hook.Failures == 0 || x.inTurn {
		return true
	}
	select {
	case x.failing <- struct{}{}:
		x.inTurn = true
	default:
	}
	return x.inTurn
}

// endTurn gives the turn back, if the drain has one, so that the drain of another failing webhook can run.
func (x *drain) endTurn() {
	if x.inTurn {
		<-x.failing
		x.inTurn = false
	}
}

// countFailures counts a failed message in x.hook, which it does not store. After a delivered one it sets the count to 0 and ends the turn.
func (x *drain) countFailures(sent Sent) {
	if sent.Failure.Failed() {
		x.hook.Failures++
		return
	}
	x.hook.Failures = 0
	x.endTurn()
}

// loadSettings loads into x the scopes of the integration and the signing secrets of the webhook, which may have changed since the last
// job.
func (x *drain) loadSettings(ctx context.Context) error {
	view := x.DB.View(ctx)
	own, err := partner.Integration(view, x.hook.PropertyID, x.hook.IntegrationID)
	if err != nil {
		return err
	}
	x.scopes = own.Scopes
	x.secrets, err = x.Registry.WebhookSecrets(view, x.hook)
	return err
}

// deliverPage delivers the events of a page one by one. Each delivery and the move of the cursor are stored in one transaction, so a crash
// repeats at most one message. It returns errStop, and the wait, if the webhook receives nothing now or the time of the drain is over.
func (x *drain) deliverPage(ctx context.Context, p page) (time.Duration, error) {
	var failed []string // failed are the subjects that were held back in this page: their further events wait with them
	for _, e := range p.due {
		if slices.Contains(failed, e.Subject) {
			continue
		}
		body, err := x.message(x.DB.View(ctx), e)
		if err != nil {
			return 0, err
		}
		if body == nil {
			continue // the event does not concern the webhook, or its PIN no longer exists
		}
		if !x.hasTime() {
			return 0, errStop // another job continues: a slow receiver must not outlast the time of this one
		}
		if !x.takeTurn() {
			return clock.Spread(turnWait, turnWait/2), errStop
		}
		sent, err := x.Send(ctx, x.hook, x.secrets, x.messageID(e), body)
		if err != nil {
			return 0, err
		}
		if sent.NotSent {
			return max(sent.RetryAfter, busyWait), errStop
		}
		held, err := x.store(ctx, p, e, sent)
		if err != nil {
			return noMore, err
		}
		if held {
			failed = append(failed, e.Subject)
			if p.cursor != p.main {
				return 0, nil // the events of this cursor's subject wait for its next retry; other subjects go on
			}
		}
		p.cursor.Position = *e.Position
	}
	if p.cursor == p.main && p.cursor.Position == p.end {
		return 0, nil
	}
	return 0, x.DB.Write(ctx, func(tx *db.Tx) error {
		if _, err := x.right.Record(tx, partner.Delivery{}); err != nil {
			return err
		}
		return p.store(tx, nil)
	})
}

// store stores the outcome of a delivery, logs a failure, and moves the cursor past the event, unless a subject that failed before must
// wait again. It reports whether the subject is held back for a retry, and returns errStop if the webhook was disabled. An event that
// failed too often is given up, and is not held back.
func (x *drain) store(ctx context.Context, p page, e *ent.Event, sent Sent) (held bool, err error) {
	attempts := 1
	if p.cursor != p.main {
		attempts = p.cursor.Attempts + 1
	}
	wait, again := partner.RetryWait(attempts)
	pause := max(wait, sent.RetryAfter)
	outcome := partner.Delivery{Sent: true, Failure: sent.Failure, Gone: sent.Gone, GivenUp: sent.Failure.Failed() && !again && !sent.Gone}
	disabled := false
	err = x.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if disabled, err = x.right.Record(tx, outcome); err != nil || disabled {
			return err
		}
		f := event.Failure{
			Subject: e.Subject, AfterPosition: *e.Position - 1, RetryAt: tx.Now().Add(clock.Spread(pause, pause/10)),
			Err: fault.New(fault.Unavailable, fault.PartnerUnavailable, "the webhook failed"),
		}
		held = sent.Failure.Failed() && again
		switch {
		case held && p.cursor != p.main:
			return event.Postpone(tx, p.cursor, f)
		case held:
			if err := event.HoldBack(tx, p.main, f); err != nil {
				return err
			}
		}
		return event.Move(tx, p.cursor, *e.Position)
	})
	if err == nil {
		x.log(e, sent, outcome, attempts)
		p.cursor.Attempts = 0
		x.countFailures(sent)
	}
	if err == nil && disabled {
		err = errStop
	}
	return held, err
}

// log logs a message that was not delivered: as an error if it was given up, otherwise as a warning.
func (x *drain) log(e *ent.Event, sent Sent, o partner.Delivery, attempts int) {
	switch {
	case !sent.Failure.Failed():
	case o.GivenUp:
		x.Log.Error("an event was given up: the webhook failed too often", "webhook", x.hook.ID, "subject", e.Subject, "kind", e.Kind, "error", sent.Failure.Text)
	default:
		x.Log.Warn("an event was not delivered to a webhook", "webhook", x.hook.ID, "subject", e.Subject, "kind", e.Kind, "attempt", attempts, "error", sent.Failure.Text)
	}
}
