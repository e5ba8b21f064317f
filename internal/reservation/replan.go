package reservation

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entgate "latchkey.dev/ent/gate"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
)

const (
	// planDoors bounds how many doors one transaction plans: a property may have many gates, and each reservation may
	// open them all.
	planDoors = 300
	// planRetry is the wait before the next attempt to plan a reservation whose plan failed.
	planRetry = time.Minute
	// maxTouched bounds the spaces that the query for a change names, because SQLite allows 1,000 levels of an expression. A change of more
	// spaces affects all reservations.
	maxTouched = 200
)

// Replan replans the checked-in reservations that a change of the property's settings, spaces, mapping, doors or locks affects. It plans
// the first of them in the transaction of that change and marks the others for [Service.PlanDue]. It also recomputes their dates from the
// property's current hours; [Service.CompleteDays] does that for reservations in other states. It makes the property's staff, one-time and
// backup codes due, too. It does nothing if t is empty.
func (svc Service) Replan(tx *db.Tx, propertyID string, t space.AffectedStays) error {
	if t.Empty() {
		return nil
	}
	if err := code.MarkDue(tx, propertyID); err != nil {
		return err
	}
	which, err := touchedStays(tx, propertyID, t)
	if err != nil {
		return err
	}
	return svc.markAndPlan(tx, propertyID, which)
}

// markAndPlan marks the reservations that match as due to be planned, and plans the first of them. A reservation that is already due keeps
// its place in the queue. If a plan fails, all of them stay marked and there is no error, unless the transaction has ended: the error of
// one reservation must not reject the change, and [Service.PlanDue] retries each.
func (svc Service) markAndPlan(tx *db.Tx, propertyID string, which predicate.Reservation) error {
	notDue := entreservation.Or(entreservation.PlanDueAtIsNil(), entreservation.PlanDueAtGT(tx.Now()))
	if err := tx.Reservation.Update().Where(entreservation.PropertyID(propertyID), which, notDue).SetPlanDueAt(tx.Now()).Exec(tx.Context()); err != nil {
		return fmt.Errorf("mark the stays to plan: %w", err)
	}
	err := tx.Savepoint(func() error {
		_, err := svc.planNext(tx, propertyID, which)
		return err
	})
	if ended := cmp.Or(tx.Err(), tx.Context().Err()); ended != nil {
		return errors.Join(ended, err)
	}
	return nil
}

// Due are reservations of one property whose access is due to be planned.
type Due struct {
	PropertyID string
	IDs        []string
}

// PlanDue plans the access of the next due reservations of one property, as many as one transaction may plan, and returns them. The result
// is empty if none is due. It removes their marks in the same transaction, so that a crash loses none. If one plan fails, it returns the
// error with the whole batch: the caller rolls back, and calls PlanOne for each.
func (svc Service) PlanDue(tx *db.Tx) (Due, error) {
	first, err := tx.Reservation.Query().Where(planIsDue(tx.Now())).
		Order(entreservation.ByPlanDueAt(), entreservation.ByID()).First(tx.Context())
	if ent.IsNotFound(err) {
		return Due{}, nil
	}
	if err != nil {
		return Due{}, fmt.Errorf("find the stays to plan: %w", err)
	}
	ids, err := svc.planNext(tx, first.PropertyID)
	return Due{PropertyID: first.PropertyID, IDs: ids}, err
}

// planIsDue matches the reservations that are marked as due. A mark further ahead than a retry is from a clock that was ahead and has been
// set back, so the reservation is due. The first condition is that of the partial index, so that the database uses it.
func planIsDue(now time.Time) predicate.Reservation {
	return entreservation.And(entreservation.PlanDueAtNotNil(),
		entreservation.Or(entreservation.PlanDueAtLTE(now), entreservation.PlanDueAtGT(now.Add(planRetry))))
}

// PlanOne plans the access of one reservation, if it is due: which doors open for the guest, and when. A worker calls it for each
// reservation of a batch that failed in [Service.PlanDue].
func (svc Service) PlanOne(tx *db.Tx, propertyID, id string) error {
	_, err := svc.planNext(tx, propertyID, entreservation.ID(id))
	return err
}

// PostponePlan makes a reservation whose plan failed due again after planRetry.
func PostponePlan(tx *db.Tx, propertyID, id string) error {
	return tx.Reservation.Update().Where(entreservation.PropertyID(propertyID), entreservation.ID(id)).SetPlanDueAt(tx.Now().Add(planRetry)).Exec(tx.Context())
}

