package checkin

import (
	"context"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/actor"
)

// Starts wakes requests of this process that wait until the PMS starts a stay, after the guest pressed "check in now". It is safe for
// concurrent use.
type Starts struct {
	Wait time.Duration // Wait is how long a request waits at most; then it returns the check-in of that moment

	mu      sync.Mutex
	waiting map[string][]chan struct{} // waiting has, by the id of the reservation, the channels that Notify closes
}

// expect registers a wait for the start of a stay. started is closed when [Starts.Notify] names the stay. The caller must call forget at
// the end of the wait, also after the start.
func (s *Starts) expect(reservationID string) (started <-chan struct{}, forget func()) {
	c := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[string][]chan struct{}{}
	}
	s.waiting[reservationID] = append(s.waiting[reservationID], c)
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		left := slices.DeleteFunc(s.waiting[reservationID], func(w chan struct{}) bool { return w == c })
		if s.waiting[reservationID] = left; len(left) == 0 {
			delete(s.waiting, reservationID)
		}
	}
}

// Notify wakes the requests that wait for the start of a stay. It is called after the start is committed, because these requests then read
// the check-in. It does not block.
func (s *Starts) Notify(reservationID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.waiting[reservationID] {
		close(c)
	}
	delete(s.waiting, reservationID)
}

// completeAndWait is complete, and then waits up to Starts.Wait for the PMS to start the stay, so that the response already has the PIN.
// Most PMSs start it at once. It waits only if the PMS accepted the call. If another process stores the start, this one is not notified,
// and reads it when the wait ends.
func (s *Service) completeAndWait(ctx context.Context, k Key, a actor.Actor) (View, error) {
	started, forget := s.Starts.expect(k.ReservationID) // before the call, so that no change is missed
	defer forget()
	undisturbed := context.WithoutCancel(ctx) // a guest who closes the page does not interrupt a call
	v, err := s.complete(undisturbed, k, a)
	if err != nil || v.Stage != Waiting || v.Attempt.State != AttemptAccepted {
		return v, err
	}
	if err := s.testPoint("waits for the start"); err != nil {
		return View{}, err
	}
	limit := time.NewTimer(s.Starts.Wait)
	defer limit.Stop()
	select {
	case <-started:
	case <-limit.C:
	case <-ctx.Done():
		return v, nil
	}
	return s.Read(undisturbed, k)
}
