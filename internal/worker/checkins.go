package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// CheckIns resumes check-ins without their guests: it asks PMSs again, repeats checkIn calls whose effect is not known (after a crash or
// without a definite answer), and evaluates check-ins whose reservations changed.
type CheckIns struct {
	Service *checkin.Service
	Log     *slog.Logger
	Every   time.Duration // Every is the interval between searches for due check-ins; 0 means 3 s
}

const (
	checkInBatch   = 500 // one search takes at most so many changed check-ins and so many due ones; the next search continues
	checkInsAtOnce = 4   // the most calls to one PMS at once
)

// Sweep resumes check-ins that are due. One run of it lasts until its context ends or a search fails, and then waits for its calls. It
// searches at the interval Every. Only one process of an installation may run it: see [Lease].
func (c CheckIns) Sweep() Sweep {
	every := c.Every
	if every <= 0 {
		every = 3 * time.Second
	}
	return Sweep{Name: "check-ins", Every: every, Run: func(ctx context.Context, d *db.DB) error {
		run := checkInRun{log: c.Log, service: c.Service.WithDB(d), calling: map[checkin.Key]bool{}, limits: map[string]chan struct{}{}}
		defer run.all.Wait()
		for {
			if err := run.evaluateDue(ctx); err != nil {
				return err
			}
			if !clock.Sleep(ctx, clock.Spread(every, every/10)) {
				return nil
			}
		}
	}}
}

// checkInRun resumes check-ins until its context ends. It evaluates one check-in after the other and does not wait for calls, so
// that a PMS that hangs delays only calls to itself.
type checkInRun struct {
	log     *slog.Logger
	service *checkin.Service
	all     sync.WaitGroup

	mu      sync.Mutex
	calling map[checkin.Key]bool     // calling are the check-ins whose call runs or waits for its turn: they begin no other
	limits  map[string]chan struct{} // limits bounds the running calls, by integration; only the goroutine of evaluateDue uses it
}

// evaluateDue evaluates check-ins whose reservations changed and those that are due, up to checkInBatch of each, and begins the calls to
// the PMS that they need. A check-in whose call runs or waits is evaluated again only if the PMS has changed the reservation. A failure at
// one check-in is only logged; the error is that of the search.
func (run *checkInRun) evaluateDue(ctx context.Context) error {
	changed, due, err := checkin.Due(run.service.DB.View(ctx), checkInBatch)
	if err != nil {
		return err
	}
	for _, k := range changed {
		run.evaluate(ctx, k)
	}
	for _, k := range due {
		if !run.isCalling(k) {
			run.evaluate(ctx, k)
		}
	}
	return nil
}

// evaluate decides again about one check-in and stores the result, unless a call to the PMS is due before. If a call is due, and none for
// this check-in runs or waits, it starts the call in the background. It logs a failure.
func (run *checkInRun) evaluate(ctx context.Context, k checkin.Key) {
	if ctx.Err() != nil {
		return
	}
	integrationID, err := run.service.Evaluate(ctx, k)
	run.logFailure(ctx, k, err)
	if err == nil && integrationID != "" && !run.isCalling(k) {
		run.begin(ctx, integrationID, k)
	}
}

// isCalling reports whether a call of a check-in runs or waits.
func (run *checkInRun) isCalling(k checkin.Key) bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.calling[k]
}

// begin returns at once, and calls the PMS of a check-in in the background, once fewer than checkInsAtOnce other calls to this PMS run.
func (run *checkInRun) begin(ctx context.Context, integrationID string, k checkin.Key) {
	limit := run.limits[integrationID]
	if limit == nil {
		limit = make(chan struct{}, checkInsAtOnce)
		run.limits[integrationID] = limit
	}
	run.mu.Lock()
	run.calling[k] = true
	run.mu.Unlock()
	run.all.Go(func() {
		defer func() {
			run.mu.Lock()
			defer run.mu.Unlock()
			delete(run.calling, k)
		}()
		select {
		case limit <- struct{}{}:
			defer func() { <-limit }()
			run.logFailure(ctx, k, run.service.Resume(ctx, k))
		case <-ctx.Done():
		}
	})
}

// logFailure logs an error at one check-in; the next search finds the check-in again. It ignores nil, the end of ctx, and a reservation
// that was removed meanwhile.
func (run *checkInRun) logFailure(ctx context.Context, k checkin.Key, err error) {
	if err != nil && ctx.Err() == nil && !fault.Has(err, fault.ReservationNotFound) {
		run.log.Warn("resuming a check-in failed; it is repeated", "property", k.PropertyID, "reservation", k.ReservationID, "error", err)
	}
}
