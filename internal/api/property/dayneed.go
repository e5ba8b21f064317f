package property

import (
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/readiness"
)

// Limits of what one call spends on finding the arrivals that need staff. A stored result of a check costs little; most arrivals have one.
const (
	attentionRows   = 1000 // how many arrivals of a day are read
	attentionJudged = 50   // how many arrivals without a stored result are checked in addition to those on the page; each takes several statements
	attentionRead   = 30   // how many check-ins that have begun are read; each takes more statements than a check of the doors
)

// attention lists the arrivals of a day that need staff.
type attention struct {
	needy   []string // ids of the reservations that need staff
	checked int      // number of arrivals of which it is known whether they need staff
}

// findNeedingStaff returns which of the first attentionRows arrivals of a day need staff. shown are arrivals for which this is known
// already. Of the others, it checks the doors of at most most without a stored result, and reads at most attentionRead check-ins. If the
// doors or the check-in remain unknown, the arrival counts only if the other of the two needs staff.
func (s *Days) findNeedingStaff(view *db.Tx, of *property.Row, day string, shown []*propertyv1.DayStay, most int) (a attention, err error) {
	all, _, err := reservation.ListDay(view, of, reservation.DayQuery{Day: day, Tab: reservation.Arrivals, Size: attentionRows})
	if err != nil {
		return a, err
	}
	known := map[string]bool{}
	for _, stay := range shown {
		known[stay.GetReservationId()] = true
		a.add(stay.GetReservationId(), stay.GetNeedsStaff())
	}
	var rows []*reservation.Row
	for _, row := range all {
		if !known[row.ID] {
			rows = append(rows, row)
		}
	}
	statuses, err := readiness.Statuses(view, reservation.Service{Keys: s.Keys}, of, rows, most)
	if err != nil {
		return a, err
	}
	briefs, err := s.CheckIns.BriefsUpTo(view, of, rows, attentionRead)
	if err != nil {
		return a, err
	}
	for i, row := range rows {
		needs := needsStaff(access.State(row.State), statuses[i], briefs[i])
		if needs || statuses[i] != "" && briefs[i].Stage != "" { // one of the two is enough to need staff, but both must be known to need none
			a.add(row.ID, needs)
		}
	}
	return a, nil
}

// add counts a checked arrival, and lists it if it needs staff.
func (a *attention) add(reservationID string, needs bool) {
	a.checked++
	if needs {
		a.needy = append(a.needy, reservationID)
	}
}

// needsStaff decides whether a stay needs staff: a door might not open for the guest, the check-in waits for staff, or an open amount will
// stop it. A stay that has ended needs none. status is empty for a departure and for an arrival that was not checked. An empty b does not
// count as waiting.
func needsStaff(state access.State, status readiness.Status, b checkin.Brief) bool {
	if state == access.Processed {
		return false
	}
	doors := status != "" && status != readiness.Ready
	return doors || len(b.Stops) > 0 || b.Owing != nil || b.Stage == checkin.IdentityCheck || b.Stage == checkin.Signature
}
