package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	entgate "latchkey.dev/ent/gate"
	entgrant "latchkey.dev/ent/grant"
	entphone "latchkey.dev/ent/phone"
	"latchkey.dev/ent/predicate"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// Limits of the queries.
const (
	maxEvents       = MaxSteps // the most events of the stay for partners, as many internal ones, and as many of its codes
	maxGrants       = 20
	maxLocks        = 12 // the most locks whose own events are loaded
	maxPhones       = 100
	maxLossesOfLock = 100      // the most connection losses, and as many returns, of each lock while the stay had access
	maxVisitors     = MaxSteps // the most openings by staff, and as many refusals of others, at each lock while the stay had access
	mostPauses      = 50       // the most keypad pauses of each lock
)

// Of explains why the doors of a reservation do or do not open. It returns a not-found fault if the scope has no such reservation.
func Of(tx *db.Tx, svc reservation.Service, s reservation.Scope, reservationID string) (Explanation, error) {
	f, err := Load(tx, svc, s, reservationID)
	if err != nil {
		return Explanation{}, err
	}
	return Explain(f), nil
}

// Load loads the facts of an explanation with few, bounded queries. It returns a not-found fault if the scope has no such reservation.
func Load(tx *db.Tx, svc reservation.Service, s reservation.Scope, reservationID string) (Facts, error) {
	row, err := reservation.Get(tx, s, reservationID)
	if err != nil {
		return Facts{}, err
	}
	property, err := tx.Property.Get(tx.Context(), row.PropertyID)
	if err != nil {
		return Facts{}, fmt.Errorf("load the property: %w", err)
	}
	zone, err := clock.Zone(property.TimeZone)
	if err != nil {
		zone = time.UTC // an unknown time zone must not make the explanation unreadable
	}
	l := loader{tx: tx, row: row}
	l.f = Facts{Now: tx.Now(), Zone: zone, ReservationID: row.ID, State: access.State(row.State), Created: row.CreatedAt, Updated: row.UpdatedAt,
		ByDays: row.FromDate != nil || row.ToDate != nil}
	if l.f.Plan, err = svc.Plan(tx, row, property); err != nil {
		return Facts{}, err
	}
	for _, step := range []func() error{l.grants, l.phones, l.doors, l.stay, l.codes, l.findForgotten, l.loadDoorNames, l.locks} {
		if err := step(); err != nil {
			return Facts{}, fmt.Errorf("explain a reservation: %w", err)
		}
	}
	slices.SortFunc(l.rows, func(a, b *ent.Event) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range slices.CompactFunc(l.rows, func(a, b *ent.Event) bool { return a.ID == b.ID }) {
		l.f.Events = append(l.f.Events, l.toEvent(e))
	}
	return l.f, nil
}

// loader loads the facts of one explanation with a bounded number of queries.
type loader struct {
	tx     *db.Tx
	row    *ent.Reservation
	f      Facts
	grant  []*ent.Grant      // grant has the grants of the stay, latest first
	phone  []string          // phone has the phones of the stay, as actors of events
	lockAt []*ent.Lock       // lockAt has the locks of the doors that the stay has
	doorOf map[string]string // doorOf has the door of each lock in lockAt, by lock id
	rows   []*ent.Event
}

// grants loads the latest maxGrants grants of the stay, and when each was created. If there are more, it sets More and Gaps in the facts.
func (l *loader) grants() (err error) {
	l.grant, err = l.tx.Grant.Query().Where(entgrant.PropertyID(l.row.PropertyID), entgrant.ReservationID(l.row.ID)).
		Order(entgrant.ByID(sql.OrderDesc())).Limit(maxGrants + 1).All(l.tx.Context())
	if len(l.grant) > maxGrants {
		l.grant, l.f.More, l.f.Gaps = l.grant[:maxGrants], true, true
	}
	l.f.Granted = map[string]time.Time{}
	for _, g := range l.grant {
		l.f.Granted[g.ID] = g.CreatedAt
	}
	return err
}

// wasReplaced reports whether the stay already had a later grant than grantID at the time at.
func (l *loader) wasReplaced(grantID string, at time.Time) bool {
	for _, g := range l.grant {
		if !g.CreatedAt.After(at) {
			return g.ID != grantID
		}
	}
	return false
}

// phones loads up to maxPhones phones of the stay, which may have opened doors with a SmartKey. Further ones count as those of others.
func (l *loader) phones() error {
	ids, err := l.tx.Phone.Query().Where(entphone.PropertyID(l.row.PropertyID), entphone.ReservationID(l.row.ID)).
		Limit(maxPhones).IDs(l.tx.Context())
	for _, id := range ids {
		l.phone = append(l.phone, lock.PhoneActorPrefix+id)
	}
	return err
}

// doors sets the planned doors in the facts, and loads their locks with the states of these.
func (l *loader) doors() error {
	l.f.Doors, l.doorOf = map[string]Door{}, map[string]string{}
	ids := make([]string, 0, len(l.f.Plan.Doors))
	for _, d := range l.f.Plan.Doors {
		l.f.Doors[d.ID] = Door{Name: d.Name}
		ids = append(ids, d.ID)
	}
	at, err := lock.LocksByDoor(l.tx, l.row.PropertyID, ids)
	if err != nil {
		return err
	}
	for _, d := range l.f.Plan.Doors {
		if lk := at[d.ID]; lk != nil {
			l.lockAt, l.doorOf[lk.ID] = append(l.lockAt, lk), d.ID
		}
	}
	states, err := lock.LoadStates(l.tx, l.tx.Now(), l.row.PropertyID, l.lockAt)
	if err != nil {
		return err
	}
	for _, lk := range l.lockAt {
		d := l.f.Doors[l.doorOf[lk.ID]]
		d.Locked, d.Online, d.ReadBack, d.Jammed = true, states[lk.ID].Online, lk.Capabilities.ReadBack, lock.IsJammed(lk)
		l.f.Doors[l.doorOf[lk.ID]] = d
	}
	return nil
}

// stay loads the latest events whose subject is the reservation, at most maxEvents of the subject for partners and as many of the internal
// one.
func (l *loader) stay() error {
	for _, subject := range []string{l.row.ID, event.InternalSubject(l.row.ID)} {
		err := l.loadLatest(maxEvents, entevent.BySubjectSequence(sql.OrderDesc()), entevent.Subject(subject))
		if err != nil {
			return err
		}
	}
	return nil
}

// codes loads the latest maxEvents events about codes of the stay's grants.
func (l *loader) codes() error {
	if len(l.grant) == 0 {
		return nil
	}
	return l.loadLatest(maxEvents, entevent.ByID(sql.OrderDesc()), entevent.GrantIDIn(l.grantIDs()...))
}

func (l *loader) grantIDs() []string {
	ids := make([]string, len(l.grant))
	for i, g := range l.grant {
		ids[i] = g.ID
	}
	return ids
}

// findForgotten sets in the facts since when the events of the stay are complete, if older ones were deleted. Events of
// a subject are numbered from 1, and the retention sweep keeps the last event of each subject: such a last event does
// not prove that the events before it are still there.
func (l *loader) findForgotten() error {
	swept := false
	for _, subject := range []string{l.row.ID, event.InternalSubject(l.row.ID)} {
		first, err := l.sequenceOfFirst(subject, entevent.BySubjectSequence())
		if err != nil {
			return err
		}
		swept = swept || first > 1
	}
	if !swept {
		return nil
	}
	last := map[string]int64{}
	l.f.Since = l.tx.Now()
	for _, e := range l.rows {
		end, known := last[e.Subject]
		if !known {
			var err error
			if end, err = l.sequenceOfFirst(e.Subject, entevent.BySubjectSequence(sql.OrderDesc())); err != nil {
				return err
			}
			last[e.Subject] = end
		}
		if e.SubjectSequence < end && e.OccurredAt.Before(l.f.Since) {
			l.f.Since = e.OccurredAt
		}
	}
	return nil
}

// sequenceOfFirst returns the number of the first event of a subject in the given order, or 0 if there is none.
func (l *loader) sequenceOfFirst(subject string, order entevent.OrderOption) (int64, error) {
	e, err := l.tx.Event.Query().Where(entevent.PropertyID(l.row.PropertyID), entevent.Subject(subject)).Order(order).First(l.tx.Context())
	if ent.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find deleted events: %w", err)
	}
	return e.SubjectSequence, nil
}

