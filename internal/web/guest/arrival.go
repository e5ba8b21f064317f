package guest

import (
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// hours returns the choices of the arrival time: every full hour.
func hours() (all []string) {
	for h := range 24 {
		all = append(all, string([]byte{'0' + byte(h/10), '0' + byte(h%10)})+":00")
	}
	return all
}

// showArrival handles the page that asks for the arrival time.
func (s *site) showArrival(x *exchange) error {
	if x.HasTyped() {
		x.flow.Stay.ArrivalTime = x.Value("time")
	}
	return x.arrivalPage(http.StatusOK, "")
}

// arrivalPage renders the page that asks for the arrival time. problem is the message kind of the error in the posted time, or "".
func (x *exchange) arrivalPage(status int, problem string) error {
	p := x.stayPage("web.arrival.title")
	if problem != "" {
		p.Wrong = []wrong{{ID: "f-time", Text: p.T(problem)}}
	}
	p.Data, p.Keeps = hours(), true
	return x.render(status, "arrival", p)
}

// saveArrival stores the chosen arrival time, and redirects to the first page of the stay. A time that the API refuses is no choice of the
// page: the page is shown again with the stored time and an error.
func (s *site) saveArrival(x *exchange) error {
	_, err := s.api.Forms.SetArrival(x.callContext(), &guestv1.SetArrivalRequest{Time: x.Value("time")})
	if err != nil && s.Fault(err).Kind == fault.Invalid {
		return x.arrivalPage(http.StatusUnprocessableEntity, "problem.notAnOption")
	}
	if err != nil {
		return err
	}
	return x.Redirect(x.flow.Home())
}
