package sandbox

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/lock/slot"
)

// openPage gets a page of the play page, or posts a form to it, and returns the text of the page that follows.
func openPage(t *testing.T, w *World, path string, form url.Values) (int, string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Jar: jar}
	address := strings.TrimSuffix(w.PlayURL(), "/") + path
	var a *http.Response
	if form == nil {
		a, err = c.Get(address)
	} else {
		a, err = c.PostForm(address, form)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

func post(t *testing.T, w *World, path, want string, pairs ...string) string {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	status, text := openPage(t, w, path, form)
	if status != 200 || !strings.Contains(text, want) {
		t.Fatalf("%s %v: answered %d without %q: %s", path, pairs, status, want, text)
	}
	return text
}

// A person creates a reservation on the page, checks the guest in at the desk, and sees the lights of the doors.
func TestPlayPage(t *testing.T) {
	w := build(t, Config{Play: true})
	post(t, w, "/desk", "booking number 2004", "name", "Okafor <b>", "place", "D4-A")
	if _, text := openPage(t, w, "/", nil); strings.Contains(text, "Okafor <b>") || !strings.Contains(text, "Dorm 4, Bed A") {
		t.Error("the page shows the name unescaped, or another place", text)
	}
	for _, step := range []struct{ do, value, want string }{
		{"owe", "", "owes 84.00 EUR"}, {"pay", "", "the stay is paid"}, {"notReady", "", "room not ready"}, {"ready", "", "The room is ready"},
		{"move", "R103", "now for Room 103"}, {"conduct", "hangs", "does not answer for this reservation"}, {"conduct", "", "answers normally"},
		{"conduct", "unknown", "Choose how the PMS answers"}, {"checkIn", "", "checked in at the desk"},
	} {
		field := "place"
		if step.do == "conduct" {
			field = "conduct"
		}
		post(t, w, "/desk/B-2004", step.want, "do", step.do, field, step.value)
	}
	var pin string
	err := w.Await(t.Context(), "the PIN is on the lock of Room 103", func(ctx context.Context) (bool, error) {
		a, err := w.PMS.Do(ctx, "GET", "/v1/reservations/find?pmsId=B-2004&extend=pin,access", nil)
		pin = stringIn(a.Data(), "pin")
		return err == nil && pin != "" && len(w.Site.Slots("Room 103")) > 0, err
	})
	if err != nil {
		t.Fatal(err)
	}
	door := "/doors/" + w.Spaces["Room 103"]
	post(t, w, door, "Opened, ", "pin", pin)
	post(t, w, door, "does not have this PIN", "pin", "000000")
	post(t, w, door+"/lock", "Lock: jammed", "do", "jam")
	post(t, w, door, "The bolt is jammed", "pin", pin)
	post(t, w, door+"/lock", "Lock: offline, jammed", "do", "offline")
	post(t, w, door+"/lock", "Lock: offline, jammed, battery 8 %", "do", "drain")
	post(t, w, door+"/lock", "Lock: offline, jammed", "do", "charge")
	post(t, w, door+"/lock", "Lock: jammed", "do", "online")
}

// A drained battery is in the list of notices until it is changed.
func TestPlayPageDrainsABattery(t *testing.T) {
	w := build(t, Config{Play: true})
	lock := "/doors/" + w.Spaces["Room 103"] + "/lock"
	notices := propertyv1.NewNoticeServiceClient(w.public)
	for _, step := range []struct {
		do string
		is bool
	}{{"drain", true}, {"charge", false}} {
		post(t, w, lock, "Room 103", "do", step.do)
		err := w.Await(t.Context(), "the notice after "+step.do, func(ctx context.Context) (bool, error) {
			l, err := notices.ListNotices(w.Staff(ctx), &propertyv1.ListNoticesRequest{PageSize: 200})
			return step.is == slices.ContainsFunc(l.GetData().GetList(), func(n *propertyv1.Notice) bool {
				return n.GetKind() == "batteryLow" && n.GetStands() && strings.Contains(n.GetText(), "Room 103")
			}), err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A code that gets no answer and lands late is not on the guest's page as working before it opens the door, and then it is.
func TestPlayPageLandsACodeLate(t *testing.T) {
	w := build(t, Config{Play: true})
	guest, err := w.VisitByDoor(t.Context(), "2001", "Okafor")
	if err != nil {
		t.Fatal(err)
	}
	if err := guest.AnswerName(t.Context(), "Ngozi", "Okafor"); err != nil {
		t.Fatal(err)
	}
	if err := guest.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	pin, err := guest.Complete(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	post(t, w, "/doors/"+w.Spaces["Room 102"]+"/lock", "gets no answer and lands late", "do", "late")
	post(t, w, "/desk/B-2001", "now for Room 102", "do", "move", "place", "R102")
	waited := false
	err = w.Await(t.Context(), "the page says that the code works at Room 102", func(ctx context.Context) (bool, error) {
		if _, err := guest.Open(ctx, "/key"); err != nil {
			return false, err
		}
		text := guest.b.text()
		if strings.Contains(text, "not on the door") {
			t.Errorf("the page says that a code failed that may still land: %s", text)
		}
		if !strings.Contains(text, "Your code works. Room 102") {
			waited = waited || waitsForCode.MatchString(text)
			return false, nil
		}
		press, err := w.Site.Press("Room 102", slot.PIN(pin))
		if err == nil && !press.Opened {
			t.Errorf("the code does not open the door of which the page says: %s", text)
		}
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !waited {
		t.Error("the page never says that the guest waits for the code at Room 102")
	}
	a, err := w.PMS.Do(t.Context(), "GET", "/v1/reservations/explain?pmsId=B-2001", nil)
	if err != nil {
		t.Fatal(err)
	}
	steps, _ := a.Data()["steps"].([]any)
	if !slices.ContainsFunc(steps, func(step any) bool {
		one, _ := step.(map[string]any)
		return one["kind"] == "codeUnconfirmed" && one["doorName"] == "Room 102"
	}) {
		t.Errorf("the lock of Room 102 answered at once: %v", steps)
	}
}

// waitsForCode matches the page of a code that is not known to be on the lock of Room 102.
var waitsForCode = regexp.MustCompile(`Room 102 .{0,4}Your code (is being made ready|should work)`)

// The page shows the enrolment code only until a tablet has used it.
func TestPlayPageHidesAUsedEnrolmentCode(t *testing.T) {
	w := build(t, Config{Play: true})
	if _, text := openPage(t, w, "/", nil); !strings.Contains(text, w.KioskCode()) {
		t.Error("the page shows no enrolment code")
	}
	tablet, err := newBrowser()
	if err != nil {
		t.Fatal(err)
	}
	tablet.at = &url.URL{Scheme: "http", Host: w.Server.HTTPAddr()}
	if err := tablet.open(t.Context(), "/k/enrol"); err != nil {
		t.Fatal(err)
	}
	if err := tablet.submit(t.Context(), map[string]string{"f-code": w.KioskCode()}); err != nil {
		t.Fatal(err)
	}
	if _, text := openPage(t, w, "/", nil); strings.Contains(text, w.KioskCode()) || !strings.Contains(text, "The tablet is enrolled") {
		t.Error("the page still shows the code:", text)
	}
	post(t, w, "/kiosk", "The tablet has to enrol again")
	if _, text := openPage(t, w, "/", nil); !strings.Contains(text, w.KioskCode()) {
		t.Error("the page does not show the new code:", text)
	}
}

// The page answers only requests of its own origin.
func TestPlayPageRefusesOtherSites(t *testing.T) {
	w := build(t, Config{Play: true})
	for name, change := range map[string]func(*http.Request){
		"a rebound name":       func(r *http.Request) { r.Host = "evil.example" },
		"a form of other site": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", w.PlayURL()+"kiosk", nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode < 400 || a.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: answered %d, %v", name, a.StatusCode, a.Header)
		}
	}
}
