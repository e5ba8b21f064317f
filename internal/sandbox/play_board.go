package sandbox

import (
	"cmp"
	"net/http"
	"slices"

	"google.golang.org/grpc/status"
)

// boardView is what the template shows of the whole play page.
type boardView struct {
	Property, HTTP, PMS           string
	Bookings                      []bookingView
	Stays                         []stayView
	Places                        []option
	Mails                         []mailRow
	Doors                         []doorView
	Keys                          []option
	Door, KioskCode, Tablet       string // Door and KioskCode are as in World.kiosk; Tablet is notEnrolled, online or offline
	Dashboard, StaffLink          string
	DeskNote, MailNote, KioskNote note
	StayNote, StaffNote           note
}

// showBoard handles GET /, the page with all sections.
func (p *play) showBoard(rw http.ResponseWriter, r *http.Request) {
	bookings := p.w.PMS.Bookings()
	b := &boardView{
		Property: demoProperty, HTTP: "http://" + p.w.Server.HTTPAddr(), PMS: p.w.PMSURL(), Places: places(""), Doors: p.viewDoors(), Keys: keypadKeys,
		Dashboard: p.w.DashboardURL(),
	}
	b.Door, b.KioskCode = p.w.kiosk()
	p.mu.Lock()
	b.DeskNote, b.MailNote, b.KioskNote = p.notes["desk"], p.notes["mailbox"], p.notes["kiosk"]
	b.StayNote, b.StaffNote = p.notes["stay"], p.notes["staff"]
	opened, openedStay := p.opened, p.openedStay
	p.mu.Unlock()
	var err error
	if b.Tablet, err = p.w.tabletState(r.Context()); err != nil {
		b.KioskNote = note{"bad", "The tablet's state could not be read: " + status.Convert(err).Message()}
	}
	slices.SortStableFunc(bookings, func(x, y Booking) int { return cmp.Compare(rank(x), rank(y)) })
	for _, one := range bookings {
		b.Bookings = append(b.Bookings, viewBooking(one, one.ID == opened))
	}
	if b.Stays, err = p.viewStays(r.Context(), bookings, openedStay); err != nil {
		b.StayNote = note{"bad", "The stays could not be read: " + status.Convert(err).Message()}
	}
	if b.StaffLink, err = p.unusedStaffLink(r.Context()); err != nil {
		b.StaffNote = note{"bad", "The people of the staff could not be read: " + status.Convert(err).Message()}
	}
	mails, err := p.mails(r.Context())
	if err != nil {
		b.MailNote = note{"bad", "The mails could not be read: " + status.Convert(err).Message()}
	}
	b.Mails = mails
	p.render(rw, pageView{Title: demoProperty + ": a place to play", Board: b})
}

// rank returns the position of a reservation on the page by its state: confirmed and unknown states first, then started, then those that
// have ended.
func rank(b Booking) int {
	return max(0, slices.Index([]string{"confirmed", "started", "processed", "canceled"}, b.Text("state")))
}
