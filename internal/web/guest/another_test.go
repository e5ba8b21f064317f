package guest

import (
	"net/http"
	"strings"
	"testing"
)

// A guest makes a link for a further device by pressing a button: opening the page makes none. A device that found the booking at the property
// gets no button.
func TestAnotherDevice(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	const path = "/g/stays/rsv_1/devices/another"
	b.shows("/g/stays/rsv_1/devices", "Open on another device of mine")
	b.shows(path, "Make a link")
	if f.handed != 0 {
		t.Error("opening the page makes a link")
	}
	a := b.do(http.MethodPost, path, formOfLink())
	a.contains(t, "It works once, on one device.")
	if a.status != http.StatusOK || !strings.Contains(a.body, `value="`+b.base+`/g/l/lkl_device"`) || !strings.Contains(a.body, `class="qr"`) || f.handed != 1 {
		t.Errorf("status %d, %d links: %s", a.status, f.handed, a.body)
	}
	f.devices[0].Kind = "device"
	b.shows(path, "Make a link")
	f.devices[0].Kind = "door"
	if a := b.shows(path, "Open the link of the mail"); strings.Contains(a.body, "<button>") {
		t.Error("a device of two facts is offered a link")
	}
}

// A companion without a mail address gets a link that the main guest passes on. A form without an address mails none and shows none.
func TestCompanionByLink(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	const path = "/g/stays/rsv_1/people/gst_2"
	b.shows("/g/stays/rsv_1/people", "Show a link to pass on")
	a := b.do(http.MethodPost, path, form("do", "show"))
	a.contains(t, "A link for this guest", "A former link of this guest no longer works.")
	if !strings.Contains(a.body, `value="`+b.base+`/g/l/lkl_passed"`) {
		t.Errorf("the page has no link: %s", a.body)
	}
	if a := b.do(http.MethodPost, path, form("do", "invite")); a.status != http.StatusUnprocessableEntity || strings.Contains(a.body, "lkl_passed") {
		t.Errorf("a form without an address: status %d", a.status)
	}
	f.stay.SendsNoMail = true
	b.shows("/g/stays/rsv_1/people", "Pass a link on yourself", "Show a link to pass on")
}

// A device without a stay opens a link that is pasted, of this server or in a text around it.
func TestPastedLink(t *testing.T) {
	b := newFake().client(t)
	for _, typed := range []string{"https://stay.example.com/g/l/lkl_a-b_C", " your link: http://x/g/l/lkl_a-b_C. "} {
		b.moves("/g/", form("link", typed), "/g/l/lkl_a-b_C")
	}
	for _, typed := range []string{"", "https://stay.example.com/", `"><b>`} {
		if a := b.do(http.MethodPost, "/g/", form("link", typed)); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "This is not a link of a stay") || strings.Contains(a.body, "<b>") {
			t.Errorf("%q: status %d", typed, a.status)
		}
	}
}

func TestGroupPage(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	if a := b.get("/g/stays/rsv_1"); strings.Contains(a.body, "/group") {
		t.Error("a stay without a group leads to one")
	}
	f.stay.GroupRooms = 2
	b.shows("/g/stays/rsv_1", "Rooms of your group")
	b.shows("/g/stays/rsv_1/group", "Room 204 Ready", "Details complete: 2 of 2", "Your room", "Not assigned yet To do", "Details complete: 0 of 3")
}

// A guest sees which devices open the stay and how each began, ends one, and then all others. This device stays.
func TestDevices(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	const path = "/g/stays/rsv_1/devices"
	b.shows("/g/stays/rsv_1", "Devices that open this stay")
	b.shows(path, "iPhone This device", "link of the mail", "Since Thu 19 Nov, 09:00. Last used Fri 20 Nov, 11:00.", "Android", "QR code at the door", "Device without a name",
		"End access Android", "End access of all other devices")
	f.stay.Guests[0].Role = "companion"
	if a := b.shows(path, "iPhone This device", "It opened the link that you got."); strings.Contains(a.body, "link of the mail") {
		t.Errorf("a companion's device opened a link that may have been passed on: %s", plain(a.body))
	}
	f.stay.Guests[0].Role = "main"
	b.moves(path, form(), path)
	if f.ended != 0 || len(f.devices) != 3 {
		t.Fatalf("a form without a choice ended %d sessions and left %d devices", f.ended, len(f.devices))
	}
	b.moves(path, form("device", "gse_2"), path)
	b.moves(path, form("device", "gse_2"), path) // it has ended
	if a := b.shows(path, "iPhone", "Device without a name"); strings.Contains(a.body, "Android") || strings.Contains(a.body, "End access of all") {
		t.Errorf("after one ended: %s", plain(a.body))
	}
	b.moves(path, form("others", "yes"), path)
	b.shows(path, "iPhone This device", "No other device opens your stay")
	if f.ended != 0 {
		t.Error("this device was ended")
	}
}
