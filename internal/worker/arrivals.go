package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/readiness"
)

// Arrivals looks ahead at who arrives, and tells staff what to fix before.
type Arrivals struct {
	DB     *db.DB
	Keeper reservation.Keeper
	Every  time.Duration // how often it is looked whose time has come; 0 means 3 s
}

// Bounds of one run: what is left comes in the next.
const (
	arrivalsAtOnce = 100
	arrivalsRounds = 50
)

// Sweep looks at the arrivals whose time has come. It is for one process of an installation: see [Lease].
func (a Arrivals) Sweep() Sweep {
	every := a.Every
	if every <= 0 {
		every = 3 * time.Second
	}
	var seen time.Time // who arrives until then is expected
	return Sweep{Name: "arrivals", Every: every, Run: func(ctx context.Context) error {
		until, err := a.expect(ctx, seen)
		if err != nil {
			return err
		}
		seen = until
		return a.look(ctx)
	}}
}

// expect has those looked at who come within the horizon now, and says where it is.
func (a Arrivals) expect(ctx context.Context, seen time.Time) (until time.Time, err error) {
	for n := 1; n > 0 && err == nil; {
		err = a.DB.Write(ctx, func(tx *db.Tx) error {
			n, until, err = reservation.Expect(tx, seen, batch)
			return err
		})
	}
	return until, err
}

func (a Arrivals) look(ctx context.Context) error {
	for range arrivalsRounds {
		// Judged outside of the change: looking takes longer than storing, and what changes meanwhile is seen next time.
		looks, err := readiness.Due(a.DB.View(ctx), a.Keeper, arrivalsAtOnce)
		if err != nil || len(looks) == 0 {
			return err
		}
		err = a.DB.Write(ctx, func(tx *db.Tx) error {
			for _, l := range looks {
				if err := l.Store(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("store what was seen of arrivals: %w", err)
		}
		if len(looks) < arrivalsAtOnce {
			return nil
		}
	}
	return nil
}

// ofHouse are the kinds of events after which any arrival of the property may stand differently, ofStay those after which
// that of their reservation may. What else heals an arrival is seen when it is looked at again.
var (
	ofHouse = []event.Kind{event.LockOffline, event.LockBatteryLow, event.LockJammed, event.ConflictOpened, event.ConflictClosed, event.EndpointFailing}
	ofStay  = []event.Kind{event.AccessIssued, event.AccessUpdated, event.AccessFailed, event.AccessRemoved}
)

// Subscriber has arrivals looked at again that an event may concern.
func (a Arrivals) Subscriber() Subscriber {
	return Subscriber{Name: "arrivals", Deliver: func(ctx context.Context, events []*ent.Event) error {
		houses, stays := map[string]bool{}, map[string]bool{}
		for _, e := range events {
			switch kind := event.Kind(e.Kind); {
			case slices.Contains(ofHouse, kind):
				houses[e.PropertyID] = true
			case slices.Contains(ofStay, kind):
				stays[e.Subject] = true
			}
		}
		if len(houses)+len(stays) == 0 {
			return nil
		}
		return a.DB.Write(ctx, func(tx *db.Tx) error {
			return readiness.Hint(tx, slices.Sorted(maps.Keys(houses)), slices.Sorted(maps.Keys(stays)))
		})
	}}
}
