package guest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// The guest reads what the booking system got and when, and why it got nothing.
func TestLedger(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if !strings.Contains(b.shows("/g/stays/rsv_1", "Who read my data").body, `href="/g/stays/rsv_1/ledger"`) {
		t.Error("the page of the stay has no link to the ledger")
	}
	reads := func(list *guestv1.DisclosureList, texts ...string) string {
		t.Helper()
		f.ledger = list
		return plain(b.shows("/g/stays/rsv_1/ledger", texts...).body)
	}
	reads(&guestv1.DisclosureList{}, "Mews is the property’s booking system.", "The booking system has got none of your data, and has not asked.")
	reads(&guestv1.DisclosureList{Partial: true}, "This device found the booking at the property")
	one := reads(&guestv1.DisclosureList{List: []*guestv1.Disclosure{
		{GuestId: "gst_1", Why: "read", Groups: []string{"identity", "contact"}, At: f.stay.GetFrom(), Times: 3, LastAt: f.stay.GetTo()},
		{GuestId: "gst_1", PartnerName: "Mews", Why: "checkIn", Groups: []string{"identity"}, At: f.stay.GetFrom(), Times: 1},
		{GuestId: "gst_1", PartnerName: "Cloudbeds", Why: "read", Groups: []string{"home"}, At: f.stay.GetFrom(), Times: 1},
		{GuestId: "gst_1", PartnerName: "Own scripts", OwnPrograms: true, Why: "read", Groups: []string{"home"}, At: f.stay.GetFrom(), Times: 1},
		{GuestId: "gst_1", Why: "read", Refused: "outsideStay", At: f.stay.GetFrom(), Times: 1},
		{GuestId: "gst_1", Why: "read", Refused: "notShared", At: f.stay.GetFrom(), Times: 1},
		{GuestId: "gst_1", Why: "somethingNew", Groups: []string{"shoeSize"}, At: f.stay.GetFrom(), Times: 1},
	}}, "Sat 21 Nov, 15:00 It read these: Your name and citizenship How to reach you 3 times, the last on Mon 23 Nov, 11:00.",
		"It got these with your check-in: Your name and citizenship", "because you were not staying here then", "because nothing is shared with it", "Other details",
		"By Cloudbeds, another system of the property It read these:", "By a program of the property itself It read these:")
	f.stay.PartnerName, f.stay.OwnPrograms = "Own scripts", true
	for _, path := range []string{"/g/stays/rsv_1/ledger", "/g/stays/rsv_1/form/share"} {
		if own := b.shows(path, "booking system").body; strings.Contains(own, "Own scripts") {
			t.Errorf("%s names the built-in integration: %s", path, plain(own))
		}
	}
	f.stay.PartnerName, f.stay.OwnPrograms = "Mews", false
	if strings.Contains(one, "By Mews") {
		t.Errorf("the booking system is named in its own lines: %s", one)
	}
	if strings.Contains(one, "Ana") {
		t.Errorf("the lines of one guest name the guest: %s", one)
	}
	several := &guestv1.DisclosureList{More: true, NextPageToken: "older+", List: []*guestv1.Disclosure{
		{GuestId: "gst_1", Why: "read", Groups: []string{"identity"}, At: timestamppb.New(f.now), Times: 1},
		{GuestId: "gst_2", Why: "read", Groups: []string{"identity"}, At: timestamppb.New(f.now), Times: 1},
	}}
	reads(several, "Fri 20 Nov, 12:00 · Ana Silva", "· Adult", "Older entries")
	const older = "/g/stays/rsv_1/ledger?page=older%2B"
	if first := b.shows("/g/stays/rsv_1/ledger", "Older entries").body; !strings.Contains(first, `href="`+older+`"`) || strings.Contains(first, "Newest entries") {
		t.Errorf("the first page has no link to older lines, or one to itself: %s", first)
	}
	several.NextPageToken = ""
	last := b.shows(older, "Newest entries", "Ana Silva").body
	if f.ledgerPage != "older+" || strings.Contains(last, "Older entries") || !strings.Contains(last, `href="/g/stays/rsv_1/ledger"`) {
		t.Errorf("the last page asks for %q, or links to older lines, or not to the first page: %s", f.ledgerPage, last)
	}
	f.ledger = &guestv1.DisclosureList{}
	if answer := b.get(older); answer.moved != "/g/stays/rsv_1/ledger" {
		t.Errorf("a page without lines answers %+v, not with the way to the first page", answer)
	}
}
