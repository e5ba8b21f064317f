package staff

import (
	"net/http"
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

type reservationsView struct {
	Query string
	Day   string // YYYY-MM-DD, or "" for all days
	All   string // URL of the list without the day
	List  []*propertyv1.Reservation
	Next  string
	// Inspects means that the person may read the guest register.
	Inspects bool
}

// showReservations handles the search for reservations by name, number or room, by day, or by both. Without these it lists all, the latest
// arrival first.
func (s *site) showReservations(x *exchange) error {
	q := x.R.URL.Query()
	size := x.pageSize(usualRows, mostFullRows)
	v := reservationsView{Query: q.Get("q"), Day: q.Get("day"), All: listURL("/app/reservations", "q", q.Get("q")), Inspects: x.may("inspectRegister")}
	p, status := x.newPage("staff.area.reservations"), http.StatusOK
	found, err := s.api.Reservations.ListReservations(x.call(), &propertyv1.ListReservationsRequest{Query: v.Query, Date: v.Day, PageSize: int32(size), PageToken: q.Get("page")})
	if f := s.Fault(err); err != nil && slices.ContainsFunc(f.Fields, func(field fault.Field) bool { return field.Path == "date" }) {
		status, p.Wrong = http.StatusUnprocessableEntity, []kit.Wrong{{ID: "day", Label: p.T("staff.today.pick"), Text: p.T("staff.found.noDay")}}
	} else if err != nil {
		return err
	}
	v.List = found.GetData().GetList()
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/reservations", "q", v.Query, "day", v.Day, "page", next)
	}
	p.Here, p.Data = "reservations", v
	x.resizable(p, size, mostFullRows, len(v.List), v.Next != "")
	return x.render(status, "reservations", p)
}