// doorsWithCode returns the ids of the doors in the access plan in an event, without those whose code is removed. It returns nil if the
// event has no plan.
func doorsWithCode(e *ent.Event) (ids []string) {
	doors, _ := e.Body["doors"].([]any)
	for _, d := range doors {
		if d, ok := d.(map[string]any); ok && d["pin"] != string(slot.Removed) {
			id, _ := d["doorId"].(string)
			ids = append(ids, id)
		}
	}
	return ids
}

// loadLatest adds the last matching events, at most most, to l.rows, in descending order. It records in the facts whether there are more.
func (l *loader) loadLatest(most int, order entevent.OrderOption, where ...predicate.Event) error {
	rows, err := l.tx.Event.Query().Where(entevent.PropertyID(l.row.PropertyID)).Where(where...).Order(order).Limit(most + 1).All(l.tx.Context())
	if err != nil {
		return fmt.Errorf("load events: %w", err)
	}
	if len(rows) > most {
		rows, l.f.More = rows[:most], true
		l.f.MissingUntil = clock.Later(l.f.MissingUntil, rows[most-1].CreatedAt)
	}
	l.rows = append(l.rows, rows...)
	return nil
}

// loadDoorNames loads the names of all doors that the stay has or had, and whether each door is for one reservation at
// a time.
func (l *loader) loadDoorNames() error {
	ids := map[string]bool{}
	for doorID := range l.f.Doors {
		ids[doorID] = true
	}
	for _, e := range l.rows {
		if doorID := bodyText(e, "doorId"); doorID != "" && l.isOfStay(e) {
			ids[doorID] = true
		}
		for _, doorID := range doorsWithCode(e) {
			ids[doorID] = true
		}
	}
	var spaces, gates []string
	for doorID := range ids {
		if id.Valid(id.Gate, doorID) {
			gates = append(gates, doorID)
			continue
		}
		spaces = append(spaces, doorID)
	}
	found, err := l.tx.Space.Query().Where(entspace.PropertyID(l.row.PropertyID), entspace.IDIn(spaces...)).All(l.tx.Context())
	if err != nil {
		return err
	}
	dorms, err := space.DormNames(l.tx, l.row.PropertyID, spaces)
	if err != nil {
		return err
	}
	for _, s := range found {
		d := l.f.Doors[s.ID]
		d.Name, d.Parent, d.Private = s.Name, dorms[s.ID], s.IsPrivate || s.Type == space.Bed
		l.f.Doors[s.ID] = d
	}
	if len(gates) == 0 {
		return nil
	}
	named, err := l.tx.Gate.Query().Where(entgate.PropertyID(l.row.PropertyID), entgate.IDIn(gates...)).All(l.tx.Context())
	for _, g := range named {
		d := l.f.Doors[g.ID]
		d.Name = g.Name
		l.f.Doors[g.ID] = d
	}
	return err
}

