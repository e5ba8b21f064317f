package reservation

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"latchkey.dev/ent"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/space"
)

// Scope limits a call to the reservations of one property, and optionally of one integration.
type Scope struct {
	PropertyID    string
	IntegrationID string // IntegrationID is empty to read all integrations of the property
}

// Stored is a reservation with its access plan.
type Stored struct {
	Row      *ent.Reservation // Row is nil if the patch is late and there is no reservation (see isLate)
	Property Settings
	Booker   Booker
	Plan     access.Plan
	Stale    bool // Stale means that the patch was late, or older than the stored reservation, and changed nothing
}

// Service stores reservations and plans their access.
type Service struct {
	Keys *keyring.Ring
	Keep time.Duration // Keep is the longest retention period after the end of a stay; 0 means forever. A property may have a shorter one
}

// Upsert creates the reservation that a patch names, or merges the patch into it, and plans its access. A patch that changes no field
// stores no change. A patch that is late or older than the stored reservation changes nothing: see Stored.Stale. The error has all wrong
// fields: those found here and those that the caller passes in wrong; with any, nothing is stored. A Latchkey space that the property does
// not have is a not-found fault. After the commit it notifies the topic [Started] if the PMS checked the guest in.
func (svc Service) Upsert(tx *db.Tx, s Scope, p Patch, wrong []fault.Field) (Stored, error) {
	pmsID, _ := p.text(PMSID)
	found, err := svc.loadCurrent(tx, s, db.OrZero(pmsID))
	if err != nil {
		return Stored{}, err
	}
	row := found.row
	rules, hours, err := found.settings.rules()
	if err != nil {
		return Stored{}, err
	}
	var held *Record
	if row != nil {
		r := recordOf(row)
		if r.Booker, err = svc.Booker(tx.Context(), row); err != nil {
			return Stored{}, err
		}
		held = &r
	}
	if row != nil && len(wrong) == 0 && isStale(p, row) {
		plan, err := access.Show(tx, svc.Keys, stayOf(row, !found.granted), rules)
		return Stored{Row: row, Property: found.settings, Booker: held.Booker, Plan: plan, Stale: true}, err
	}
	merged, more := Merge(held, p, hours, tx.Now())
	if row == nil {
		var keep time.Duration // 0, which means forever, because a stay that has not ended is within every retention period
		if end := merged.end(); !end.IsZero() && !end.After(tx.Now()) {
			if keep, err = svc.keepOf(tx, s.PropertyID); err != nil {
				return Stored{}, err
			}
		}
		if isLate(p, merged.end(), tx.Now(), keep, found.removed) {
			// A date such as 0001-01-01 is no past stay but a mistake, which must not look like a success.
			return Stored{Property: found.settings, Stale: true}, fieldErrors(wrong, yearErrors(more))
		}
	}
	if err := fieldErrors(wrong, more); err != nil {
		return Stored{}, err
	}
	if err := checkOwnSpace(tx, s, p, merged); err != nil {
		return Stored{}, err
	}
	switch {
	case row == nil:
		if found.removed != nil {
			err = svc.deleteTombstone(tx, s, merged.PMSID)
		}
		if err == nil {
			row, err = svc.create(tx, s, merged)
		}
	case !reflect.DeepEqual(*held, merged):
		row, err = svc.update(tx, row, *held, merged)
	}
	if err == nil {
		err = appendChangedEvent(tx, row, held, merged, found.granted)
	}
	if err != nil {
		return Stored{}, err
	}
	if merged.State == access.Started && (held == nil || held.State != access.Started) {
		tx.Notify(Started, row.ID)
	}
	plan, err := access.Apply(tx, svc.Keys, stayOf(row, !found.granted), rules)
	return Stored{Row: row, Property: found.settings, Booker: merged.Booker, Plan: plan}, err
}

// Started is the topic of notifications that the PMS started a stay. The key is the id of the reservation.
const Started db.Topic = "reservation.started"

// fieldErrors returns one error with the fields in wrong, and those in more that wrong does not explain already, or nil if there are none.
// The error has the reason DatesNotValid if all fields have it.
func fieldErrors(wrong, more []fault.Field) error {
	for _, f := range more {
		if !slices.ContainsFunc(wrong, func(w fault.Field) bool { return w.Path == f.Path || isSameMistake(w, f) }) {
			wrong = append(wrong, f)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	err := fault.Fields(wrong...)
	if !slices.ContainsFunc(wrong, func(w fault.Field) bool { return w.Reason != fault.DatesNotValid }) {
		err.Reason = fault.DatesNotValid
	}
	return err
}

// isSameMistake reports whether missing, the error that from or to is required, only follows from day, the error of the fromDate or toDate
// that was sent in its place. The error of the day then suffices.
func isSameMistake(day, missing fault.Field) bool {
	return missing.Reason == fault.Required &&
		(day.Path == string(FromDate) && missing.Path == string(From) || day.Path == string(ToDate) && missing.Path == string(To))
}

// isStale reports whether the patch is older than the stored row by pmsMeta.updatedAt, so that it must change nothing. It is false if times
// are equal or one of them is missing.
func isStale(p Patch, row *ent.Reservation) bool {
	at, ok := p[PMSUpdatedAt].(time.Time)
	return ok && row.PmsUpdatedAt != nil && at.UTC().Truncate(time.Microsecond).Before(*row.PmsUpdatedAt)
}

// checkOwnSpace returns a not-found fault if a patch names a Latchkey space that this property does not have. A stored space that was
// deleted since is no error.
func checkOwnSpace(tx *db.Tx, s Scope, p Patch, r Record) error {
	if v, _ := p.text(OwnSpaceID); v == nil || r.OwnSpaceID == nil {
		return nil
	}
	ok, err := tx.Space.Query().Where(entspace.PropertyID(s.PropertyID), entspace.ID(*r.OwnSpaceID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("find a space: %w", err)
	}
	if !ok {
		return fault.New(fault.NotFound, fault.SpaceNotFound, "no such space at this property: parentSpaceId takes an id of GET /v1/spaces")
	}
	return nil
}

// stayOf returns the part of a reservation on which access depends. fresh means that the reservation never had access.
func stayOf(row *ent.Reservation, fresh bool) access.Stay {
	return access.Stay{
		ReservationID: row.ID, State: access.State(row.State), From: row.FromAt, To: row.ToAt, ExtendedTo: db.OrZero(row.ExtendedTo), Fresh: fresh,
		Space: space.Request{
			PropertyID: row.PropertyID, IntegrationID: row.IntegrationID, ExternalID: db.OrZero(row.PmsSpaceID),
			ExternalParentID: db.OrZero(row.PmsParentSpaceID), OwnID: db.OrZero(row.OwnSpaceID),
		},
	}
}
