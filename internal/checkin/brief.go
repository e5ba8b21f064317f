package checkin

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/partner"
)

// Brief is a short form of a check-in, for lists.
type Brief struct {
	Stage        Stage
	Stops        []StopReason
	Owing        *money.Amount // Owing is the amount that stops the check-in, or will stop a guest who checks in alone and has not begun; nil: none does
	FormComplete bool          // FormComplete means that no required answer of the guests is missing
	ArrivalTime  string        // ArrivalTime is HH:MM in the property's zone, as the guests said, or empty
	BeganAt      time.Time     // BeganAt is when the guest began at the property, or zero
}

// Briefs returns the check-ins of reservations of one property, in the order of rows. Only check-ins that guests have begun are read in
// full, so that a list of a day needs few statements.
func (s *Service) Briefs(view *db.Tx, property *ent.Property, rows []*ent.Reservation) ([]Brief, error) {
	return s.BriefsUpTo(view, property, rows, len(rows))
}

// BriefsUpTo is like Briefs, but reads no more than most check-ins in full, because each of them takes several statements. The Stage of a
// further check-in that has begun and not ended is empty.
func (s *Service) BriefsUpTo(view *db.Tx, property *ent.Property, rows []*ent.Reservation, most int) ([]Brief, error) {
	zone, err := clock.Zone(property.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", property.ID, err)
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	found, err := view.Stay.Query().Where(entstay.PropertyID(property.ID), entstay.ReservationIDIn(ids...)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the check-ins of a list: %w", err)
	}
	stays := map[string]*ent.Stay{}
	for _, stay := range found {
		stays[stay.ReservationID] = stay
	}
	out := make([]Brief, len(rows))
	for i, row := range rows {
		f := briefFacts(view.Now(), zone, policyOf(property), row, stays[row.ID])
		if out[i], err = s.brief(view, f, row, stays[row.ID], &most); err != nil {
			return nil, err
		}
	}
	return out, forgetDeskAmounts(view, property.ID, rows, out)
}

// forgetDeskAmounts removes the amounts that will stop a check-in from briefs of guests who cannot check in by themselves, because their
// PMS has registered no checkIn. They pay when the desk checks them in. briefs are in the order of rows.
func forgetDeskAmounts(view *db.Tx, propertyID string, rows []*ent.Reservation, briefs []Brief) error {
	if !slices.ContainsFunc(briefs, Brief.willStop) {
		return nil
	}
	endpoints, err := partner.EndpointsOf(view, propertyID)
	if err != nil {
		return err
	}
	for i := range briefs {
		alone := slices.ContainsFunc(endpoints[rows[i].IntegrationID], func(e partner.Endpoint) bool { return e.Action == partner.CheckIn })
		if briefs[i].willStop() && !alone {
			briefs[i].Owing = nil
		}
	}
	return nil
}

// willStop reports whether an open amount will stop a check-in that has not begun.
func (b Brief) willStop() bool {
	return b.Owing != nil && (b.Stage == NotToday || b.Stage == NotStarted)
}

// briefFacts returns what a list knows about a check-in without reading it in full. stay is what is stored about it, or nil.
func briefFacts(now time.Time, zone *time.Location, policy Policy, row *ent.Reservation, stay *ent.Stay) Facts {
	day := func(at time.Time) string { return at.In(zone).Format(time.DateOnly) }
	f := Facts{Now: now, Rules: Rules{Policy: policy}, Reservation: ReservationFacts{
		State: row.State, Today: day(now), ArrivalOn: day(row.FromAt), To: row.ToAt, Owing: amount(row.OwingMinor, row.OwingCurrency),
	}}
	if stay != nil {
		f.Cleared = clearances(stay.Cleared, f.Reservation.ArrivalOn, zone)
	}
	return f
}

// brief returns one check-in. f is from briefFacts, and stay is what is stored about the check-in, or nil. most is how many check-ins may
// still be read in full; brief counts it down. If none may, a check-in that has begun and not ended has no Stage.
func (s *Service) brief(view *db.Tx, f Facts, row *ent.Reservation, stay *ent.Stay, most *int) (Brief, error) {
	step := Next(f)
	var b Brief
	if stay != nil {
		b = Brief{FormComplete: stay.FormCompletedAt != nil, ArrivalTime: stay.ArrivalTime, BeganAt: db.OrZero(stay.BeganAt)}
		if step.Stage == NotStarted && stay.BeganAt != nil {
			if *most--; *most < 0 {
				return b, nil
			}
			r, err := s.load(view, Key{row.PropertyID, row.ID})
			if err != nil {
				return b, err
			}
			step = Next(r.facts(f.Now))
		}
	}
	b.Stage = step.Stage
	if step.Stage == NotToday || step.Stage == NotStarted {
		b.Owing = f.stoppingAmount(f.Reservation.Owing)
	}
	for _, stop := range step.Stops {
		b.Stops = append(b.Stops, stop.Reason)
		if stop.Reason == StopOwing {
			b.Owing = stop.Owing
		}
	}
	return b, nil
}
