package server

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	guestapi "latchkey.dev/internal/api/guest"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/phone"
)

// registerSmartKeys registers what phones and those who let them in call.
func (s *Server) registerSmartKeys(p *parts, to grpc.ServiceRegistrar, staff propertyapi.Deps) {
	propertyv1.RegisterSmartKeyServiceServer(to, propertyapi.NewSmartKeys(staff))
	guestv1.RegisterSmartKeyServiceServer(to, &guestapi.SmartKeys{DB: s.db, Keys: s.keys, Wake: s.wake, Greeting: p.node.Greet, Act: staff.Act, Unsent: staff.Unsent, OpenWithin: s.openWithin})
}

const (
	// keysTogether is how long changes of stays are gathered before their properties' status lists are looked at.
	keysTogether = 20 * time.Millisecond
	// mostTouched bounds the properties that wait; more are found by the sweep.
	mostTouched = 10_000
	keysPage    = 200
)

// keyRounds gathers properties whose stays' access changed.
type keyRounds struct {
	mu      sync.Mutex
	touched map[string]bool
	kick    chan struct{} // of one
}

func newKeyRounds() *keyRounds {
	return &keyRounds{touched: map[string]bool{}, kick: make(chan struct{}, 1)}
}

// touch notes a property. It never waits.
func (k *keyRounds) touch(propertyID string) {
	k.mu.Lock()
	if len(k.touched) < mostTouched {
		k.touched[propertyID] = true
	}
	k.mu.Unlock()
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

func (k *keyRounds) take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]string, 0, len(k.touched))
	for id := range k.touched {
		out = append(out, id)
	}
	clear(k.touched)
	return out
}

// followKeys revokes SmartKeys of stays as soon as their access changes. What is missed here the sweep finds.
func (s *Server) followKeys(ctx context.Context, p *parts) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.keys.kick:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(keysTogether):
		}
		for _, id := range p.keys.take() {
			if err := s.reconcileKeys(ctx, id); err != nil && ctx.Err() == nil {
				s.log.Warn("looking whether SmartKeys must be revoked failed; it is tried again", "property", id, "error", err)
			}
		}
	}
}

// reconcileKeys writes only where there is something to write.
func (s *Server) reconcileKeys(ctx context.Context, propertyID string) error {
	due, suspected, err := phone.Inspect(s.db.View(ctx), propertyID)
	if err != nil || !due {
		return err
	}
	return s.db.Write(s.wake(ctx), func(tx *db.Tx) error {
		_, err := phone.Reconcile(tx, s.keys, propertyID, suspected...)
		return err
	})
}

// sweepKeys does what time alone brings to SmartKeys: status lists grow old, issuer keys are replaced, indexes become free.
func (s *Server) sweepKeys(ctx context.Context) error {
	for after := ""; ; {
		ids, err := phone.IssuersAfter(ctx, s.db.Read(), after, keysPage)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := s.reconcileKeys(ctx, id); err != nil {
				s.log.Warn("the SmartKeys of a property were not looked after", "property", id, "error", err)
			}
		}
		if len(ids) < keysPage {
			break
		}
		after = ids[len(ids)-1]
	}
	return s.db.Write(ctx, func(tx *db.Tx) error { return phone.Sweep(tx, 1000) })
}
