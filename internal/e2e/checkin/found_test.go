package checkin

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// A guest who is checked in comes to the kiosk and to the QR code again. Staff are notified once, and the notice ends with the stay. No
// session that two facts give after the check-in reads the PIN.
func TestFoundAgainAfterTheCheckIn(t *testing.T) {
	w := open(t)
	tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
	g := w.bind(w.book("B-1", "1001", "R101"))
	g.prepare()
	g.press(true)
	g.awaits("checkedIn")
	for time, want := range [][]string{nil, {"checkInRepeated"}, {"checkInRepeated"}} {
		found := w.guest(tablet.GuestSession(t, "1001", "Lovelace"))
		found.reads("checkedIn")
		if pin, err := found.pin(); err == nil || pin != "" {
			t.Errorf("search %d shows a PIN of %d digits", time+1, len(pin))
		}
		if got := w.notices(g.stay); !slices.Equal(got, want) {
			t.Errorf("after search %d staff have the notices %v, want %v", time+1, got, want)
		}
	}
	listed, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(t.Context()), &propertyv1.ListNoticesRequest{PageSize: 200})
	w.must(err)
	for _, n := range listed.GetData().GetList() {
		if n.GetKind() == "checkInRepeated" && (!strings.Contains(n.GetText(), "1001") || !strings.Contains(n.GetText(), "Lobby 2")) {
			t.Errorf("staff read %q", n.GetText())
		}
	}
	_, err = w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "processed"})
	w.must(err)
	w.Await("the notice ends with the stay", func(context.Context) (bool, error) { return len(w.notices(g.stay)) == 0, nil })
}

// The session of a guest who found the booking by the QR code ends after two hours, which may be before the PMS starts the stay. The page then says
// what can be the reason, and links to the search.
func TestSearchAgainAfterTheSession(t *testing.T) {
	clock := &forwardClock{}
	w := open(t, func(c *sandbox.Config) { c.Options.Clock = clock })
	w.book("B-1", "1001", "R101")
	jar, err := cookiejar.New(nil)
	w.must(err)
	phone := &http.Client{Jar: jar, Timeout: time.Minute}
	read := func(a *http.Response, err error) (path, text string) {
		t.Helper()
		w.must(err)
		defer a.Body.Close()
		raw, err := io.ReadAll(a.Body)
		w.must(err)
		return a.Request.URL.Path, html.UnescapeString(string(raw))
	}
	site, door := "http://"+w.Server.HTTPAddr(), w.DoorAddress()
	search := func() (page string) {
		t.Helper()
		page, _ = read(phone.PostForm(door, url.Values{"number": {"1001"}, "name": {"Lovelace"}}))
		if !strings.HasPrefix(page, "/g/stays/") {
			t.Fatalf("the search leads to %s", page)
		}
		return page
	}
	page := search()
	clock.advance(2*time.Hour + time.Minute)
	_, text := read(phone.Get(site + page))
	link := `href="` + strings.TrimPrefix(door, site) + `"`
	for _, want := range []string{"Your stay is no longer open on this device", "scan the QR code at its entrance to find your booking again", link, "Find your booking"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q: %s", want, text)
		}
	}
	if again := search(); again != page {
		t.Errorf("the second search leads to %s, the first to %s", again, page)
	}
}
