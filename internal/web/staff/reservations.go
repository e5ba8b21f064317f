package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type reservationsView struct {
	Query string
	List  []*propertyv1.Reservation
	Next  string
	// Inspects means that the person may read the guest register.
	Inspects bool
}

// showReservations finds reservations by name or number, and lists the latest without a question.
func (s *site) showReservations(x *exchange) error {
	q := x.R.URL.Query()
	size := x.pageSize(usualRows, mostRows)
	found, err := s.api.Reservations.ListReservations(x.call(), &propertyv1.ListReservationsRequest{Query: q.Get("q"), PageSize: int32(size), PageToken: q.Get("page")})
	if err != nil {
		return err
	}
	v := reservationsView{Query: q.Get("q"), List: found.GetData().GetList(), Inspects: x.may("inspectRegister")}
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/reservations", "q", v.Query, "page", next)
	}
	p := x.newPage("staff.area.reservations")
	p.Here, p.Data = "reservations", v
	x.resizable(p, size, mostRows, len(v.List), v.Next != "")
	return x.render(http.StatusOK, "reservations", p)
}
