package web_test

import (
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/browser"
)

// playground starts the demo.
func playground(t *testing.T) *sandbox.World {
	t.Helper()
	cfg := config.Default()
	dir := t.TempDir()
	cfg.DataDir = filepath.Join(dir, "data")
	cfg.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	cfg.Drain = 10 * time.Millisecond
	w, err := sandbox.Build(t.Context(), sandbox.Config{
		Server: cfg, Dir: dir, Play: true, WithoutStorage: true, Options: server.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// A person opens the play page, follows the mail's link, fills in the form, checks in at the kiosk, reads the PIN and opens the door.
func TestPlay(t *testing.T) {
	t.Parallel()
	w := playground(t)
	desk := browser.Open(t)
	desk.Visit(w.PlayURL())
	desk.WaitText("Invitation to okafor@example.com")
	desk.Axe()
	desk.Fits()
	desk.Screenshot("play")

	phone := browser.Open(t, browser.WithSize(browser.Phone))
	phone.Visit(w.PlayURL())
	phone.Click("Invitation to okafor@example.com")
	phone.Wait(".mail iframe")
	phone.Axe()
	phone.Fits()
	phone.Screenshot("play-mail")
	phone.Visit(linkOn(phone, `http://[^"]*/g/l/[^"]*`))
	phone.Click("Open my stay")
	phone.Wait(".tasks a")
	phone.Visit(linkOn(phone, `/g/stays/[^"]*/form/gst[^"]*`))
	phone.Fill("Given names", "Ngozi")
	phone.Fill("Family name", "Okafor")
	phone.Click("Continue")
	phone.WaitHeading("Check your answers")

	kiosk := browser.Open(t, browser.WithSize(browser.Kiosk))
	kiosk.Visit(linkOn(desk, `http://[^"]*/k/`) + "enrol")
	kiosk.Fill("Enrolment code", w.KioskCode())
	kiosk.Next("Set up", "Welcome")
	kiosk.Next("Check in", "Find your booking")
	kiosk.Fill("Booking number", "2001")
	kiosk.Fill("Family name", "OKAFOR")
	kiosk.Next("Continue", "Is this your booking?")
	kiosk.Next("Yes, check in", "Is this still right?")
	kiosk.Click("Yes, all of this is right")
	kiosk.Wait("button[value=rules], button[value=complete]")
	if kiosk.Has("button[value=rules]") {
		kiosk.Next("I accept the house rules", "All is ready")
	}
	kiosk.Click("Check in now")
	kiosk.Wait(".pin")
	kiosk.WaitText("Your code works")
	spoken := regexp.MustCompile(`class="pin"[^>]*aria-label="([^"]*)"`).FindStringSubmatch(kiosk.HTML())
	if spoken == nil {
		t.Fatal("the kiosk shows no PIN: " + kiosk.Text())
	}
	pin := strings.Join(regexp.MustCompile(`\d`).FindAllString(spoken[1], -1), "")

	desk.WaitText("checked in")
	desk.Fill("PIN for Dorm 4", pin)
	desk.Click("Enter at Dorm 4")
	desk.WaitText("Opened, ")
	desk.Fill("PIN for Room 101", pin)
	desk.Click("Enter at Room 101")
	desk.WaitText("Refused: the lock does not have this PIN.")
	desk.Screenshot("play-doors")
}

// linkOn returns the address of a page's first link that fits a pattern.
func linkOn(p *browser.Page, pattern string) string {
	m := regexp.MustCompile(`href="(` + pattern + `)"`).FindStringSubmatch(p.HTML())
	if m == nil {
		return "about:blank"
	}
	address, err := url.Parse(p.Address())
	if err != nil {
		return "about:blank"
	}
	link, err := address.Parse(m[1])
	if err != nil {
		return "about:blank"
	}
	return link.String()
}