// planNext plans the first due reservations of a property that match which, as many as one transaction may plan, and removes their marks.
// Those that are not checked in only lose the mark. It returns the ids of all of them, also if a plan fails. After an error the caller must
// roll back, so that they stay due.
func (svc Service) planNext(tx *db.Tx, propertyID string, which ...predicate.Reservation) ([]string, error) {
	ctx := tx.Context()
	gates, err := tx.Gate.Query().Where(entgate.PropertyID(propertyID)).Aggregate(ent.Count()).Int(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the gates: %w", err)
	}
	rows, err := tx.Reservation.Query().Where(entreservation.PropertyID(propertyID), planIsDue(tx.Now())).Where(which...).
		Order(entreservation.ByPlanDueAt(), entreservation.ByID()).Limit(max(planDoors/(gates+2), 1)).All(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	err = tx.Reservation.Update().Where(entreservation.PropertyID(propertyID), entreservation.IDIn(ids...)).ClearPlanDueAt().Exec(ctx)
	if err != nil {
		return ids, fmt.Errorf("unmark the stays to plan: %w", err)
	}
	return ids, svc.replanStarted(tx, propertyID, rows)
}

// replanStarted recomputes the dates and replans the access of those reservations that are checked in. It skips the others.
func (svc Service) replanStarted(tx *db.Tx, propertyID string, rows []*ent.Reservation) error {
	rules, hours, err := loadRules(tx, propertyID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if access.State(row.State) != access.Started {
			continue
		}
		if _, err := recomputeDates(tx, row, hours); err != nil {
			return err
		}
		if _, err := access.Apply(tx, svc.Keys, stayOf(row, false), rules); err != nil {
			return fmt.Errorf("plan the access of %s: %w", row.ID, err)
		}
	}
	return nil
}

// touchedStays matches the checked-in reservations that name a changed space, have access to one, or still have a code on the door of one
// that they leave. It matches all checked-in reservations if more spaces changed than one query can name.
func touchedStays(tx *db.Tx, propertyID string, t space.AffectedStays) (predicate.Reservation, error) {
	started := entreservation.State(string(access.Started))
	if touchesAll(t) {
		return started, nil
	}
	granted, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.EndedAtIsNil(),
		entgrant.Or(entgrant.SpaceIDIn(t.SpaceIDs...), hasCodeAt(propertyID, t.SpaceIDs))).
		Select(entgrant.FieldReservationID).Strings(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the access to spaces: %w", err)
	}
	return entreservation.And(started, entreservation.Or(append(namesSpace(t), entreservation.IDIn(granted...))...)), nil
}

// hasCodeAt matches the grants that have a desired code for one of the doors.
func hasCodeAt(propertyID string, doorIDs []string) predicate.Grant {
	return func(s *sql.Selector) {
		slots := sql.Select(entslot.FieldGrantID).From(sql.Table(entslot.Table))
		entslot.And(entslot.PropertyID(propertyID), entslot.Present(true), entslot.DoorIDIn(doorIDs...))(slots)
		s.Where(sql.In(s.C(entgrant.FieldID), slots))
	}
}

// touchesAll reports whether a change affects all reservations, or more spaces than one query can name.
func touchesAll(t space.AffectedStays) bool {
	return t.All || len(t.SpaceIDs)+len(t.Externals) > maxTouched
}

// namesSpace returns alternative conditions: a reservation that meets one of them names a changed space.
func namesSpace(t space.AffectedStays) []predicate.Reservation {
	named := []predicate.Reservation{entreservation.OwnSpaceIDIn(t.SpaceIDs...)}
	for _, e := range t.Externals {
		named = append(named, entreservation.And(entreservation.IntegrationID(e.IntegrationID),
			entreservation.Or(entreservation.SpaceKey(e.ID), entreservation.PmsParentSpaceID(e.ID))))
	}
	return named
}

// notEnded are the states of reservations that have not ended.
var notEnded = []string{string(access.Enquired), string(access.Requested), string(access.Optional), string(access.Confirmed), string(access.Started)}

// Affected lists the ids of the first 100 reservations, by arrival, of a property that have not ended and name one of a PMS's spaces. A
// mapping conflict shows them. externalIDs are the PMS's ids of the spaces.
func Affected(tx *db.Tx, propertyID, integrationID string, externalIDs []string) ([]string, error) {
	return tx.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IntegrationID(integrationID),
		entreservation.Or(entreservation.SpaceKeyIn(externalIDs...), entreservation.PmsParentSpaceIDIn(externalIDs...)),
		entreservation.ToAtGT(tx.Now()),
		entreservation.StateIn(notEnded...)).
		Order(entreservation.ByFromAt()).Limit(100).IDs(tx.Context())
}
