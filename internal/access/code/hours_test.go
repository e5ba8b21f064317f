package code

import (
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"pgregory.net/rapid"
)

// hoursAt finds the window of weekly hours that is open at an instant, else the next; false: there is none. Hours without a gap
// have no end, and their beginning is zero.
func hoursAt(hours []Hours, zone *time.Location, at time.Time) (access.Window, bool) {
	all, always := windowsOfHours(hours, zone, at, at, at)
	if always || len(all) == 0 {
		return access.Window{}, always
	}
	return all[0], true
}

func TestWindowsOfHours(t *testing.T) {
	lisbon, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	on := func(from, to string, days ...int) Hours { return Hours{Days: days, From: from, To: to} }
	work := []Hours{on("08:00", "16:00", 1, 2, 3, 4, 5)}
	night := []Hours{on("22:00", "06:00", 5)}
	always := []Hours{on("00:00", "24:00", 1, 2, 3, 4, 5, 6, 7)}
	for _, c := range []struct {
		name         string
		hours        []Hours
		at, from, to string // in Lisbon, with the offset
	}{
		{"within", work, "2026-11-20T10:00:00Z", "2026-11-20T08:00:00Z", "2026-11-20T16:00:00Z"},
		{"on the first instant", work, "2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z", "2026-11-20T16:00:00Z"},
		{"the end is outside", work, "2026-11-20T16:00:00Z", "2026-11-23T08:00:00Z", "2026-11-23T16:00:00Z"},
		{"over the weekend", work, "2026-11-21T09:00:00Z", "2026-11-23T08:00:00Z", "2026-11-23T16:00:00Z"},
		{"over midnight", night, "2026-11-21T03:00:00Z", "2026-11-20T22:00:00Z", "2026-11-21T06:00:00Z"},
		{"a week ahead", night, "2026-11-21T06:00:00Z", "2026-11-27T22:00:00Z", "2026-11-28T06:00:00Z"},
		{"summer's clocks", work, "2026-07-01T07:30:00Z", "2026-07-01T07:00:00Z", "2026-07-01T15:00:00Z"},
		{"two that touch are one", []Hours{on("08:00", "12:00", 5), on("12:00", "14:00", 5)}, "2026-11-20T13:00:00Z", "2026-11-20T08:00:00Z", "2026-11-20T14:00:00Z"},
		{"days that touch are one", []Hours{on("00:00", "24:00", 5, 6)}, "2026-11-21T13:00:00Z", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"},
		// 2026-03-29 01:00 becomes 02:00 in Lisbon; 2026-10-25 02:00 becomes 01:00.
		{"the day of the change forward", []Hours{on("00:00", "08:00", 7)}, "2026-03-29T00:30:00Z", "2026-03-29T00:00:00Z", "2026-03-29T07:00:00Z"},
		{"begins in the hour that is skipped", []Hours{on("01:30", "08:00", 7)}, "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T07:00:00Z"},
		{"ends in the hour that is skipped", []Hours{on("22:00", "01:30", 6)}, "2026-03-29T00:30:00Z", "2026-03-28T22:00:00Z", "2026-03-29T01:00:00Z"},
		{"the day of the change back", []Hours{on("00:00", "08:00", 7)}, "2026-10-25T03:00:00Z", "2026-10-24T23:00:00Z", "2026-10-25T08:00:00Z"},
		{"an hour that comes twice, both", []Hours{on("01:15", "01:45", 7)}, "2026-10-25T00:30:00Z", "2026-10-25T00:15:00Z", "2026-10-25T01:45:00Z"},
		{"no gap has no end", always, "2026-10-25T00:30:00Z", "", ""},
		{"nothing", nil, "2026-10-25T00:30:00Z", "none", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := hoursAt(c.hours, lisbon, at)
			want := access.Window{}
			if c.from != "" && c.from != "none" {
				want.From, _ = time.Parse(time.RFC3339, c.from)
				want.To, _ = time.Parse(time.RFC3339, c.to)
			}
			if ok != (c.from != "none") || !got.Same(want) {
				t.Errorf("got %v to %v, %v", got.From.UTC(), got.To.UTC(), ok)
			}
		})
	}
}

// Whenever one looks, within hours or between, the window is the same until it ends, and it has the instants at which the
// clocks on the wall show the hours.
func TestHoursAreLocalTimes(t *testing.T) {
	zones := []string{"Europe/Lisbon", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1767225600+rapid.Int64Range(0, 2*365*86400).Draw(t, "at"), 0)
		from := rapid.IntRange(0, 23*60).Draw(t, "from")
		to := rapid.IntRange(from+1, 24*60-1).Draw(t, "to")
		text := func(m int) string { return time.Date(2000, 1, 1, 0, m, 0, 0, time.UTC).Format("15:04") }
		hours := []Hours{{Days: []int{rapid.IntRange(1, 7).Draw(t, "day")}, From: text(from), To: text(to)}}
		w, ok := hoursAt(hours, zone, at)
		if !ok || !w.To.After(at) || !w.From.Before(w.To) {
			t.Fatalf("%v %v %v", w, ok, at)
		}
		within := w.From.Add(time.Duration(rapid.Int64Range(0, int64(w.To.Sub(w.From)-1)).Draw(t, "within")))
		if again, _ := hoursAt(hours, zone, within); !again.Same(w) {
			t.Fatalf("%v is %v, and within it %v", at, w, again)
		}
		local := at.In(zone)
		m := local.Hour()*60 + local.Minute()
		on := int(local.Weekday()+6)%7+1 == hours[0].Days[0]
		if on && m >= from && m < to && at.Before(w.From) {
			t.Fatalf("the clocks show %s, and the window begins at %v", local, w.From.In(zone))
		}
	})
}
