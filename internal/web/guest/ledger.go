package guest

import (
	"net/http"
	"net/url"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// ledgerView is what the PMS got of the guests' data, and what it asked for.
type ledgerView struct {
	Lines   []ledgerLine
	Several bool   // the lines are about several guests
	Partial bool   // the device found the booking at the property, so the API shows it no line
	Older   string // the URL of the page with older lines, or empty
	Newest  string // the URL of the first page, or empty on it
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

// showLedger shows a page of who read the data of the guests whom the device sees.
func (s *site) showLedger(x *exchange) error {
	first, token := x.flow.Below("ledger"), x.R.URL.Query().Get("page")
	found, err := s.api.Stays.ListDisclosures(x.callContext(), &guestv1.ListDisclosuresRequest{PageToken: token})
	if err != nil {
		return err
	}
	list := found.GetData()
	if token != "" && len(list.GetList()) == 0 { // the lines were erased with a guest
		return x.Redirect(first)
	}
	v := ledgerView{Partial: list.GetPartial()}
	if token != "" {
		v.Newest = first
	}
	if next := list.GetNextPageToken(); next != "" {
		v.Older = first + "?" + url.Values{"page": {next}}.Encode()
	}
	for _, d := range list.GetList() {
		v.Lines = append(v.Lines, ledgerLine{Disclosure: d, Guest: x.flow.guest(d.GetGuestId())})
		v.Several = v.Several || d.GetGuestId() != list.GetList()[0].GetGuestId()
	}
	p := x.stayPage("web.ledger.title")
	p.Data = v
	return x.render(http.StatusOK, "ledger", p)
}
