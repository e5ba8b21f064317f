package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	guestapi "latchkey.dev/internal/api/guest"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mobilekey"
)

// registerSmartKeys registers the services of phones and of the staff who invite them.
func (s *Server) registerSmartKeys(p *parts, to grpc.ServiceRegistrar, staff propertyapi.Deps) {
	propertyv1.RegisterSmartKeyServiceServer(to, propertyapi.NewSmartKeys(staff))
	guestv1.RegisterSmartKeyServiceServer(to, &guestapi.SmartKeys{DB: s.db, Keys: s.keys, Wake: s.wake, Greeting: p.node.Greet, Act: staff.Act, Unsent: staff.Unsent, OpenWithin: s.openWithin})
}

const (
	// gatherTime is how long changes of stays are gathered before the status lists of their properties are updated.
	gatherTime = 20 * time.Millisecond
	// maxChanged bounds the properties that wait; the sweep finds the others.
	maxChanged = 10_000
	keysPage   = 200
)

// changedProperties gathers the properties in which the access of a stay changed.
type changedProperties struct {
	mu      sync.Mutex
	ids     map[string]bool
	changed chan struct{} // capacity 1
}

func newChangedProperties() *changedProperties {
	return &changedProperties{ids: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// add adds a property. It never waits.
func (c *changedProperties) add(propertyID string) {
	c.mu.Lock()
	if len(c.ids) < maxChanged {
		c.ids[propertyID] = true
	}
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// take removes and returns all properties.
func (c *changedProperties) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := slices.Collect(maps.Keys(c.ids))
	clear(c.ids)
	return ids
}

// reconcileChangedKeys revokes SmartKeys of stays as soon as their access changes. The sweep finds changes that this misses.
func (s *Server) reconcileChangedKeys(ctx context.Context, p *parts) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.keys.changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gatherTime):
		}
		for _, id := range p.keys.take() {
			if err := s.reconcileKeys(ctx, id); err != nil && ctx.Err() == nil {
				s.log.Warn("reconciling the SmartKeys of a property failed; the next sweep retries", "property", id, "error", err)
			}
		}
	}
}

// reconcileKeys updates the SmartKeys of a property. It writes only if there is a change.
func (s *Server) reconcileKeys(ctx context.Context, propertyID string) error {
	due, suspected, err := mobilekey.Inspect(s.db.View(ctx), propertyID)
	if err != nil || !due {
		return err
	}
	return s.db.Write(s.wake(ctx), func(tx *db.Tx) error {
		_, err := mobilekey.Reconcile(tx, s.keys, propertyID, suspected...)
		return err
	})
}

// sweepKeys renews status lists, replaces issuer keys and frees indexes.
func (s *Server) sweepKeys(ctx context.Context) error {
	for after := ""; ; {
		ids, err := mobilekey.IssuersAfter(ctx, s.db.Read(), after, keysPage)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := s.reconcileKeys(ctx, id); err != nil {
				s.log.Warn("sweeping the SmartKeys of a property failed", "property", id, "error", err)
			}
		}
		if len(ids) < keysPage {
			break
		}
		after = ids[len(ids)-1]
	}
	return s.db.Write(ctx, func(tx *db.Tx) error { return mobilekey.Sweep(tx, 1000) })
}
