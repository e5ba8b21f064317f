package guest

import (
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// ledgerView is what the PMS got of the guests' data, and what it asked for.
type ledgerView struct {
	Lines   []ledgerLine
	Several bool // the lines are about several guests
	Partial bool // the device found the booking at the property, so the API shows it no line
	Full    bool // older lines are left out
}

// ledgerLine is one line of the ledger.
type ledgerLine struct {
	*guestv1.Disclosure
	Guest *guestv1.StayGuest
}

// Kind is what happened: checkIn, read, or why a read got nothing.
func (l ledgerLine) Kind() string {
	if l.GetRefused() != "" {
		return "refused." + l.GetRefused()
	}
	return l.GetWhy()
}

// Count is the number of reads in the line.
func (l ledgerLine) Count() int { return int(l.GetTimes()) }

// showLedger shows who read the data of the guests whom the device sees.
func (s *site) showLedger(x *exchange) error {
	found, err := s.api.Stays.ListDisclosures(x.callContext(), &guestv1.ListDisclosuresRequest{})
	if err != nil {
		return err
	}
	list := found.GetData()
	v := ledgerView{Partial: list.GetPartial(), Full: list.GetMore()}
	for _, d := range list.GetList() {
		v.Lines = append(v.Lines, ledgerLine{Disclosure: d, Guest: x.flow.guest(d.GetGuestId())})
		v.Several = v.Several || d.GetGuestId() != list.GetList()[0].GetGuestId()
	}
	p := x.stayPage("web.ledger.title")
	p.Data = v
	return x.render(http.StatusOK, "ledger", p)
}
