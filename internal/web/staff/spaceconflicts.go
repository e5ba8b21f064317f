package staff

import (
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// conflictRow is one conflict between the mapping and the spaces that the PMS lists.
type conflictRow struct {
	*propertyv1.Conflict
	Cures []cure
	Stays []*propertyv1.Reservation // the first affected reservations
}

// Chip returns the chip that says what a conflict means for access.
func (c conflictRow) Chip() chip {
	switch c.GetKind() {
	case "newUnmapped":
		return chip{"bad", "✕", "staff.conflict.access"}
	case "missing", "inactive": // the mapping remains until a person changes it
		return chip{"warn", "!", "staff.conflict.unchanged"}
	case "unreadable":
		return chip{"bad", "✕", "staff.conflict.unreadable"}
	}
	return chip{"warn", "!", "staff.conflict.differs"}
}

// More returns the number of affected reservations that the row does not list.
func (c conflictRow) More() int { return len(c.GetReservationIds()) - len(c.Stays) }

// Maximum number of conflicts on a page, and of reservations that each row lists.
const (
	conflictRows  = 20
	conflictStays = 3
)

// addConflicts loads one page of the open conflicts of the chosen PMS into v: the page in the query. Without a PMS it does nothing.
func (x *exchange) addConflicts(v *spacesView, d spacesData) error {
	if d.chosen == nil {
		return nil
	}
	found, err := x.site.api.Mappings.ListConflicts(x.call(), &propertyv1.ListConflictsRequest{
		IntegrationId: d.chosen.GetId(), PageSize: conflictRows, PageToken: x.R.FormValue("conflicts"),
	})
	if err != nil {
		return err
	}
	if v.AllConflicts = found.GetData().GetTotal(); found.GetData().GetNextPageToken() != "" {
		v.OtherOnes = listURL("/app/spaces", "pms", d.chosen.GetId(), "conflicts", found.GetData().GetNextPageToken())
	}
	stays, err := x.staysOf(found.GetData().GetList())
	if err != nil {
		return err
	}
	for _, c := range found.GetData().GetList() {
		row := conflictRow{Conflict: c}
		if v.Manages {
			row.Cures = curesOf(c, d.listed)
		}
		for _, id := range c.GetReservationIds() {
			if stay := stays[id]; stay != nil && len(row.Stays) < conflictStays {
				row.Stays = append(row.Stays, stay)
			}
		}
		v.Conflicts = append(v.Conflicts, row)
	}
	return nil
}

// staysOf loads the reservations that conflicts affect, the first ones of each. The map is by id, and nil if there are none, or if the
// person may not read reservations. It has no deleted reservations.
func (x *exchange) staysOf(conflicts []*propertyv1.Conflict) (map[string]*propertyv1.Reservation, error) {
	var ids []string
	for _, c := range conflicts {
		ids = append(ids, c.GetReservationIds()[:min(len(c.GetReservationIds()), conflictStays)]...)
	}
	if len(ids) == 0 || !x.may("readReservations") {
		return nil, nil
	}
	found, err := x.site.api.Reservations.ListReservations(x.call(), &propertyv1.ListReservationsRequest{Ids: ids, PageSize: 200})
	stays := map[string]*propertyv1.Reservation{}
	for _, r := range found.GetData().GetList() {
		stays[r.GetId()] = r
	}
	return stays, err
}
