package checkin

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/money"
)

// Key names a reservation of a property.
type Key struct {
	PropertyID, ReservationID string
}

// record is all that is stored about a check-in.
type record struct {
	*guest.Party
	stay        *ent.Stay // stay is never nil; it has no id if no row is stored
	stored      ent.Stay  // stored is a copy of stay as it was loaded
	reservation *ent.Reservation
	zone        *time.Location
	complete    bool // complete means that there is a row for each guest of the party

	pms             PMS  // pms is the PMS that was just asked, or nil
	claimed         bool // claimed means that this transaction began a call to checkIn, which its caller makes
	roomBecameReady bool // roomBecameReady means that the PMS now answered that the room is ready, after an answer that denied it
}

// load reads a check-in and stores nothing. An unknown reservation is the error fault.ReservationNotFound.
func (s *Service) load(view *db.Tx, k Key) (*record, error) {
	party, complete, err := guest.ViewParty(view, s.Keys, k.PropertyID, k.ReservationID)
	if err != nil {
		return nil, err
	}
	return newRecord(party, complete)
}

// loadForChange is like load, for a transaction that changes the check-in. It stores the stay and missing guests, see [guest.LoadParty].
func (s *Service) loadForChange(tx *db.Tx, k Key) (*record, error) {
	party, err := guest.LoadParty(tx, s.Keys, k.PropertyID, k.ReservationID)
	if err != nil {
		return nil, err
	}
	return newRecord(party, true)
}

// newRecord returns the check-in of a party. If the PMS took back the end of the check-in, the record is open again. complete means that
// each guest of the party has a row. The error is about the time zone of the property.
func newRecord(party *guest.Party, complete bool) (*record, error) {
	r := &record{Party: party, reservation: party.Reservation, stay: party.Stay, complete: complete}
	if r.stay == nil {
		r.stay = &ent.Stay{PropertyID: r.reservation.PropertyID, ReservationID: r.reservation.ID}
	}
	r.stored = *r.stay
	var err error
	if r.zone, err = clock.Zone(party.Property.TimeZone); err != nil {
		return nil, fmt.Errorf("property %s: %w", party.Property.ID, err)
	}
	r.reopen()
	return r, nil
}

// policy returns the property's rule about unpaid amounts.
func (r *record) policy() Policy { return policyOf(r.Property) }

// policyOf returns a property's rule about unpaid amounts.
func policyOf(p *ent.Property) Policy {
	return Policy{Owing: OwingRule(p.OwingPolicy), Threshold: p.OwingThresholdMinor}
}

// facts returns the input of [Next] at a time: the reservation, the guests, the settings and the answer of the PMS.
func (r *record) facts(now time.Time) Facts {
	f := Facts{
		Now: now,
		Reservation: ReservationFacts{
			State: r.reservation.State, Today: r.day(now), ArrivalOn: r.day(r.reservation.FromAt), To: r.reservation.ToAt, ChangedAt: r.reservation.UpdatedAt,
			Owing: amount(r.reservation.OwingMinor, r.reservation.OwingCurrency),
		},
		Party: r.party(),
		Rules: Rules{
			IdentityCheck: r.Settings.IdentityCheck, Signature: r.Settings.Signature, HouseRules: r.Settings.HouseRules != "",
			Policy: r.policy(),
		},
		Answer:             answerOf(r.stay.Answer),
		Attempt:            r.attempt(),
		HouseRulesAccepted: r.stay.HouseRulesAcceptedAt != nil,
	}
	if r.stay.BeganAt != nil {
		f.BeganAt, f.BeganOn = *r.stay.BeganAt, r.day(*r.stay.BeganAt)
	}
	if r.stay.DetailsConfirmedAt != nil {
		f.ConfirmedOn = r.day(*r.stay.DetailsConfirmedAt)
	}
	f.Cleared = clearances(r.stay.Cleared, f.Reservation.ArrivalOn, r.zone)
	return f
}

// clearances returns those of the stored decisions of staff that count for an arrival on a day in a zone. A stage that was cleared on an
// earlier day is open again: the PMS moved the stay afterwards, and the law wants the stage at the arrival. Refusals that no later
// clearance took back, waived amounts and what the PMS cleared by starting the stay always count.
func clearances(stored []schema.ClearedStage, arrivalOn string, zone *time.Location) (out []Clearance) {
	for _, c := range stored {
		cleared := Clearance{Stage: Stage(c.Stage), Refused: c.Refused != "", Stored: c}
		at, err := time.Parse(time.RFC3339, c.At)
		switch early := err == nil && at.In(zone).Format(time.DateOnly) < arrivalOn; {
		case cleared.Stage == OwingWaived:
			cleared.Waived = &money.Amount{Minor: c.OwingMinor, Currency: c.OwingCurrency}
		case early && !cleared.Refused && c.By != clearedByPMS:
			out = slices.DeleteFunc(out, func(former Clearance) bool { return former.Stage == cleared.Stage }) // the clearance does not count, but it took back an earlier refusal
			continue
		}
		out = append(out, cleared)
	}
	return out
}

// day returns the date at a moment, YYYY-MM-DD, in the zone of the property.
func (r *record) day(at time.Time) string { return at.In(r.zone).Format(time.DateOnly) }

// attempt returns what is stored about the latest checkIn call to the PMS. Its State is NoAttempt if there was none.
func (r *record) attempt() Attempt {
	a := Attempt{
		Key: r.stay.AttemptKey, State: AttemptState(r.stay.AttemptState), Calls: r.stay.Attempts,
		Failed: r.stay.Refusal.Reason != "", At: db.OrZero(r.stay.AttemptAt), AcceptedAt: db.OrZero(r.stay.AcceptedAt),
	}
	return a
}

// amount returns a stored amount, or nil if the PMS never sent one.
func amount(minor *int64, currency *string) *money.Amount {
	if minor == nil {
		return nil
	}
	a := &money.Amount{Minor: *minor}
	if currency != nil {
		a.Currency = *currency
	}
	return a
}

// party returns what [Next] needs to know about the guests. Until the form is opened, guests have no row, and one missing guest with the id
// "" represents them.
func (r *record) party() PartyFacts {
	p := PartyFacts{MissingGuestIDs: r.Incomplete(), MinorAlone: r.complete && r.AreAllMinors(), Signs: r.NeedsSignature(), Unsigned: r.Unsigned()}
	if !r.complete {
		p.MissingGuestIDs = append(p.MissingGuestIDs, "")
	}
	return p
}
