package checkin

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
)

// Limits of presses (requests from a guest's button that call the PMS). Only a few calls to a PMS run at once for all guests of a property.
// Without limits, one person with a booking number and a name could hold up all other guests. A budget allows pressBurst presses at once,
// and then one every pressEvery.
const (
	pressBurst  = 10
	pressEvery  = 6 * time.Second
	turnWait    = time.Second // how long a press waits for another one of the same stay; then it ends without a call
	keptBudgets = 1000        // with so many budgets in memory, a new one first removes those without recent presses; more may remain
)

// turns lets one press of a stay at a time call the PMS, and limits how many presses there are, both in this process only. It is safe for
// concurrent use.
type turns struct {
	mu      sync.Mutex
	stays   map[string]*turn
	budgets map[string]*rate.Limiter
}

// turn is the lock of one stay, with the number of requests that use it or wait for it.
type turn struct {
	free  chan struct{} // has an element unless a press calls the PMS
	users int
}

// budgetOf returns the name of the budget from which a session's presses are taken. A session of a mailed link has its own. A stranger who
// knows two facts can open any number of others, so these share two budgets of a stay: one for QR codes, and one for kiosks with the phones
// that took over the stay there. So a person from afar spends neither the budget of a guest with a link nor that of one on site.
func budgetOf(a actor.Actor) string {
	switch {
	case a.Origin == guest.OriginMail:
		return a.ID
	case a.Origin == guest.OriginDoor && a.HandedBy == "":
		return a.ReservationID + "/door"
	}
	return a.ReservationID + "/kiosk"
}

// spend takes a press from the budget of a session, and reports whether one was left.
func (t *turns) spend(a actor.Actor, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.budgets == nil {
		t.budgets = map[string]*rate.Limiter{}
	}
	name := budgetOf(a)
	budget := t.budgets[name]
	if budget == nil {
		if len(t.budgets) >= keptBudgets {
			maps.DeleteFunc(t.budgets, func(_ string, b *rate.Limiter) bool { return b.TokensAt(now) >= pressBurst })
		}
		budget = rate.NewLimiter(rate.Every(pressEvery), pressBurst)
		t.budgets[name] = budget
	}
	return budget.AllowN(now, 1)
}

// join returns the turn of a stay, creates it if there is none, and counts the caller as its user. It does not wait. Call release
// afterwards.
func (t *turns) join(reservationID string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stays == nil {
		t.stays = map[string]*turn{}
	}
	own := t.stays[reservationID]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.stays[reservationID] = own
	}
	own.users++
	return own
}

// release ends the use of a turn that join returned. It deletes the turn after its last user.
func (t *turns) release(reservationID string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.stays, reservationID)
	}
}

// inTurn runs do, the calls to the PMS after a press, when no other press of the stay runs in this process. If another one runs for longer
// than turnWait, it returns the check-in without do: the page follows that press. It returns an error if the session's budget is spent.
func (s *Service) inTurn(ctx context.Context, k Key, a actor.Actor, do func() (View, error)) (View, error) {
	if !s.turns.spend(a, s.DB.Clock().Now()) {
		return View{}, fault.New(fault.Exhausted, fault.TooManyAttempts, "the PMS was asked too often about this stay; try again in a few seconds").Retry(pressEvery)
	}
	own := s.turns.join(k.ReservationID)
	defer s.turns.release(k.ReservationID, own)
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
