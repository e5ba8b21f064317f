package guest

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
)

// ErasureFacts is what decides when data are erased.
type ErasureFacts struct {
	RequestedAt time.Time
	State       access.State
	CheckingIn  bool      // a checkIn call was made, and may have checked the guests in: until its outcome is known, they count as in house
	End         time.Time // the end of the access, with the late check-out or an extension
	Now         time.Time
}

// ErasurePlan is when data are erased.
type ErasurePlan struct {
	From      time.Time // when the 24 hours begin within which the data are erased
	AfterStay bool      // From is the end of the access, which is still to come
}

// DueAt is when the data are erased at the latest.
func (p ErasurePlan) DueAt() time.Time { return p.From.Add(erasureWithin) }

// PlanErasure decides when data are erased. A guest in house still needs the key and the contact to the desk, and the law requires their
// answers.
//
//	the guests                                        the 24 hours begin
//	have not checked in, canceled, or checked out     at the request
//	are in house, or the PMS is checking them in      at the end of the access
//	are past the end of their access                  at the request, or at the end if that was later
func PlanErasure(f ErasureFacts) ErasurePlan {
	inHouse := f.State == access.Started || f.State == access.Confirmed && f.CheckingIn
	if !inHouse || !f.End.After(f.RequestedAt) {
		return ErasurePlan{From: f.RequestedAt}
	}
	return ErasurePlan{From: f.End, AfterStay: f.Now.Before(f.End)}
}

// planErasure returns when the data of a party are erased. requestedAt is when the erasure was requested.
func (p *Party) planErasure(requestedAt, now time.Time) ErasurePlan {
	return planErasure(p.Reservation, p.Property, p.Stay, requestedAt, now)
}

// planErasure returns when the data of a stay are erased, without decrypting the guests' answers, which may be unreadable. stay is nil if
// nothing is stored about the stay.
func planErasure(reserved *ent.Reservation, in *ent.Property, stay *ent.Stay, requestedAt, now time.Time) ErasurePlan {
	of := access.Stay{To: reserved.ToAt}
	if reserved.ExtendedTo != nil {
		of.ExtendedTo = *reserved.ExtendedTo
	}
	f := ErasureFacts{
		RequestedAt: requestedAt, State: access.State(reserved.State), Now: now,
		End: of.End(access.Rules{LateOut: time.Duration(in.LateOutMinutes) * time.Minute}),
	}
	if stay != nil && stay.EndedAt == nil {
		f.CheckingIn = stay.AttemptState == "calling" || stay.AttemptState == "accepted"
	}
	return PlanErasure(f)
}

// planOf returns when the data of a request are erased, and the property. It decrypts no answers: unreadable ones may be why the erasure
// fails. For a removed reservation it returns the error fault.ReservationNotFound.
func planOf(view *db.Tx, row *ErasureRow) (ErasurePlan, *ent.Property, error) {
	reserved, err := loadReservation(view, row.PropertyID, row.ReservationID)
	if err != nil {
		return ErasurePlan{}, nil, err
	}
	in, err := property.Get(view, row.PropertyID)
	if err != nil {
		return ErasurePlan{}, nil, err
	}
	stay, err := LoadStay(view, row.PropertyID, row.ReservationID)
	if err != nil {
		return ErasurePlan{}, nil, err
	}
	return planErasure(reserved, in, stay, row.CreatedAt, view.Now()), in, nil
}

// LateErasure returns by when an erasure must be done, and late if staff must be notified because that is near or over. For a removed
// reservation it returns zero and false.
func LateErasure(view *db.Tx, row *ErasureRow) (dueAt time.Time, late bool, err error) {
	plan, _, err := planOf(view, row)
	if err != nil {
		return time.Time{}, false, ignoreRemoved(err)
	}
	return plan.DueAt(), !view.Now().Before(plan.From.Add(erasureAlert)), nil
}
