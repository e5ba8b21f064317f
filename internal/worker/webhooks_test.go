package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/test/dbtest"
)

// hooks is a property with webhooks, and what they received.
type hooks struct {
	*testing.T
	Webhooks
	clock *clock.Fixed

	mu  sync.Mutex
	got []hookMessage
	// answer decides about a message; nil: it is delivered.
	answer func(ctx context.Context, m hookMessage) Sent
}

// hookMessage is a message as a webhook received it.
type hookMessage struct {
	URL, ID  string
	Subject  string `json:"subject"`
	Sequence int64  `json:"sequence"`
}

var refused = Sent{Failure: partner.Failure{Text: "the webhook answered 500"}}

// eachHooks runs f on each database.
func eachHooks(t *testing.T, f func(h *hooks)) {
	now := clock.At(postBegin)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now.Set(postBegin)
		insertProperty(t, d)
		h := &hooks{T: t, clock: now}
		h.DB, h.Keys, h.Log = d, dbtest.Keys(t, d, "prp_one"), quiet
		h.Registry, h.failing = partner.New(d, h.Keys, now), make(chan struct{}, 1)
		h.Send = h.send
		var err error
		if h.Jobs, err = jobs.Open(d, quiet); err != nil {
			t.Fatal(err)
		}
		f(h)
	}, dbtest.Clock(now))
}

func (h *hooks) send(ctx context.Context, w *partner.WebhookRow, _ []string, messageID string, body []byte) (Sent, error) {
	m := hookMessage{URL: w.URL, ID: messageID}
	if err := json.Unmarshal(body, &m); err != nil {
		h.Error(err)
	}
	h.mu.Lock()
	h.got = append(h.got, m)
	answer := h.answer
	h.mu.Unlock()
	var out Sent
	if answer != nil {
		out = answer(ctx, m)
	}
	return out, ctx.Err()
}

// register registers a webhook that receives the events of locks.
func (h *hooks) register(integrationID, url string) partner.DeliveryLease {
	h.Helper()
	var row *partner.WebhookRow
	write(h.T, h.DB, func(tx *db.Tx) (err error) {
		row, _, err = h.Registry.RegisterWebhook(tx, partner.WebhookChange{
			PropertyID: "prp_one", IntegrationID: integrationID, URL: url, Kinds: []string{string(event.LockOffline)},
		}, func(string) error { return nil })
		return err
	})
	return partner.DeliveryLease{PropertyID: "prp_one", WebhookID: row.ID, Job: 1}
}

