package guest

import (
	"net/http"
	"net/url"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// ledgerView is the ledger: the list of the PMS's reads of guests' data, including refused reads.
type ledgerView struct {
	Lines   []ledgerLine
	Several bool   // each line names its guest, because the lines are about several guests
	Partial bool   // the guest found the booking with number and name at the property: such a device sees no line of the ledger
	Older   string // URL of the page with older lines, or ""
	Newest  string // URL of the first page, or "" on that page
}

// ledgerLine is one line of the ledger.
type ledgerLine struct {
	*guestv1.Disclosure
	Guest *guestv1.StayGuest
}

// Kind returns why the PMS read the data: checkIn or read, or refused.REASON for a refused read.
func (l ledgerLine) Kind() string {
	if l.GetRefused() != "" {
		return "refused." + l.GetRefused()
	}
	return l.GetWhy()
}

// Count returns how many equal reads within an hour the line combines.
func (l ledgerLine) Count() int { return int(l.GetTimes()) }

// showLedger handles the ledger, the list of reads by the PMS. It has the reads of those guests' data that this device may see.
func (s *site) showLedger(x *exchange) error {
	first, token := x.flow.Below("ledger"), x.R.URL.Query().Get("page")
	found, err := s.api.Stays.ListDisclosures(x.callContext(), &guestv1.ListDisclosuresRequest{PageToken: token})
	if err != nil {
		return err
	}
	list := found.GetData()
	if token != "" && len(list.GetList()) == 0 { // the lines of this page were erased with a guest's data
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
		v.Lines = append(v.Lines, ledgerLine{Disclosure: d, Guest: x.flow.Guest(d.GetGuestId())})
		v.Several = v.Several || d.GetGuestId() != list.GetList()[0].GetGuestId()
	}
	p := x.stayPage("web.ledger.title")
	p.Data = v
	return x.render(http.StatusOK, "ledger", p)
}
