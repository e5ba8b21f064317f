package staff

import (
	"net/http"
	"slices"

	"github.com/boombuler/barcode/qr"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// testStayView is the page of the test stay, with which staff try out an arrival.
type testStayView struct {
	Stay   *propertyv1.TestStay // nil: none is open
	Doors  []testDoorRow
	Rooms  []kit.Option // rooms and beds that guests can book; nil while a test stay is open
	Link   string       // the guest's link, shown only once
	QR     kit.QR
	Refuse string // kind of the message about why the action was refused, or ""
}

// testDoorRow is a door of the test stay.
type testDoorRow struct {
	*propertyv1.TestDoor
	Chip chip
}

// isProven reports whether a door of a test stay was opened with its code.
func isProven(s *propertyv1.TestStay) bool {
	return slices.ContainsFunc(s.GetDoors(), func(d *propertyv1.TestDoor) bool { return d.GetPin() == "used" })
}

// testStay returns the open test stay, or nil without an error if there is none.
func (x *exchange) testStay() (*propertyv1.TestStay, error) {
	found, err := x.site.api.TestStays.GetTestStay(x.call(), &propertyv1.GetTestStayRequest{})
	if err != nil {
		if x.site.Fault(err).Reason == fault.ReservationNotFound {
			return nil, nil
		}
		return nil, err
	}
	return found.GetData(), nil
}

// testDoorChip returns the chip for what is known of the code at a door of the test stay.
func testDoorChip(d *propertyv1.TestDoor) chip {
	switch {
	case d.GetPin() != "":
		return evidenceChip(d.GetPin())
	case d.GetReason() == "noLock":
		return spaceRow{}.NoLock()
	}
	return evidenceChip("planned")
}

// bookable returns the rooms and beds that guests can book, as choices. Dorms and inactive rooms are left out.
func bookable(own []*propertyv1.Space) (choices []kit.Option) {
	names := fullNames(own)
	for _, s := range own {
		if s.GetType() == "Dorm" || !s.GetIsActive() {
			continue
		}
		choices = append(choices, kit.Option{Value: s.GetId(), Text: names[s.GetId()]})
	}
	return choices
}

// showTestStay handles the page of the test stay.
func (s *site) showTestStay(x *exchange) error { return x.testStayPage(http.StatusOK, testStayView{}) }

// testStayPage renders the page of the test stay. v may have the guest's link, or why an action was refused.
func (x *exchange) testStayPage(status int, v testStayView) (err error) {
	if v.Stay, err = x.testStay(); err != nil {
		return err
	}
	for _, d := range v.Stay.GetDoors() {
		v.Doors = append(v.Doors, testDoorRow{d, testDoorChip(d)})
	}
	if v.Stay == nil {
		own, err := x.ownSpaces()
		if err != nil {
			return err
		}
		v.Rooms = bookable(own)
	}
	p := x.newPage("staff.testStay.title")
	p.Here, p.Back, p.Data, p.secret = "setup", "/app/setup", v, v.Link != ""
	return x.render(status, "teststay", p)
}

// changeTestStay handles the forms of the test stay: book it (the response shows the guest's link once), check its guest in, and end it. If
// it has ended already, that is no error.
func (s *site) changeTestStay(x *exchange) (err error) {
	switch x.Value("do") {
	case "start":
		made, err := s.api.TestStays.StartTestStay(x.call(), &propertyv1.StartTestStayRequest{SpaceId: x.Value("room")})
		if err != nil {
			if f := s.Fault(err); f.Kind == fault.Invalid || f.Reason == fault.SpaceNotFound {
				return x.testStayPage(http.StatusUnprocessableEntity, testStayView{Refuse: "staff.testStay.noRoom"})
			}
			return err
		}
		link := x.Address("/g/l/" + made.GetLink())
		return x.testStayPage(http.StatusOK, testStayView{Link: link, QR: kit.DrawQR(link, qr.M, qr.Auto)})
	case "checkIn":
		_, err = s.api.TestStays.CheckInTestStay(x.call(), &propertyv1.CheckInTestStayRequest{})
	case "end":
		_, err = s.api.TestStays.EndTestStay(x.call(), &propertyv1.EndTestStayRequest{})
	}
	if err != nil && s.Fault(err).Reason != fault.ReservationNotFound { // the test stay has ended already, which is no error
		return err
	}
	return x.Redirect("/app/setup/arrival")
}
