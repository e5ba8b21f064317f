package worker

import (
	"context"
	"errors"
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

// Arrivals checks whether the doors of upcoming arrivals will open, and notifies staff of problems to fix before.
type Arrivals struct {
	Reservations reservation.Service
	Every        time.Duration // Every is the interval between sweeps; 0 means 3 s
}

// Limits of one sweep; the next sweep continues.
const (
	arrivalBatch      = 100
	maxArrivalBatches = 50
)

// Sweep schedules checks for arrivals that come near, and makes the checks that are due. Only one process of an installation may run it:
// see [Lease].
func (a Arrivals) Sweep() Sweep {
	every := a.Every
	if every <= 0 {
		every = 3 * time.Second
	}
	var seen time.Time // seen is the time up to which arrivals are enqueued
	return Sweep{Name: "arrivals", Every: every, Run: func(ctx context.Context, d *db.DB) error {
		until, err := enqueueDue(ctx, d, seen)
		if err != nil {
			return err
		}
		seen = until
		return a.checkDue(ctx, d)
	}}
}

// enqueueDue schedules the checks of arrivals that have come within the horizon (24 hours from now) since the last call. seen is the time
// that the last call returned, or zero for all, also guests who are late by up to [reservation.Grace]. It returns the present horizon.
func enqueueDue(ctx context.Context, d *db.DB, seen time.Time) (until time.Time, err error) {
	for n := 1; n > 0 && err == nil; {
		err = d.Write(ctx, func(tx *db.Tx) error {
			n, until, err = reservation.EnqueueDueArrivals(tx, seen, sweepBatch)
			return err
		})
	}
	return until, err
}

// checkDue checks for arrivals whose check is due whether their doors will open, in batches, stores the results, and adds or resolves the
// notices to staff. The number of batches is limited: the next sweep checks the rest. A failure at one property does not stop the others.
func (a Arrivals) checkDue(ctx context.Context, d *db.DB) (failed error) {
	var without []string // properties whose arrivals could not be checked
	for range maxArrivalBatches {
		// The checks run outside of the transaction, because they take longer than storing the results. The next
		// check sees concurrent changes.
		due, err := readiness.CheckDue(d.View(ctx), a.Reservations, arrivalBatch, without)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, propertyID := range slices.Sorted(maps.Keys(due.Failed)) {
			failed = errors.Join(failed, fmt.Errorf("check the arrivals of %s: %w", propertyID, due.Failed[propertyID]))
			without = append(without, propertyID)
		}
		err = d.Write(ctx, func(tx *db.Tx) error {
			for _, l := range due.Checks {
				if err := l.Store(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return errors.Join(failed, fmt.Errorf("store the checks of arrivals: %w", err))
		}
		if len(due.Checks) < arrivalBatch && len(due.Failed) == 0 {
			return failed
		}
	}
	return failed
}

// propertyEvents are the kinds of events that can affect any arrival of the property, reservationEvents those that
// can affect the arrival of their reservation. Other changes are seen by the next regular check.
var (
	propertyEvents    = []event.Kind{event.LockOffline, event.LockBatteryLow, event.LockJammed, event.ConflictOpened, event.ConflictClosed, event.EndpointFailing}
	reservationEvents = []event.Kind{event.AccessIssued, event.AccessUpdated, event.AccessFailed, event.AccessRemoved}
)

// Subscriber makes the checks of arrivals that an event may affect due soon: see propertyEvents and reservationEvents.
func (a Arrivals) Subscriber() Subscriber {
	wants := wantsKinds(slices.Concat(propertyEvents, reservationEvents)...)
	return Subscriber{Name: "arrivals", Wants: wants, Apply: func(tx *db.Tx, events []*ent.Event) error {
		properties, reservations := map[string]bool{}, map[string]bool{}
		for _, e := range events {
			switch kind := event.Kind(e.Kind); {
			case slices.Contains(propertyEvents, kind):
				properties[e.PropertyID] = true
			case slices.Contains(reservationEvents, kind):
				reservations[e.Subject] = true
			}
		}
		if len(properties)+len(reservations) == 0 {
			return nil
		}
		return readiness.RecheckSoon(tx, slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(reservations)))
	}}
}
