package guest

import (
	"net/http"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// findView is the search for a booking by its number and the guest's name, at a door's QR code or at a kiosk.
type findView struct {
	Action       string            // URL to which the form is posted
	Number, Name string            // as typed
	NotFound     bool              // no booking matches, or an input is empty
	TooMany      bool              // too many searches failed
	Wait         time.Duration     // if TooMany: the time until the next attempt
	Challenge    string            // at a kiosk: random text that the tablet's key signs
	Choices      []*guestv1.Choice // the bookings that match, if there are several
}

// showDoor handles the page behind the QR code at a door, which searches for a booking.
func (s *site) showDoor(x *exchange) error {
	door, err := s.api.Links.GetDoor(x.callContext(), &guestv1.GetDoorRequest{Door: x.R.PathValue("door")})
	if err != nil {
		return err
	}
	return x.find(http.StatusOK, door.GetData(), findView{Action: "/q/" + x.R.PathValue("door"), Number: x.Value("number"), Name: x.Value("name")})
}

// find renders the search form or, if v has several matching bookings, their list. face is the property's public data.
func (x *exchange) find(status int, face *guestv1.PropertyFace, v findView) error {
	title, name := "web.find.title", "find"
	if len(v.Choices) > 0 {
		title, name = "web.which.title", "which"
	}
	p := x.newPage(face, title)
	switch {
	case v.TooMany:
		p.Wrong = []wrong{p.tooMany(v.Wait)}
	case v.NotFound:
		p.Wrong = []wrong{{ID: "f-number", Text: p.T("web.find.notFound")}}
	}
	if x.flow.Kiosk {
		p.Back = "/k/"
		p.Idle = "guest"
	}
	p.Data, p.Keeps = v, name == "find"
	return x.render(status, name, p)
}

// tooMany returns the error that too many searches failed. wait is the time until the guest may search again.
func (p *page) tooMany(wait time.Duration) wrong {
	minutes := max(1, int((wait+time.Minute-1)/time.Minute))
	switch {
	case wait > 2*time.Hour:
		return wrong{Title: p.T("web.find.tooMany.title"), Text: p.T("web.find.tooManyToday")}
	case p.Kiosk:
		return wrong{Title: p.T("web.find.kiosk.title", "minutes", minutes), Text: p.T("web.find.kiosk")}
	}
	return wrong{Title: p.T("web.find.tooMany.title"), Text: p.T("web.find.tooMany", "minutes", minutes)}
}

// findAtDoor handles the search form at a door. It opens a found stay on this device, and stores the door for a later search. If several
// bookings match, the guest chooses one from a list.
func (s *site) findAtDoor(x *exchange) error {
	path := x.R.PathValue("door")
	door, err := s.api.Links.GetDoor(x.callContext(), &guestv1.GetDoorRequest{Door: path})
	if err != nil {
		return err
	}
	v := findView{Action: "/q/" + path, Number: x.Value("number"), Name: x.Value("name")}
	if v.Number == "" || v.Name == "" {
		v.NotFound = true
		return x.find(http.StatusUnprocessableEntity, door.GetData(), v)
	}
	found, err := s.api.Links.FindStay(x.callContext(), &guestv1.FindStayRequest{Door: path, Number: v.Number, FamilyName: v.Name, Choice: x.Value("choice"), Device: kit.DeviceOf(x.R.UserAgent())})
	if err != nil {
		return x.notFoundHere(err, door.GetData(), v)
	}
	if v.Choices = found.GetData().GetChoices(); len(v.Choices) > 0 {
		return x.find(http.StatusOK, door.GetData(), v)
	}
	if id := found.GetData().GetSession().GetStayId(); cookieID.MatchString(id) {
		x.SetCookie(doorCookie+id, path, x.site.Now().Add(stayCookieAge))
	}
	return x.openSession(found.GetData().GetSession())
}

// notFoundHere shows the search form again after a failed search at a door's QR code, or after too many. The page does not reveal whether
// number or name was wrong. It returns other errors unchanged.
func (x *exchange) notFoundHere(err error, face *guestv1.PropertyFace, v findView) error {
	f := x.site.Fault(err)
	switch f.Kind {
	case fault.NotFound, fault.Invalid, fault.Precondition:
		v.NotFound = true
	case fault.Exhausted:
		v.TooMany, v.Wait = true, f.RetryAfter
	default:
		return err
	}
	return x.find(http.StatusUnprocessableEntity, face, v)
}
