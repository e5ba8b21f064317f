package checkin

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"latchkey.dev/internal/fault"
)

// Limits of the presses of one stay. A PMS is called by few requests at a time for all guests of a property, so without them one person
// with two facts could hold up everybody else.
const (
	pressBurst = 10
	pressEvery = 6 * time.Second
	turnWait   = time.Second // how long a press waits for another one of the same stay
	keptTurns  = 1000        // how many stays are kept before those with a full budget are forgotten
)

// turns lets one press of a stay at a time call the PMS, and bounds how many do. It is safe for concurrent use.
type turns struct {
	mu    sync.Mutex
	stays map[string]*turn
}

type turn struct {
	free   chan struct{} // has an element unless a press calls the PMS
	budget *rate.Limiter
	users  int
}

// join returns the turn of a stay for one more press, or nil if its budget is spent.
func (t *turns) join(reservationID string, now time.Time) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.stays[reservationID]
	if own == nil {
		t.forget(now)
		own = &turn{free: make(chan struct{}, 1), budget: rate.NewLimiter(rate.Every(pressEvery), pressBurst)}
		own.free <- struct{}{}
		t.stays[reservationID] = own
	}
	if !own.budget.AllowN(now, 1) {
		return nil
	}
	own.users++
	return own
}

// forget drops the stays without a press under way whose budget is full again, once there are many.
func (t *turns) forget(now time.Time) {
	if t.stays == nil {
		t.stays = map[string]*turn{}
	}
	if len(t.stays) < keptTurns {
		return
	}
	for id, own := range t.stays {
		if own.users == 0 && own.budget.TokensAt(now) >= pressBurst {
			delete(t.stays, id)
		}
	}
}

func (t *turns) leave(own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own.users--
}

// inTurn runs what a press does at the PMS when no other press of the stay does. A press that finds another one under way for too long
// returns the check-in as it is: its page follows it.
func (s *Service) inTurn(ctx context.Context, k Key, do func() (View, error)) (View, error) {
	own := s.turns.join(k.ReservationID, s.DB.Clock().Now())
	if own == nil {
		return View{}, fault.New(fault.Exhausted, fault.TooManyAttempts, "the PMS was asked too often about this stay; try again in a few seconds").Retry(pressEvery)
	}
	defer s.turns.leave(own)
	limit := time.NewTimer(turnWait)
	defer limit.Stop()
	select {
	case <-own.free:
		defer func() { own.free <- struct{}{} }()
		return do()
	case <-limit.C:
		return s.Read(ctx, k)
	}
}