// emit stores events of locks, one for each subject, and gives them a position.
func (h *hooks) emit(subjects ...string) {
	h.Helper()
	write(h.T, h.DB, func(tx *db.Tx) error {
		for _, s := range subjects {
			if err := event.Append(tx, event.Event{PropertyID: "prp_one", Subject: s, Kind: event.LockOffline}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := NewDispatcher(quiet, DispatcherOptions{}).assignPositions(h.Context(), h.DB); err != nil {
		h.Fatal(err)
	}
}

// deliver runs one job, and returns the wait until it continues.
func (h *hooks) deliver(right partner.DeliveryLease) time.Duration {
	h.Helper()
	wait, err := h.run(h.Context(), right)
	if err != nil {
		h.Fatal(err)
	}
	return wait
}

// received returns the sequences that a subject's messages had, in the order of their arrival.
func (h *hooks) received(subject string) (sequences []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.got {
		if m.Subject == subject {
			sequences = append(sequences, m.Sequence)
		}
	}
	return sequences
}

func (h *hooks) setAnswer(answer func(ctx context.Context, m hookMessage) Sent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// An event that fails ten times is given up: its subject continues with the next event. Staff are notified once, also if two are given up.
func TestWebhookGivesUpAfterTenAttempts(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		right := h.register("int_one", "https://pms.example/")
		h.answer = func(_ context.Context, m hookMessage) Sent {
			if m.Subject != "lck_b" && m.Sequence == 1 {
				return refused
			}
			return Sent{}
		}
		h.emit("lck_a", "lck_c", "lck_a", "lck_a", "lck_c")
		rounds := 0
		for {
			h.emit("lck_b") // a webhook that receives nothing for days is disabled
			if wait := h.deliver(right); wait != noMore {
				t.Fatalf("round %d: the job continues in %v", rounds, wait)
			}
			rounds++
			held := cursors(t, h.DB, right.WebhookID)[1:]
			if len(held) == 0 {
				break
			}
			if n := len(h.received("lck_b")); n != rounds {
				t.Fatalf("the other subject received %d of %d events", n, rounds)
			}
			h.clock.Set(held[len(held)-1].RetryAt)
		}
		ten := []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
		for subject, want := range map[string][]int64{"lck_a": append(ten, 2, 3), "lck_c": append(ten, 2)} {
			if diff := cmp.Diff(want, h.received(subject)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", subject, diff)
			}
		}
		notices := h.DB.View(t.Context()).Notice.Query().Where(entnotice.PropertyID("prp_one"), entnotice.Kind(string(notice.WebhookGivenUp))).CountX(t.Context())
		row := h.DB.View(t.Context()).Webhook.Query().OnlyX(t.Context())
		if notices != 1 || row.GivenUp != 2 || row.DisabledAt != nil || rounds != 10 {
			t.Errorf("%d notices, %d events given up, disabled at %v, %d rounds; want 1, 2, nil and 10", notices, row.GivenUp, row.DisabledAt, rounds)
		}
	})
}

// A webhook that refuses everything holds back a limited number of subjects. Then it receives nothing until it accepts some.
func TestWebhookHoldsBackALimitedNumberOfSubjects(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		right := h.register("int_one", "https://pms.example/")
		var subjects []string
		for i := range maxHeldBack + 40 {
			subjects = append(subjects, fmt.Sprint("lck_", i))
		}
		h.emit(subjects...)
		h.answer = func(context.Context, hookMessage) Sent { return refused }
		for range 2 {
			if wait := h.deliver(right); wait != noMore || len(h.got) != maxHeldBack {
				t.Fatalf("%d messages, then %v; want %d, then nothing", len(h.got), wait, maxHeldBack)
			}
		}
		if held := len(cursors(t, h.DB, right.WebhookID)) - 1; held != maxHeldBack {
			t.Errorf("%d subjects are held back, want %d", held, maxHeldBack)
		}
		h.answer = nil
		h.clock.Advance(10 * time.Second)
		h.deliver(right)
		if n := len(h.got); n != maxHeldBack+len(subjects) {
			t.Errorf("%d messages, want each subject's, and a retry of those that were held back: %d", n, maxHeldBack+len(subjects))
		}
	})
}

// A receiver that needs 14 s for each message does not keep a job beyond its time, and the next job continues where it ended.
func TestDrainEndsInItsTime(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		right := h.register("int_one", "https://pms.example/")
		var subjects, got []string
		for i := range 7 {
			subjects = append(subjects, fmt.Sprint("lck_", i))
		}
		h.emit(subjects...)
		h.answer = func(context.Context, hookMessage) Sent {
			h.clock.Advance(14 * time.Second)
			return Sent{}
		}
		for job, want := range []int{3, 6, 7} {
			right.Job = int64(job)
			began := h.clock.Now()
			wait := h.deliver(right)
			if took := h.clock.Now().Sub(began); len(h.got) != want || took > drainTime+15*time.Second || (wait == 0) != (want < 7) {
				t.Errorf("job %d: %d messages in %v, then %v; want %d", job, len(h.got), took, wait, want)
			}
		}
		for _, m := range h.got {
			got = append(got, m.Subject)
		}
		if diff := cmp.Diff(subjects, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Two jobs never deliver to the same webhook at once. If the process of the first one dies or hangs, another job takes over after 45 s, and
// what the first one stores later has no effect.
func TestOneJobAtATimeDelivers(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		first := h.register("int_one", "https://pms.example/")
		second := first
		second.Job = 2
		h.emit("lck_a", "lck_b", "lck_a")
		entered, goOn := make(chan struct{}), make(chan struct{})
		var hangs atomic.Bool
		h.answer = func(context.Context, hookMessage) Sent {
			if hangs.CompareAndSwap(false, true) {
				close(entered)
				<-goOn
			}
			return Sent{}
		}
		ended := make(chan error, 1)
		go func() {
			_, err := h.run(t.Context(), first)
			ended <- err
		}()
		<-entered
		h.clock.Advance(44 * time.Second)
		if wait := h.deliver(second); wait != busyWait || len(h.got) != 1 {
			t.Errorf("while another job delivers: %d messages, then %v; want 1, then %v", len(h.got), wait, busyWait)
		}
		if n := h.sweepRetries(); n != 0 {
			t.Errorf("%d jobs were enqueued while one delivers", n)
		}
		h.clock.Advance(2 * time.Second)
		if n := h.sweepRetries(); n != 1 {
			t.Errorf("%d jobs were enqueued after the job ended without giving its right back, want 1", n)
		}
		write(t, h.DB, func(tx *db.Tx) error {
			w, busy, err := second.Begin(tx)
			if w == nil || busy {
				t.Error("the second job cannot take over")
			}
			return err
		})
		close(goOn)
		if err := <-ended; !errors.Is(err, event.ErrMoved) {
			t.Errorf("the first job ended with %v", err)
		}
		if wait := h.deliver(second); wait != noMore {
			t.Errorf("after the takeover: %v", wait)
		}
		if diff := cmp.Diff([]int64{1, 1, 2}, h.received("lck_a")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if id := h.got[0].ID; h.got[1].ID != id || h.got[2].ID == id {
			t.Errorf("webhook-ids %v: want the same for the same event", h.got)
		}
		if all := cursors(t, h.DB, first.WebhookID); len(all) != 1 || undelivered(t, h.DB, first.WebhookID) != 0 {
			t.Errorf("%d cursors, %d events wait", len(all), undelivered(t, h.DB, first.WebhookID))
		}
	})
}

// sweepRetries runs the sweep once, and returns how many jobs wait.
func (h *hooks) sweepRetries() int {
	h.Helper()
	if err := h.Retries().Run(h.Context(), h.DB); err != nil {
		h.Fatal(err)
	}
	return waiting(h.T, h.DB)
}

// Failing webhooks may not use all jobs: while too many of them deliver, another one waits. A webhook that works does not.
func TestFailingWebhooksTakeTurns(t *testing.T) {
	eachHooks(t, func(h *hooks) { // one may deliver at a time
		hanging, failing, working := h.register("int_one", "https://one.example/"), h.register("int_one", "https://two.example/"), h.register("int_one", "https://three.example/")
		h.emit("lck_a")
		h.answer = func(_ context.Context, m hookMessage) Sent {
			if m.URL == "https://three.example/" {
				return Sent{}
			}
			return refused
		}
		for _, right := range []partner.DeliveryLease{hanging, failing, working} {
			h.deliver(right)
		}
		h.emit("lck_b")
		entered, goOn := make(chan struct{}), make(chan struct{})
		h.setAnswer(func(_ context.Context, m hookMessage) Sent {
			if m.URL == "https://one.example/" {
				entered <- struct{}{}
				<-goOn
			}
			return Sent{}
		})
		ended := make(chan error, 1)
		go func() {
			_, err := h.run(t.Context(), hanging)
			ended <- err
		}()
		<-entered
		if wait := h.deliver(failing); wait < turnWait/2 || wait > 2*turnWait {
			t.Errorf("a failing webhook continues in %v, want about %v", wait, turnWait)
		}
		if wait := h.deliver(working); wait != noMore || undelivered(t, h.DB, working.WebhookID) != 0 {
			t.Errorf("a webhook that works continues in %v, and %d events wait", wait, undelivered(t, h.DB, working.WebhookID))
		}
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if wait := h.deliver(failing); wait != noMore || undelivered(t, h.DB, failing.WebhookID) != 0 || len(h.failing) != 0 {
			t.Errorf("in its turn: it continues in %v, %d events wait, %d jobs hold a turn", wait, undelivered(t, h.DB, failing.WebhookID), len(h.failing))
		}
	})
}
