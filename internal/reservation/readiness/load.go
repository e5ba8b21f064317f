package readiness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entconflict "latchkey.dev/ent/conflict"
	entendpoint "latchkey.dev/ent/endpoint"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// failingAfter is the number of failed calls in a row after which an endpoint counts as failing. A single failure is
// normal.
const failingAfter = 3

// Load loads the facts of the arrivals of one property, in the given order. It reads shared facts only once.
func Load(tx *db.Tx, svc reservation.Service, property *ent.Property, rows []*ent.Reservation) ([]Facts, error) {
	l := loader{tx: tx, property: property}
	out := make([]Facts, len(rows))
	var doors []string
	for i, row := range rows {
		p, err := svc.Plan(tx, row, property)
		if err != nil {
			return nil, fmt.Errorf("plan an arrival: %w", err)
		}
		out[i] = Facts{Now: tx.Now(), From: row.FromAt, State: access.State(row.State), Plan: p, ReservationID: row.ID, ExternalSpaceID: row.SpaceKey}
		for _, d := range p.Doors {
			doors = append(doors, d.ID)
		}
	}
	slices.Sort(doors)
	for _, step := range []func() error{
		func() error { return l.loadLocks(slices.Compact(doors)) },
		func() error { return l.loadPartners(rows) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("load arrivals: %w", err)
		}
	}
	for i, row := range rows {
		f := &out[i]
		f.Failing, f.Locks = l.failing[row.IntegrationID], map[string]Lock{}
		for _, d := range f.Plan.Doors {
			if at, ok := l.lockAtDoor[d.ID]; ok {
				f.Locks[d.ID] = at
			}
		}
		f.Conflict = l.conflict[externalSpace{row.IntegrationID, row.SpaceKey}] || row.PmsParentSpaceID != nil && l.conflict[externalSpace{row.IntegrationID, *row.PmsParentSpaceID}]
	}
	return out, nil
}

// externalSpace is a space in a PMS.
type externalSpace struct{ integrationID, externalID string }

// loader loads the facts of several arrivals of one property together.
type loader struct {
	tx         *db.Tx
	property   *ent.Property
	lockAtDoor map[string]Lock     // lockAtDoor has the lock of each door
	failing    map[string][]string // failing has the failing endpoint actions of each integration
	conflict   map[externalSpace]bool
}

// loadLocks loads the lock of each door, with what [Judge] needs to know about the lock and its bridge.
func (l *loader) loadLocks(doors []string) error {
	l.lockAtDoor = make(map[string]Lock, len(doors))
	at, err := lock.LocksByDoor(l.tx, l.property.ID, doors)
	if err != nil {
		return err
	}
	all := make([]*ent.Lock, 0, len(at))
	var ids []string
	for _, lk := range at {
		all = append(all, lk)
		if !slices.Contains(ids, lk.BridgeID) {
			ids = append(ids, lk.BridgeID)
		}
	}
	states, err := lock.LoadStates(l.tx, l.tx.Now(), l.property.ID, all)
	if err != nil {
		return err
	}
	bridges := make(map[string]*ent.Bridge, len(ids))
	rows, err := l.tx.Bridge.Query().Where(entbridge.PropertyID(l.property.ID), entbridge.IDIn(ids...)).All(l.tx.Context())
	if err != nil {
		return err
	}
	for _, br := range rows {
		bridges[br.ID] = br
	}
	for door, lk := range at {
		l.lockAtDoor[door] = toLock(lk, bridges[lk.BridgeID], states[lk.ID], l.tx.Now())
	}
	return nil
}

// toLock converts a lock for [Judge]. br is the lock's bridge, or nil.
func toLock(lk *ent.Lock, br *ent.Bridge, st lock.State, now time.Time) Lock {
	out := Lock{
		Online: st.Online, Free: st.FreeSlots, Battery: lk.Status.BatteryPercent, Jammed: lock.IsJammed(lk), OfflineCause: access.Reason(lk.Status.OfflineCause),
		Guessable: lock.Guessable(lk.Capabilities, lk.Status),
		ReadBack:  lk.Capabilities.ReadBack, OwnSchedule: lk.Capabilities.Schedule == slot.ScheduleWindow,
	}
	if ms := lk.Status.ClockOffsetMS; ms != nil {
		out.Clock = time.Duration(*ms) * time.Millisecond
	}
	switch {
	case br == nil:
		out.Undriven = lock.NoBridge
	case br.RevokedAt != nil:
		out.Undriven = lock.BridgeRevoked
	}
	if br != nil {
		out.BridgeOnline, out.BridgeClock = bridge.IsOnline(br, now), time.Duration(br.ClockOffsetMs)*time.Millisecond
	}
	return out
}

// loadPartners loads which endpoints of the arrivals' PMSs keep failing, and which spaces of the arrivals have an
// open mapping conflict.
func (l *loader) loadPartners(rows []*ent.Reservation) error {
	var ids, spaces []string
	for _, row := range rows {
		ids = append(ids, row.IntegrationID)
		spaces = append(spaces, row.SpaceKey)
		if row.PmsParentSpaceID != nil {
			spaces = append(spaces, *row.PmsParentSpaceID)
		}
	}
	slices.Sort(ids)
	slices.Sort(spaces)
	ids, spaces = slices.Compact(ids), slices.Compact(spaces)
	down, err := l.tx.Endpoint.Query().
		Where(entendpoint.PropertyID(l.property.ID), entendpoint.IntegrationIDIn(ids...), entendpoint.FailuresGTE(failingAfter)).All(l.tx.Context())
	if err != nil {
		return err
	}
	l.failing = map[string][]string{}
	slices.SortFunc(down, func(a, b *ent.Endpoint) int { return strings.Compare(a.Action, b.Action) })
	for _, e := range down {
		l.failing[e.IntegrationID] = append(l.failing[e.IntegrationID], e.Action)
	}
	open, err := l.tx.Conflict.Query().Where(entconflict.PropertyID(l.property.ID), entconflict.ClosedAtIsNil(),
		entconflict.IntegrationIDIn(ids...), entconflict.ExternalIDIn(spaces...)).All(l.tx.Context())
	if err != nil {
		return err
	}
	l.conflict = map[externalSpace]bool{}
	for _, c := range open {
		l.conflict[externalSpace{c.IntegrationID, c.ExternalID}] = c.ExternalID != ""
	}
	return nil
}
