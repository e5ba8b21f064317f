package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// pinShown finds a PIN on a page.
var pinShown = regexp.MustCompile(`class="pin" role="img" aria-label="([0-9 ,]+)"`)

// TestStayAccessByPage shows and replaces the PIN of a stay, extends its access and fills in a one-time code for its doors, each on the page of the stay.
func TestStayAccessByPage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "started", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace"}})
	stay := s.stay("1001")
	page := s.do(http.MethodGet, stay, nil).text
	until := regexp.MustCompile(`name="until" type="datetime-local" value="([0-9T:-]+)"`).FindStringSubmatch(page)
	if until == nil {
		t.Fatalf("no form for an extension: %s", page)
	}
	reveal := func() string {
		a := s.do(http.MethodPost, stay+"/reveal", url.Values{"reason": {"lost phone"}, "n": {time.Now().String()}})
		pin := pinShown.FindStringSubmatch(a.text)
		if a.status != http.StatusOK || pin == nil {
			t.Fatalf("show the PIN: %d to %q: %s", a.status, a.moved, a.text)
		}
		return pin[1]
	}
	former := reveal()
	if a := s.do(http.MethodPost, stay+"/replace", url.Values{"reason": {"shown to others"}}); a.moved != stay+"?done=pinReplaced" {
		t.Errorf("replace the PIN: %d to %q: %s", a.status, a.moved, a.text)
	}
	if pin := reveal(); pin == former {
		t.Errorf("the PIN is still %s", pin)
	}
	for _, c := range []struct {
		path string
		form url.Values
		text string
	}{
		{"/reveal", url.Values{}, "Say why you need the PIN."},
		{"/replace", url.Values{"reason": {strings.Repeat("a", 501)}}, "Shorten the answer."},
		{"/extend", url.Values{"until": {until[1]}}, "Enter the reason, in at most 500 characters."},
		{"/extend", url.Values{"until": {"soon"}, "reason": {"late flight"}}, "Enter a time in the future"},
		{"/extend", url.Values{"until": {"2041-01-01T12:00"}, "reason": {"late flight"}}, "Enter a time in the future"},
	} {
		if a := s.do(http.MethodPost, stay+c.path, c.form); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, c.text) {
			t.Errorf("%s %.60v: %d to %q: %s", c.path, c.form, a.status, a.moved, a.text)
		}
	}
	if a := s.do(http.MethodPost, stay+"/extend", url.Values{"until": {until[1]}, "reason": {"late flight"}}); a.moved != stay+"?done=extended" {
		t.Errorf("extend the access: %d to %q: %s", a.status, a.moved, a.text)
	}
	form := s.do(http.MethodGet, "/app/codes/new?stay="+strings.TrimPrefix(stay, "/app/reservations/"), nil)
	for _, want := range []string{`value="oneTime" checked`, `value="Lovelace"`, `name="door" value="`, `action="/app/codes/new?stay=`} {
		if !strings.Contains(form.text, want) {
			t.Errorf("the form of a one-time code lacks %s: %d %s", want, form.status, form.text)
		}
	}
	if doors := regexp.MustCompile(`name="door" value="[^"]+" checked`).FindAllString(form.text, -1); len(doors) == 0 {
		t.Error("no door of the stay is chosen")
	}
}

// TestStayAccessOfAGuestNotInHouse finds no PIN of a stay before the check-in, and says so.
func TestStayAccessOfAGuestNotInHouse(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace"}})
	stay := s.stay("1001")
	for _, path := range []string{"/reveal", "/replace", "/extend"} {
		a := s.do(http.MethodPost, stay+path, url.Values{"reason": {"lost phone"}, "until": {time.Now().AddDate(0, 0, 1).Format("2006-01-02T15:04")}})
		if a.status != http.StatusConflict || !strings.Contains(a.text, "no door of this stay has a code now") {
			t.Errorf("%s: %d to %q", path, a.status, a.moved)
		}
	}
}

// TestStayAccessNeedsTheSecondFactor asks for a fresh code before each action on the access of a stay, and leads back to the stay.
func TestStayAccessNeedsTheSecondFactor(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	ada, s := signUp(t, w, "ada@example.com"), newSurfer(t, w)
	token, _, _ := addApp(t, w, ada, now.Now)
	s.setCookie("lk-staff", token)
	now.Set(15 * time.Minute)
	for _, path := range []string{"/app/reservations/rsv_0/extend", "/app/reservations/rsv_0/reveal", "/app/reservations/rsv_0/replace", "/app/locks/lck_0/backup"} {
		a := s.do(http.MethodPost, path, url.Values{"reason": {"late flight"}, "until": {"2041-01-01T12:00"}})
		if a.status != http.StatusSeeOther || a.moved != "/app/confirm?to="+url.QueryEscape(path) {
			t.Errorf("%s: %d to %q", path, a.status, a.moved)
		}
		if a := s.do(http.MethodGet, path, nil); a.status != http.StatusSeeOther || !strings.HasPrefix(a.moved, "/app/reservations/rsv_0") && !strings.HasPrefix(a.moved, "/app/codes?lock=lck_0") {
			t.Errorf("back from %s: %d to %q", path, a.status, a.moved)
		}
	}
}
