package guest

import (
	"strings"
	"testing"
)

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
