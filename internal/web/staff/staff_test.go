package staff

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/message"
)

// Every message that a template or the code names exists.
func TestEveryMessageExists(t *testing.T) {
	named := regexp.MustCompile(`"((?:staff|web)\.[a-zA-Z.]+)"`)
	count := 0
	for _, glob := range []string{"*.go", "pages/*.html", "parts/*.html"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(content), -1) {
				if strings.HasSuffix(m[1], ".") || filepath.Ext(m[1]) == ".css" || filepath.Ext(m[1]) == ".js" { // the rest is data, or it is a file
					continue
				}
				if count++; !message.Has(m[1]) {
					t.Errorf("%s names %s, which has no text", file, m[1])
				}
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d names were found", count)
	}
	for _, done := range results {
		if !message.Has("staff.done." + done) {
			t.Errorf("the result %s has no text", done)
		}
	}
	for _, tab := range settingsTabs {
		if !message.Has("staff.settings." + tab.Name) {
			t.Errorf("the settings %s have no name", tab.Name)
		}
	}
	for _, a := range areas {
		if !message.Has("staff.area." + a.Name) {
			t.Errorf("the area %s has no name", a.Name)
		}
	}
}

// Only an address of the dashboard follows a sign-in.
func TestLocalPage(t *testing.T) {
	for address, want := range map[string]bool{
		"/app/": true, "/app/today?tab=house&day=2026-11-21": true, "/app/account#x": true,
		"": false, "/": false, "/g/stays/x": false, "//evil.example/app/": false, "https://evil.example/app/": false, `/app/\evil`: false, "/app/../g/": false,
		"/app/%2e%2e/g": false, "/app/%5cevil": false, "app/": false, "/app/\r\nx": false, "javascript:alert(1)": false,
	} {
		if got := localPage(address); (got == address && got != "") != want {
			t.Errorf("%q leads to %q", address, got)
		}
	}
}

// What a row of a day says, and when nothing is left to do.
func TestDayRows(t *testing.T) {
	for _, c := range []struct {
		tab, state, verdict, stage string
		stops                      []string
		complete                   bool
		chip, checkIn, clears      string
		over                       bool
		owing                      string
		waives                     bool
	}{
		{tab: "arrivals", state: "confirmed", verdict: "ready", stage: "notToday", chip: "staff.verdict.ready", checkIn: "staff.stage.notToday staff.form.open"},
		{tab: "arrivals", state: "confirmed", verdict: "atRisk", stage: "start", complete: true, chip: "staff.verdict.atRisk", checkIn: "staff.stage.start staff.form.done"},
		{tab: "arrivals", state: "confirmed", verdict: "notReady", stage: "stopped", stops: []string{"owing", "roomNotReady"}, chip: "staff.verdict.notReady", checkIn: "staff.stop.owing staff.stop.roomNotReady", owing: "84.00", waives: true},
		{tab: "arrivals", state: "confirmed", verdict: "ready", stage: "stopped", stops: []string{"roomNotReady", "partnerError"}, owing: "84.00", chip: "staff.verdict.ready", checkIn: "staff.stop.roomNotReady staff.stop.partnerError"},
		{tab: "arrivals", state: "confirmed", verdict: "ready", stage: "identityCheck", stops: []string{"identityCheck"}, chip: "staff.verdict.ready", checkIn: "staff.stop.identityCheck", clears: "identityCheck"},
		{tab: "arrivals", state: "started", verdict: "ready", stage: "checkedIn", chip: "staff.verdict.ready", checkIn: "staff.stage.checkedIn", over: true},
		{tab: "arrivals", state: "started", verdict: "notReady", stage: "checkedIn", chip: "staff.verdict.notReady", checkIn: "staff.stage.checkedIn"},
		{tab: "house", state: "started", verdict: "ready", stage: "checkedIn", chip: "staff.verdict.ready", checkIn: "staff.stage.checkedIn"},
		{tab: "house", state: "started", verdict: "somethingNew", stage: "checkedIn", chip: "staff.verdict.unknown", checkIn: "staff.stage.checkedIn"},
		{tab: "departures", state: "started", stage: "checkedIn", chip: "staff.day.inHouse", checkIn: "staff.stage.checkedIn"},
		{tab: "departures", state: "processed", stage: "ended", chip: "staff.day.left", checkIn: "staff.stage.ended", over: true},
	} {
		r := newDayRow(c.tab, &propertyv1.DayStay{State: c.state, Verdict: c.verdict, CheckIn: &propertyv1.DayCheckIn{Stage: c.stage, Stops: c.stops, FormComplete: c.complete, Owing: c.owing}})
		if r.Chip.Text != c.chip || strings.Join(r.CheckIn, " ") != c.checkIn || r.Clears != c.clears || r.Over != c.over || r.Waives != c.waives {
			t.Errorf("%s %s %s %s: %+v", c.tab, c.state, c.verdict, c.stage, r)
		}
		for _, kind := range append(r.CheckIn, r.Chip.Text) {
			if !message.Has(kind) {
				t.Errorf("%s has no text", kind)
			}
		}
	}
}

