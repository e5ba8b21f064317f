package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
)

// TestTodayPage moves between days by links and by the field, and finds a stay by what is known of it.
func TestTodayPage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	today := time.Now().UTC()
	a := s.do(http.MethodGet, "/app/today", nil)
	for _, text := range []string{"Yesterday", "Tomorrow", `type="date"`} {
		if !strings.Contains(a.text, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	far := today.AddDate(0, 0, 40).Format(time.DateOnly)
	a = s.do(http.MethodGet, "/app/today?tab=departures&day="+far, nil)
	for _, days := range []int{39, 41} {
		if link := "/app/today?day=" + today.AddDate(0, 0, days).Format(time.DateOnly) + "&amp;tab=departures"; !strings.Contains(a.text, link) {
			t.Errorf("the page of %s lacks %s", far, link)
		}
	}
	if a := s.do(http.MethodGet, "/app/today?tab=arrivals&day=", nil); a.status != http.StatusOK {
		t.Errorf("without a day: %d", a.status)
	}
}

// TestReservationsOfADay lists the stays that include a day, alone and together with a search.
func TestReservationsOfADay(t *testing.T) {
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	for id, days := range map[string][2]int{"B-1": {0, 2}, "B-2": {5, 7}} {
		e2etest.PushReservation(t, w, id, map[string]any{
			"pmsNumber": id, "state": "confirmed", "fromDate": e2etest.LocalDate(days[0]), "toDate": e2etest.LocalDate(days[1]), "booker": map[string]any{"lastName": "Lovelace"},
		})
	}
	for _, c := range []struct {
		query string
		want  string // the numbers of the stays
		says  string
	}{
		{"", "B-2 B-1", `type="date" value=""`},
		{"?day=" + e2etest.LocalDate(1), "B-1", "Show all days"},
		{"?day=" + e2etest.LocalDate(6), "B-2", `name="day" value="` + e2etest.LocalDate(6)},
		{"?q=lovelace&day=" + e2etest.LocalDate(6), "B-2", `<a href="/app/reservations?q=lovelace">Show all days</a>`},
		{"?q=babbage&day=" + e2etest.LocalDate(6), "", "No stay is found on this day."},
		{"?day=" + e2etest.LocalDate(30), "", "No stay is found on this day."},
	} {
		a := s.do(http.MethodGet, "/app/reservations"+c.query, nil)
		var found []string
		for _, number := range regexp.MustCompile(`#(B-\d)<`).FindAllStringSubmatch(a.text, -1) {
			found = append(found, number[1])
		}
		if got := strings.Join(found, " "); a.status != http.StatusOK || got != c.want || !strings.Contains(a.text, c.says) {
			t.Errorf("%q finds %q, want %q, and says %q (%d): %s", c.query, got, c.want, c.says, a.status, a.text)
		}
	}
	a := s.do(http.MethodGet, "/app/reservations?q=lovelace&day=27.3.", nil)
	for _, text := range []string{"Enter a day, such as 2026-11-21.", `href="#day"`, `name="q" type="search" value="lovelace"`, `value="27.3."`} {
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, text) {
			t.Errorf("a day of another form, %d without %q: %s", a.status, text, a.text)
		}
	}
}

// TestRowsPerPage keeps how many rows a person wants, also after a sign-out.
func TestRowsPerPage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	for i := range 30 {
		if a := s.do(http.MethodPost, "/app/spaces/new", url.Values{"space.name": {fmt.Sprintf("Hall %d", i)}, "space.type": {"Room"}}); a.status >= 400 {
			t.Fatalf("make a room: %d %s", a.status, a.text)
		}
	}
	rows := func() int { return strings.Count(s.do(http.MethodGet, "/app/audit", nil).text, "<tr>") - 1 }
	before := rows()
	if before < 26 {
		t.Fatalf("%d rows without a choice", before)
	}
	choose := func(n string) {
		t.Helper()
		a, err := s.http.PostForm(w.Base+"/app/audit?look&verify=1", url.Values{"rows": {n}})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if to := a.Header.Get("Location"); to != "/app/audit?verify=1" {
			t.Errorf("the choice leads to %d %q", a.StatusCode, to)
		}
	}
	for _, wrong := range []string{"7", "0", "-1", "many", "100000"} {
		choose(wrong)
		if n := rows(); n != before {
			t.Errorf("%d rows with the choice %q", n, wrong)
		}
	}
	choose("25")
	if n := rows(); n != 25 {
		t.Errorf("%d rows with the choice 25", n)
	}
	s.do(http.MethodPost, "/app/logout", url.Values{})
	s.do(http.MethodPost, "/app/login", url.Values{"email": {"ada@example.com"}, "password": {password}})
	if n := rows(); n != 25 {
		t.Errorf("%d rows after another sign-in", n)
	}
}

// TestPaletteFindsThings finds a room and its lock by a part of the name, and an action.
func TestPaletteFindsThings(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	find := func(text string) string {
		t.Helper()
		a := s.do(http.MethodGet, "/app/palette?q="+url.QueryEscape(text), nil)
		if a.status != http.StatusOK {
			t.Fatalf("%q: %d", text, a.status)
		}
		_, found, _ := strings.Cut(a.text, `id="found"`)
		return found[:strings.Index(found, "</ul>")]
	}
	if found := find("room 101"); !strings.Contains(found, "/app/spaces/rooms/spc_") || !strings.Contains(found, "/app/locks/lck_") || strings.Contains(found, "102") {
		t.Errorf("a room: %s", found)
	}
	if found := find("test mail"); strings.Count(found, "<li>") != 1 || !strings.Contains(found, "/app/settings/mail") {
		t.Errorf("an action: %s", found)
	}
	if found := find("r"); strings.Contains(found, "/app/spaces/rooms/") {
		t.Errorf("one letter loads all rooms: %s", found)
	}
	if found := find("no such thing"); strings.Contains(found, "<li>") {
		t.Errorf("nothing: %s", found)
	}
}