// isOfStay reports whether an event is about a code or a phone of the stay.
func (l *loader) isOfStay(e *ent.Event) bool {
	granted := e.GrantID != nil && slices.ContainsFunc(l.grant, func(g *ent.Grant) bool { return g.ID == *e.GrantID })
	return granted || slices.Contains(l.phone, bodyText(e, "actor"))
}

// isOfSmartKey reports whether an event at a door was caused by a SmartKey.
func isOfSmartKey(e *ent.Event) bool {
	reason := bodyText(e, "reason")
	return strings.HasPrefix(bodyText(e, "actor"), lock.PhoneActorPrefix) || reason == lock.OpenedBySmartKey || strings.HasPrefix(reason, lock.RefusedKeyPrefix)
}

// toEvent converts a stored event for [Explain].
func (l *loader) toEvent(e *ent.Event) Event {
	h := Event{
		At: e.OccurredAt, Stored: e.CreatedAt, Kind: event.Kind(e.Kind), DoorID: bodyText(e, "doorId"), LockID: bodyText(e, "lockId"),
		OfStay: l.isOfStay(e), SmartKey: isOfSmartKey(e),
		State: access.State(bodyText(e, "state")), StateBefore: access.State(bodyText(e, "stateBefore")),
		Evidence: slot.Evidence(bodyText(e, "to")), Reason: access.Reason(bodyText(e, "reason")), Pause: pauseOf(e),
	}
	h.FormerLock, _ = e.Body["formerLock"].(bool)
	h.Until, _ = time.Parse(time.RFC3339, bodyText(e, "until"))
	if e.GrantID != nil && h.OfStay {
		h.GrantID = *e.GrantID
		h.FormerCode = h.Kind == event.CredentialChanged && l.wasReplaced(h.GrantID, e.CreatedAt)
	}
	if result := bodyText(e, "result"); result != "" {
		h.Reason = access.Reason(result)
	}
	h.Staff = bodyText(e, "actId") != "" && !h.SmartKey
	h.OfOtherStay = !h.OfStay && (e.GrantID != nil || strings.HasPrefix(bodyText(e, "actor"), lock.PhoneActorPrefix))
	changed, _ := e.Body["changed"].([]any)
	for _, c := range changed {
		if s, ok := c.(string); ok {
			h.Changed = append(h.Changed, s)
		}
	}
	doors, _ := e.Body["doors"].([]any)
	for _, d := range doors {
		door, _ := d.(map[string]any)
		doorID, _ := door["doorId"].(string)
		if door["reason"] == lock.LockOffline {
			h.Unreachable = append(h.Unreachable, doorID)
		}
		switch slot.Evidence(fmt.Sprint(door["pin"])) {
		case slot.Queued, slot.Sent, slot.Accepted, slot.Verified, slot.Used, slot.Unconfirmed:
			h.Expected = append(h.Expected, doorID)
		}
		if door["pin"] != string(slot.Removing) && door["pin"] != string(slot.Removed) && door["reason"] != string(access.MovingOut) {
			h.Accessible = append(h.Accessible, doorID)
		}
	}
	if reasons, _ := e.Body["reasons"].([]any); len(reasons) > 0 {
		reason, _ := reasons[0].(string)
		h.Reason = access.Reason(reason)
	}
	return h
}

// bodyText returns a text in the body of an event, or "" if there is none with this key.
func bodyText(e *ent.Event, key string) string {
	s, _ := e.Body[key].(string)
	return s
}
