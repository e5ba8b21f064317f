package explain

import (
	"slices"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqljson"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
)

// locks loads events of the first maxLocks locks that the stay has or had a code on, while it had access: disconnections of the lock,
// pauses of its keypad, and actions of others at doors that the stay has for itself. Each kind has its own limit, so that many visitors do
// not hide a disconnection. If there are more locks, it sets More and Gaps in the facts.
func (l *loader) locks() error {
	ids, err := l.lockIDs()
	if err != nil {
		return err
	}
	if len(ids) > maxLocks {
		l.f.More, l.f.Gaps = true, true
	}
	first, last := l.eventRange()
	if first == nil {
		return nil
	}
	during := entevent.IDGTE(first.ID)
	if last != nil {
		during = entevent.And(during, entevent.IDLTE(last.ID))
	}
	for _, lockID := range ids[:min(len(ids), maxLocks)] {
		for _, q := range []struct {
			subject string
			most    int
			kind    event.Kind
			where   predicate.Event
		}{
			{lockID, maxLossesOfLock, event.LockOffline, entevent.And(during, entevent.GrantIDIsNil())},
			{event.InternalSubject(lockID), maxLossesOfLock, event.LockOnline, entevent.And(during, entevent.GrantIDIsNil())},
			{event.InternalSubject(lockID), mostPauses, event.KeypadPaused, pausedBetween(first, last)},
			{lockID, maxVisitors, event.DoorDenied, entevent.And(during, l.byOthers())},
			{lockID, maxVisitors, event.DoorOpened, entevent.And(during, l.byOthers(), byStaff)},
		} {
			err := l.loadLatest(q.most, entevent.BySubjectSequence(sql.OrderDesc()),
				entevent.Subject(q.subject), entevent.Kind(string(q.kind)), q.where)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// byOthers selects events that name no grant, at doors that the stay has or had for itself: wrong PINs, keys and
// openings by staff.
func (l *loader) byOthers() predicate.Event {
	var private []any
	for doorID, d := range l.f.Doors {
		if d.Private {
			private = append(private, doorID)
		}
	}
	return entevent.And(entevent.GrantIDIsNil(), func(s *sql.Selector) {
		if len(private) == 0 {
			s.Where(sql.False())
			return
		}
		s.Where(sqljson.ValueIn(entevent.FieldBody, private, sqljson.Path("doorId")))
	})
}

// byStaff selects remote openings by staff.
func byStaff(s *sql.Selector) { s.Where(sqljson.HasKey(entevent.FieldBody, sqljson.Path("actId"))) }

// eventRange returns the loaded events of the stay that bound in time what to load of its locks. first is nil if the
// stay has no events, and last is nil while its access has not ended.
func (l *loader) eventRange() (first, last *ent.Event) {
	for _, e := range l.rows {
		if !l.isOfStay(e) && e.Subject != l.row.ID {
			continue
		}
		if first == nil || e.ID < first.ID {
			first = e
		}
		if last == nil || e.ID > last.ID {
			last = e
		}
	}
	if ended := l.f.Plan.Window == nil && l.f.Plan.Status == access.StatusRemoved; !ended {
		last = nil
	}
	return first, last
}

// lockIDs returns the locks that the stay has or had a code on: locks with a slot of its grants, and locks that its
// events name, because their slots may now belong to another grant.
func (l *loader) lockIDs() (ids []string, err error) {
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slots, err := lock.SlotsOfGrants(l.tx, l.row.PropertyID, l.grantIDs()...)
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
		add(s.LockID)
	}
	for _, e := range l.rows {
		if l.isOfStay(e) {
			add(bodyText(e, "lockId"))
		}
	}
	return ids, nil
}
