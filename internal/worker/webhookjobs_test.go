package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/partner"
)

// runJobs runs the jobs of webhooks until the returned stop is called.
func (h *hooks) runJobs() (stop func()) {
	h.Helper()
	workers := river.NewWorkers()
	h.AddTo(workers)
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan error, 1)
	go func() { done <- h.Jobs.Run(ctx, workers) }()
	return func() {
		h.Helper()
		cancel()
		if err := <-done; err != nil {
			h.Error(err)
		}
	}
}

// enqueue stores the job of a webhook, as the subscriber and the sweep do.
func (h *hooks) enqueue(all ...partner.DeliveryLease) {
	h.Helper()
	write(h.T, h.DB, func(tx *db.Tx) error {
		for _, right := range all {
			if err := h.Jobs.Insert(tx, jobs.DeliverEvents{PropertyID: right.PropertyID, WebhookID: right.WebhookID}); err != nil {
				return err
			}
		}
		return nil
	})
}

// A hundred webhooks that hang delay no other one, and not the end of the process. Their events are delivered by the next process.
func TestHangingWebhooksDelayNoOther(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		const most = 100
		var hanging []partner.DeliveryLease
		for i := range most {
			integration := fmt.Sprint("int_", i/partner.MaxWebhooks)
			if i%partner.MaxWebhooks == 0 {
				write(t, h.DB, func(tx *db.Tx) error {
					return tx.Integration.Create().SetID(integration).SetPropertyID("prp_one").SetName("PMS").SetScopes([]string{}).Exec(tx.Context())
				})
			}
			hanging = append(hanging, h.register(integration, fmt.Sprintf("https://hang.example/%d", i)))
		}
		healthy := h.register("int_one", "https://pms.example/")
		h.emit("lck_a")
		entered, arrived := make(chan struct{}), make(chan int64, 2)
		h.answer = func(ctx context.Context, m hookMessage) Sent {
			if strings.HasPrefix(m.URL, "https://hang.") {
				entered <- struct{}{}
				<-ctx.Done()
				return Sent{}
			}
			arrived <- m.Sequence
			return Sent{}
		}
		h.enqueue(hanging...)
		stop := h.runJobs()
		for range hanging {
			<-entered
		}
		for n := range int64(2) {
			if n > 0 {
				h.emit("lck_a")
			}
			h.enqueue(healthy)
			if got := <-arrived; got != n+1 {
				t.Errorf("event %d arrived, want %d", got, n+1)
			}
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the end took %v", took)
		}
		h.answer = func(_ context.Context, m hookMessage) Sent {
			arrived <- m.Sequence
			return Sent{}
		}
		stop = h.runJobs()
		for range 2 * len(hanging) {
			<-arrived
		}
		stop()
	})
}

// An event that is stored while a job delivers is not lost, even if the job has read the last events: another job waits.
func TestEventDuringADrainGetsAJob(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		right := h.register("int_one", "https://pms.example/")
		h.emit("lck_a")
		entered, goOn := make(chan int64), make(chan struct{})
		h.answer = func(_ context.Context, m hookMessage) Sent {
			entered <- m.Sequence
			<-goOn
			return Sent{}
		}
		h.enqueue(right)
		defer h.runJobs()()
		<-entered
		h.emit("lck_a")
		for range 3 {
			h.enqueue(right)
		}
		if n := h.storedJobs(); n < 2 {
			t.Errorf("%d jobs, want the job that delivers and another that runs after it", n)
		}
		close(goOn)
		if got := <-entered; got != 2 {
			t.Errorf("event %d arrived, want 2", got)
		}
	})
}

// storedJobs returns how many jobs run or wait.
func (h *hooks) storedJobs() (n int) {
	h.Helper()
	write(h.T, h.DB, func(tx *db.Tx) error {
		const query = "SELECT count(*) FROM river_job WHERE state <> 'completed'"
		return tx.SQL().QueryRowContext(tx.Context(), query).Scan(&n)
	})
	return n
}

// A job that waits until the end of a pause delivers at once when a test shows that the webhook works again.
func TestSuccessfulTestEndsThePause(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		right := h.register("int_one", "https://pms.example/")
		h.emit("lck_a")
		tried, arrived := make(chan int64, 1), make(chan int64, 1)
		h.answer = func(_ context.Context, m hookMessage) Sent {
			tried <- m.Sequence
			return Sent{NotSent: true, RetryAfter: time.Hour}
		}
		h.enqueue(right)
		stop := h.runJobs()
		<-tried
		stop() // the job has ended
		if n := h.jobsIn("scheduled"); n != 1 {
			t.Fatalf("%d jobs wait for the end of the pause, want 1", n)
		}
		h.answer = func(_ context.Context, m hookMessage) Sent {
			arrived <- m.Sequence
			return Sent{}
		}
		defer h.runJobs()()
		write(t, h.DB, func(tx *db.Tx) error {
			if err := partner.RecordWebhookTest(tx, right.PropertyID, right.WebhookID, partner.Failure{}); err != nil {
				return err
			}
			return h.Soon(tx, right.PropertyID, right.WebhookID)
		})
		select {
		case <-arrived:
		case <-time.After(20 * time.Second):
			t.Error("the job still waits")
		}
	})
}

// jobsIn returns how many jobs are in a state.
func (h *hooks) jobsIn(state string) (n int) {
	h.Helper()
	write(h.T, h.DB, func(tx *db.Tx) error {
		return tx.SQL().QueryRowContext(tx.Context(), "SELECT count(*) FROM river_job WHERE CAST(state AS text) = $1", state).Scan(&n)
	})
	return n
}
