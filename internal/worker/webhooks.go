package worker

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/partner"
)

// Webhooks delivers events to the webhooks of partners. Each webhook has a cursor of its own, and one job at a time delivers its events in
// order. If a delivery fails, only the subject of the event waits for the retry.
type Webhooks struct {
	DB       *db.DB
	Keys     *keyring.Ring
	Jobs     *jobs.Queue
	Registry *partner.Registry
	// Send sends a message once. Its error means that the context was canceled.
	Send func(ctx context.Context, w *partner.WebhookRow, secrets []string, messageID string, body []byte) (Sent, error)
	// RenderPINs returns the body of the message reservationPinGenerated, or nil if the reservation has no PIN now.
	RenderPINs func(view *db.Tx, propertyID, integrationID, reservationID string) ([]byte, error)
	Log        *slog.Logger
	Every      time.Duration // Every is the interval between checks for retries that are due; 0 means 1 s

	// failing holds one element for each running job whose webhook failed last. A hanging webhook needs seconds for each message. The
	// capacity of the channel keeps such webhooks from using all jobs.
	failing chan struct{}
}

// Sent is the result of one attempt to send a message.
type Sent struct {
	Failure    partner.Failure // Failure is why it failed; zero: it was delivered
	Gone       bool            // Gone means that the webhook answered 410
	NotSent    bool            // NotSent means that no call was made, because too many failed or run. It is no attempt: try again after RetryAfter
	RetryAfter time.Duration   // RetryAfter is the shortest wait before the next attempt; 0: none
}

// Subscriber enqueues a job for each webhook that receives one of the events, whatever the scopes of its integration are: the job checks
// them. The job loads the events after the webhook's own cursor.
func (h Webhooks) Subscriber() Subscriber {
	return Subscriber{
		Name: "webhooks",
		Wants: func(view *db.Tx, events []event.Ref) (bool, error) {
			kinds := kindsByProperty{}
			for _, e := range events {
				kinds.add(e.PropertyID, e.Kind)
			}
			hooks, err := kinds.receivers(view)
			return len(hooks) > 0, err
		},
		Apply: func(tx *db.Tx, events []*ent.Event) error {
			kinds := kindsByProperty{}
			for _, e := range events {
				kinds.add(e.PropertyID, event.Kind(e.Kind))
			}
			hooks, err := kinds.receivers(tx)
			if err != nil {
				return err
			}
			for _, w := range hooks {
				if err := h.Jobs.Insert(tx, jobs.DeliverEvents{PropertyID: w.PropertyID, WebhookID: w.ID}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// kindsByProperty are the kinds of some events, by the id of their property.
type kindsByProperty map[string]map[event.Kind]bool

// add adds the kind of an event.
func (k kindsByProperty) add(propertyID string, kind event.Kind) {
	if k[propertyID] == nil {
		k[propertyID] = map[event.Kind]bool{}
	}
	k[propertyID][kind] = true
}

// receivers returns the enabled webhooks that receive one of the kinds at their property, if their integrations have all scopes.
func (k kindsByProperty) receivers(view *db.Tx) ([]*partner.WebhookRow, error) {
	hooks, err := partner.WebhooksAt(view, slices.Sorted(maps.Keys(k)))
	return slices.DeleteFunc(hooks, func(w *partner.WebhookRow) bool {
		for kind := range k[w.PropertyID] {
			if partner.Receives(w, partner.Scopes, kind) {
				return false
			}
		}
		return true
	}), err
}

// Soon enqueues a job for a webhook that may have recovered, in the transaction. A job that waits until the end of a pause starts at once.
func (h Webhooks) Soon(tx *db.Tx, propertyID, webhookID string) error {
	return h.Jobs.InsertNow(tx, jobs.DeliverEvents{PropertyID: propertyID, WebhookID: webhookID})
}

// Retries is the sweep that enqueues jobs for webhooks whose retry is due or whose job crashed. Only one process of an installation may run
// it: see [Lease].
func (h Webhooks) Retries() Sweep {
	every := h.Every
	if every <= 0 {
		every = time.Second
	}
	return Sweep{Name: "retries of webhooks", Every: every, Run: func(ctx context.Context, d *db.DB) error {
		due, err := partner.DueWebhooks(d.View(ctx))
		if err != nil || len(due) == 0 {
			return err
		}
		return d.Write(ctx, func(tx *db.Tx) error {
			for _, w := range due {
				if err := h.Jobs.Insert(tx, jobs.DeliverEvents{PropertyID: w.PropertyID, WebhookID: w.ID}); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// AddTo registers the job that delivers with the job queue. At most half of the jobs that run at once may be those of failing webhooks.
func (h Webhooks) AddTo(workers *river.Workers) {
	h.failing = make(chan struct{}, jobs.MaxDeliveries/2)
	river.AddWorker(workers, &deliverJob{webhooks: h})
}

// deliverJob runs jobs of the kind DeliverEvents for River, the job queue.
type deliverJob struct {
	river.WorkerDefaults[jobs.DeliverEvents]
	webhooks Webhooks
}

const (
	// drainTime is how long a job delivers before it lets other jobs run. One delivery may take 15 s more.
	drainTime = 30 * time.Second
	// busyWait is the wait of a job while another one delivers to the same webhook, and the shortest after a message that was not sent.
	busyWait = time.Second
	// turnWait is the average wait of a failing webhook while too many other failing ones deliver.
	turnWait = 10 * time.Second
	// webhookPage is the number of events that are loaded at once.
	webhookPage = 64
)

// Work delivers the events that are due to one webhook. It postpones the job while more are due, or while another job delivers to the
// webhook.
func (j *deliverJob) Work(ctx context.Context, job *river.Job[jobs.DeliverEvents]) error {
	right := partner.DeliveryLease{PropertyID: job.Args.PropertyID, WebhookID: job.Args.WebhookID, Job: job.ID}
	wait, err := j.webhooks.run(ctx, right)
	if errors.Is(err, event.ErrMoved) {
		return river.JobSnooze(busyWait) // the webhook was changed, or another job took over
	}
	if err == nil && wait >= 0 {
		return river.JobSnooze(wait)
	}
	return err
}

// noMore is the wait that means that the job ends, because nothing can be delivered now. A wait of 0 continues the job at once.
const noMore time.Duration = -1

// run delivers the events that are due to one webhook. right is the lock that lets only one job at a time do so. It returns the wait until
// the job continues, or noMore. After an error the job keeps the lock for its own retry, until the lock expires.
func (h Webhooks) run(ctx context.Context, right partner.DeliveryLease) (time.Duration, error) {
	var hook *partner.WebhookRow
	busy := false
	err := h.DB.Write(ctx, func(tx *db.Tx) (err error) {
		hook, busy, err = right.Begin(tx)
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case busy:
		return busyWait, nil
	case hook == nil:
		return noMore, nil
	}
	x := &drain{Webhooks: h, right: right, hook: hook}
	defer x.endTurn()
	wait, err := x.deliverDue(ctx)
	if err != nil {
		return 0, err
	}
	return wait, h.DB.Write(ctx, func(tx *db.Tx) error { return right.End(tx) })
}
