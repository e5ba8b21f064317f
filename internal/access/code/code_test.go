package code

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock/slot"
)

func TestEvaluateCode(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	now := at("2026-11-20T10:00:00Z") // a Friday
	made := at("2026-11-01T09:00:00Z")
	work := []Hours{{Days: []int{1, 2, 3, 4, 5}, From: "08:00", To: "16:00"}}
	open := func(from, to time.Time, back bool) Status {
		return Status{Right: access.Right{Open: true, Window: access.Window{From: from, To: to}, HeldBack: back}, Next: to}
	}
	day := func(d int) access.Window {
		return access.Window{From: at("2026-11-20T08:00:00Z").AddDate(0, 0, d), To: at("2026-11-20T16:00:00Z").AddDate(0, 0, d)}
	}
	weekly := func(back bool, next time.Time, first access.Window, days ...int) Status {
		var later []slot.Window
		for _, d := range days {
			later = append(later, slot.Window(day(d)))
		}
		return Status{Right: access.Right{Open: true, Window: first, Later: slot.PackWindows(later...), HeldBack: back}, Next: next}
	}
	sentAgain := at("2026-11-21T00:00:00Z")
	for _, c := range []struct {
		name string
		in   Terms
		want Status
	}{
		{"at any hour, without an end", Terms{Kind: Staff, NotBefore: made}, open(made, time.Time{}, false)},
		{"with an end", Terms{Kind: Staff, NotBefore: made, NotAfter: now.Add(time.Hour)}, open(made, now.Add(time.Hour), false)},
		{"over", Terms{Kind: Staff, NotBefore: made, NotAfter: now}, Status{End: EndPast}},
		{"not begun", Terms{Kind: Staff, NotBefore: now.Add(time.Hour)}, open(now.Add(time.Hour), time.Time{}, true)},
		{"within hours", Terms{Kind: Staff, Hours: work, NotBefore: made}, weekly(false, day(0).To, day(-1), 0, 3, 4, 5, 6, 7)},
		{"hours that end early", Terms{Kind: Staff, Hours: work, NotBefore: made, NotAfter: now.Add(time.Hour)}, Status{
			Right: access.Right{Open: true, Window: day(-1), Later: slot.PackWindows(slot.Window{From: day(0).From, To: now.Add(time.Hour)})}, Next: now.Add(time.Hour),
		}},
		{"begins within hours", Terms{Kind: Staff, Hours: work, NotBefore: at("2026-11-23T09:00:00Z")}, weekly(true, sentAgain, access.Window{From: at("2026-11-23T09:00:00Z"), To: day(3).To}, 4, 5, 6, 7, 10, 11, 12, 13)},
		{"between hours", Terms{Kind: Staff, Hours: []Hours{{Days: []int{6}, From: "08:00", To: "16:00"}}, NotBefore: made}, weekly(true, sentAgain, day(1), 8)},
		{"no hours left", Terms{Kind: Staff, Hours: []Hours{{Days: []int{1}, From: "08:00", To: "16:00"}}, NotBefore: made, NotAfter: at("2026-11-22T00:00:00Z")}, Status{End: EndPast}},
		{"revoked", Terms{Kind: Staff, Hours: work, NotBefore: made, End: EndRevoked}, Status{End: EndRevoked}},
		{"one time", Terms{Kind: OneTime, NotBefore: made}, open(made, time.Time{}, false)},
		{"one time, used", Terms{Kind: OneTime, NotBefore: made, Used: true}, Status{End: EndUsed}},
		{"a backup that was used opens on", Terms{Kind: Backup, NotBefore: made, Used: true}, open(made, time.Time{}, false)},
		{"swapped", Terms{Kind: Backup, NotBefore: made, End: EndSwapped}, Status{End: EndSwapped}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Evaluate(c.in, time.UTC, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissingBackups(t *testing.T) {
	for _, c := range []struct {
		name string
		in   BackupLock
		want int
	}{
		{"a new lock", BackupLock{OnDoor: true, Slots: 30}, 2},
		{"one is gone", BackupLock{OnDoor: true, Slots: 30, Codes: 1}, 1},
		{"as desired", BackupLock{OnDoor: true, Slots: 30, Codes: 2}, 0},
		{"on no door", BackupLock{Slots: 30}, 0},
		{"few slots", BackupLock{OnDoor: true, Slots: 7}, 0},
	} {
		if got := MissingBackups([]BackupLock{c.in})[""]; got != c.want {
			t.Errorf("%s: %d; want %d", c.name, got, c.want)
		}
	}
}

// The windows that a bridge gets of weekly hours cover eight days, across clock changes, and stay the same until they are sent
// again.
func TestWeeklyHoursCoverEightDays(t *testing.T) {
	zones := []string{"Europe/Lisbon", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}
	text := func(m int) string { return time.Date(2000, 1, 1, 0, m, 0, 0, time.UTC).Format("15:04") }
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		var hours []Hours
		for range rapid.IntRange(1, 3).Draw(t, "lines") {
			from := rapid.IntRange(0, 24*60-1).Draw(t, "from")
			to := (from + rapid.IntRange(1, 20*60).Draw(t, "long")) % (24 * 60)
			hours = append(hours, Hours{Days: rapid.SliceOfNDistinct(rapid.IntRange(1, 7), 1, 7, rapid.ID).Draw(t, "days"), From: text(from), To: text(to)})
		}
		now := time.Unix(1767225600+rapid.Int64Range(0, 2*365*86400).Draw(t, "now"), 0).UTC()
		terms := Terms{Kind: Staff, Hours: hours, NotBefore: now.AddDate(-1, 0, 0)}
		s := Evaluate(terms, zone, now)
		if s.Right.Window.To.IsZero() { // no gap
			return
		}
		all := append([]slot.Window{slot.Window(s.Right.Window)}, s.Right.Later.All()...)
		if !s.Right.Open || !s.Next.After(now) || s.Next.After(now.Add(scheduleEvery)) {
			t.Fatalf("the result is %+v", s)
		}
		for range 20 {
			at := now.Add(time.Duration(rapid.Int64Range(0, int64(8*24*time.Hour)-1).Draw(t, "at")))
			w, _ := hoursAt(hours, zone, at)
			open := !at.Before(w.From)
			held := slices.ContainsFunc(all, func(w slot.Window) bool { return !at.Before(w.From) && at.Before(w.To) })
			if open != held {
				t.Fatalf("at %v the hours are open: %v, by what the bridge holds: %v", at, open, held)
			}
		}
		if soon := now.Add(time.Minute).Truncate(scheduleEvery); soon.Equal(now.Truncate(scheduleEvery)) {
			if again := Evaluate(terms, zone, now.Add(time.Minute)); again.End == "" && (again.Right.Later != s.Right.Later || !again.Right.Window.Same(s.Right.Window)) {
				t.Fatal("a minute later it is sent again")
			}
		}
	})
}