// What waits for staff in a row has the tone of a warning.
func TestToneOfRows(t *testing.T) {
	for _, c := range []struct {
		stage string
		stops []string
		tone  string
	}{
		{"start", nil, ""}, {"checkedIn", nil, ""}, {"identityCheck", nil, "warn"}, {"signature", nil, "warn"}, {"stopped", []string{"owing"}, "warn"},
	} {
		r := newDayRow("arrivals", &propertyv1.DayStay{State: "confirmed", CheckIn: &propertyv1.DayCheckIn{Stage: c.stage, Stops: c.stops}})
		if r.Tone != c.tone {
			t.Errorf("%+v: tone %q", c, r.Tone)
		}
	}
}

// What an open page gets to know of a change: ids only, and whether it must load everything again.
func TestChangedEvents(t *testing.T) {
	for _, c := range []struct {
		changes []*propertyv1.WatchedChange
		want    string
	}{
		{nil, ": \n\n"},
		{[]*propertyv1.WatchedChange{{Topic: "reservations", Ids: []string{"rsv_1", "rsv_2"}}}, "id: r7\nevent: changed\ndata: {\"ids\":[\"rsv_1\",\"rsv_2\"],\"all\":false}\n\n"},
		{[]*propertyv1.WatchedChange{{Topic: "reservations"}}, "id: r7\nevent: changed\ndata: {\"ids\":[],\"all\":true}\n\n"},
		{[]*propertyv1.WatchedChange{{Topic: "reservations", Everything: true}}, "id: r7\nevent: changed\ndata: {\"ids\":[],\"all\":true}\n\n"},
	} {
		if got, err := changedEvent(&propertyv1.WatchResponse{Changes: c.changes, ResumeToken: "r7"}); err != nil || got != c.want {
			t.Errorf("%v: %q, %v", c.changes, got, err)
		}
	}
}

// Every page of the palette has a name and a route, which needs the same right.
func TestPalettePages(t *testing.T) {
	rights := map[string]string{}
	for _, r := range Routes() {
		rights[r.Pattern] = r.Right
	}
	for _, p := range furtherPages {
		checkTexts(t, p.Name)
		path, _, _ := strings.Cut(p.URL, "?")
		if right, ok := rights["GET "+path]; !ok || right != p.right {
			t.Errorf("%s needs %q, its route %q (there is one: %v)", p.URL, p.right, right, ok)
		}
	}
	for _, tab := range settingsTabs {
		checkTexts(t, "staff.settings."+tab.Name)
	}
}

// A query finds a text with all of its words, in any case and order.
func TestContains(t *testing.T) {
	for _, c := range []struct {
		text, query string
		want        bool
	}{
		{"Guests in house", "", true}, {"Guests in house", "HOUSE guest", true}, {"Guests in house", "houses", false}, {"Réglages", "rég", true}, {"Locks", "  ", true},
	} {
		if got := contains(c.text, c.query); got != c.want {
			t.Errorf("%q in %q: %v", c.query, c.text, got)
		}
	}
}
