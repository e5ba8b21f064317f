package reservation

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"latchkey.dev/internal/clock"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := clock.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestComplete(t *testing.T) {
	for _, c := range []struct{ name, zone, day, hour, want string }{
		{"winter", "Europe/Berlin", "2026-11-21", "15:00", "2026-11-21T15:00:00+01:00"},
		{"summer", "Europe/Berlin", "2026-07-01", "15:00", "2026-07-01T15:00:00+02:00"},
		{"the morning before clocks go forward", "Europe/Berlin", "2026-03-29", "01:59", "2026-03-29T01:59:00+01:00"},
		{"skipped", "Europe/Berlin", "2026-03-29", "02:30", "2026-03-29T03:00:00+02:00"},
		{"the first hour after", "Europe/Berlin", "2026-03-29", "03:00", "2026-03-29T03:00:00+02:00"},
		{"twice", "Europe/Berlin", "2026-10-25", "02:30", "2026-10-25T02:30:00+02:00"},
		{"after it came twice", "Europe/Berlin", "2026-10-25", "03:00", "2026-10-25T03:00:00+01:00"},
		{"skipped in the west", "America/New_York", "2026-03-08", "02:00", "2026-03-08T03:00:00-04:00"},
		{"twice in the west", "America/New_York", "2026-11-01", "01:30", "2026-11-01T01:30:00-04:00"},
		{"half an hour skipped", "Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-04T02:30:00+11:00"},
		{"half an hour twice", "Australia/Lord_Howe", "2026-04-05", "01:45", "2026-04-05T01:45:00+11:00"},
		{"skipped at midnight", "Africa/Cairo", "2026-04-24", "00:00", "2026-04-24T01:00:00+03:00"},
		{"a day that never was", "Pacific/Apia", "2011-12-30", "15:00", "2011-12-31T00:00:00+14:00"},
		{"no change of clocks", "Asia/Kolkata", "2026-03-29", "02:30", "2026-03-29T02:30:00+05:30"},
		{"far east", "Pacific/Kiritimati", "2026-01-01", "00:00", "2026-01-01T00:00:00+14:00"},
		{"UTC", "UTC", "2026-02-28", "23:59", "2026-02-28T23:59:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := time.Parse(time.RFC3339, c.want)
			if err != nil {
				t.Fatal(err)
			}
			if got := instantOn(c.day, c.hour, zone(t, c.zone)); !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("got %v, want %v", got, want.UTC())
			}
		})
	}
}

// What the clocks show at the completed moment is the hour asked for, unless they never show it; and no earlier moment
// shows it.
func TestCompleteShowsTheHour(t *testing.T) {
	names := []string{
		"Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Santiago", "Australia/Lord_Howe",
		"Africa/Cairo", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Chatham", "Antarctica/Troll", "UTC",
	}
	rapid.Check(t, func(t *rapid.T) {
		z, err := clock.Zone(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 3*365).Draw(t, "day"))
		wall := day.Add(time.Duration(rapid.IntRange(0, 24*60-1).Draw(t, "minute")) * time.Minute)
		got := instantOn(day.Format(time.DateOnly), wall.Format("15:04"), z)
		const layout = "2006-01-02 15:04"
		if got.In(z).Format(layout) == wall.Format(layout) {
			for _, earlier := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
				if got.Add(-earlier).In(z).Format(layout) == wall.Format(layout) {
					t.Fatalf("%v in %v shows %s, and so does %v before", got, z, wall.Format(layout), earlier)
				}
			}
			return
		}
		before := got.Add(-time.Second).In(z).Format(layout)
		if after := got.In(z).Format(layout); before >= wall.Format(layout) || after <= wall.Format(layout) {
			t.Fatalf("%s in %v became %s, after %s", wall.Format(layout), z, after, before)
		}
	})
}
