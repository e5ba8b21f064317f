package web_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

// A guest sees the other devices that open the stay, and ends one, with and without script. That device then reads nothing.
func TestGuestEndsADevice(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	_, door, _ := strings.Cut(w.enrol().Text(), w.Base+"/q/")
	door = w.Base + "/q/" + strings.Fields(door)[0]

	guest := browser.Open(t, browser.WithSize(browser.Phone), browser.WithoutScript)
	guest.Visit(w.link())
	guest.Next("Open my stay", "Your stay")
	other := func() *browser.Page {
		p := browser.Open(t, browser.WithSize(browser.Phone))
		p.Visit(door)
		w.findAt(p, "1001", "Lovelace")
		p.WaitHeading("Your stay")
		return p
	}
	stranger := other()
	stranger.Next("Devices that open this stay", "Devices that open this stay")
	if stranger.Has("button[name=device]") || !strings.Contains(stranger.Text(), "sees only itself") {
		t.Errorf("a device that found the booking at the door sees others: %s", stranger.Text())
	}

	guest.Next("Devices that open this stay", "Devices that open this stay")
	guest.WaitText("QR code at the door")
	guest.Screenshot("devices")
	guest.Click("End access " + offeredName(guest))
	guest.WaitText("No other device")
	stranger.Tolerate("status of 410")
	stranger.Reload()
	stranger.WaitHeading("This device no longer opens the stay")
	stranger.Axe()
	if strings.Contains(stranger.Text(), "Room 101") {
		t.Errorf("the ended device reads: %s", stranger.Text())
	}

	second, third := other(), other()
	guest.Reload()
	guest.Click("End access of all other devices")
	guest.WaitText("No other device")
	for _, p := range []*browser.Page{second, third} {
		p.Tolerate("status of 410")
		p.Reload()
		p.WaitHeading("This device no longer opens the stay")
	}
	guest.Next("Back", "Your stay")
}

// offeredName returns the name of the device that the page offers to end.
func offeredName(p *browser.Page) string {
	_, name, _ := strings.Cut(p.HTML(), `name="device"`)
	_, name, _ = strings.Cut(name, `class="hidden"> `)
	name, _, _ = strings.Cut(name, "<")
	return name
}
