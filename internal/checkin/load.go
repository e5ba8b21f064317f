package checkin

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// Key names a reservation of a property.
type Key struct {
	PropertyID, ReservationID string
}

// record is all that is stored about a check-in.
type record struct {
	stay        *ent.Stay // stay has no id if no row is stored
	reservation *ent.Reservation
	property    *ent.Property
	settings    *property.CheckInSettings
	guests      []*ent.Guest
	zone        *time.Location
}

// load reads a check-in.
func (s *Service) load(tx *db.Tx, k Key) (*record, error) {
	var err error
	r := &record{}
	if r.reservation, err = reservation.Get(tx, reservation.Scope{PropertyID: k.PropertyID}, k.ReservationID); err != nil {
		return nil, err
	}
	if r.property, err = property.Get(tx, k.PropertyID); err != nil {
		return nil, err
	}
	if r.zone, err = clock.Zone(r.property.TimeZone); err != nil {
		return nil, fmt.Errorf("property %s: %w", k.PropertyID, err)
	}
	if r.settings, err = property.GetCheckInSettings(tx, k.PropertyID); err != nil {
		return nil, err
	}
	r.stay, err = tx.Stay.Query().Where(entstay.PropertyID(k.PropertyID), entstay.ReservationID(k.ReservationID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		r.stay, err = &ent.Stay{PropertyID: k.PropertyID, ReservationID: k.ReservationID}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the stay of %s: %w", k.ReservationID, err)
	}
	r.guests, err = tx.Guest.Query().Where(entguest.PropertyID(k.PropertyID), entguest.ReservationID(k.ReservationID)).
		Order(entguest.ByPosition(), entguest.ByID()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the guests of %s: %w", k.ReservationID, err)
	}
	return r, nil
}

// facts returns what decides about the check-in at a moment.
func (r *record) facts(now time.Time) Facts {
	f := Facts{
		Now: now,
		Reservation: ReservationFacts{
			State: r.reservation.State, Today: r.day(now), ArrivalOn: r.day(r.reservation.FromAt), To: r.reservation.ToAt, ChangedAt: r.reservation.UpdatedAt,
			Owing: amount(r.reservation.OwingMinor, r.reservation.OwingCurrency),
		},
		Party: r.party(),
		Rules: Rules{
			IdentityCheck: r.settings.IdentityCheck, Signature: r.settings.Signature, HouseRules: r.settings.HouseRules != "",
			Policy: Policy{Owing: OwingRule(r.property.OwingPolicy), Threshold: r.property.OwingThresholdMinor},
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
	for _, c := range r.stay.Cleared {
		f.Cleared = append(f.Cleared, Clearance{Stage: Stage(c.Stage), Refused: c.Refused != ""})
	}
	return f
}

func (r *record) day(at time.Time) string { return at.In(r.zone).Format(time.DateOnly) }

func (r *record) attempt() Attempt {
	a := Attempt{
		Key: r.stay.AttemptKey, State: AttemptState(r.stay.AttemptState), Calls: r.stay.Attempts,
		Failed: r.stay.Refusal.Reason != "", At: timeOrZero(r.stay.AttemptAt), AcceptedAt: timeOrZero(r.stay.AcceptedAt),
	}
	return a
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

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

// party returns what the rules need to know about the guests. A stay whose form nobody opened lacks its main guest.
func (r *record) party() PartyFacts {
	var p PartyFacts
	adults := 0
	for _, g := range r.guests {
		if !g.Child {
			adults++
		}
		if !g.Complete && r.mustFill(g) {
			p.MissingGuestIDs = append(p.MissingGuestIDs, g.ID)
		}
	}
	if len(r.guests) == 0 {
		p.MissingGuestIDs = []string{""}
	}
	p.MinorAlone = len(r.guests) > 0 && adults == 0
	p.Signs = r.settings.Signature != "none"
	return p
}

// mustFill reports whether the property's settings require the answers of a guest.
func (r *record) mustFill(g *ent.Guest) bool {
	switch r.settings.WhoFills {
	case "lead":
		return g.Role == "main"
	case "adults":
		return !g.Child
	}
	return true
}
