package access

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStand(t *testing.T) {
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
	open := func(from, to time.Time, back bool) Standing {
		return Standing{Right: Right{Open: true, Window: Window{from, to}, HeldBack: back}, Next: to}
	}
	for _, c := range []struct {
		name string
		in   Terms
		want Standing
	}{
		{"at any hour, without an end", Terms{Kind: StaffCode, NotBefore: made}, open(made, time.Time{}, false)},
		{"with an end", Terms{Kind: StaffCode, NotBefore: made, NotAfter: now.Add(time.Hour)}, open(made, now.Add(time.Hour), false)},
		{"over", Terms{Kind: StaffCode, NotBefore: made, NotAfter: now}, Standing{End: EndPast}},
		{"not begun", Terms{Kind: StaffCode, NotBefore: now.Add(time.Hour)}, open(now.Add(time.Hour), time.Time{}, true)},
		{"within hours", Terms{Kind: StaffCode, Hours: work, NotBefore: made}, open(at("2026-11-20T08:00:00Z"), at("2026-11-20T16:00:00Z"), false)},
		{"hours that end early", Terms{Kind: StaffCode, Hours: work, NotBefore: made, NotAfter: now.Add(time.Hour)}, open(at("2026-11-20T08:00:00Z"), now.Add(time.Hour), false)},
		{"begins within hours", Terms{Kind: StaffCode, Hours: work, NotBefore: at("2026-11-23T09:00:00Z")}, open(at("2026-11-23T09:00:00Z"), at("2026-11-23T16:00:00Z"), true)},
		{"no hours left", Terms{Kind: StaffCode, Hours: []Hours{{Days: []int{1}, From: "08:00", To: "16:00"}}, NotBefore: made, NotAfter: at("2026-11-22T00:00:00Z")}, Standing{End: EndPast}},
		{"revoked", Terms{Kind: StaffCode, Hours: work, NotBefore: made, End: EndRevoked}, Standing{End: EndRevoked}},
		{"one time", Terms{Kind: OneTimeCode, NotBefore: made}, open(made, time.Time{}, false)},
		{"one time, used", Terms{Kind: OneTimeCode, NotBefore: made, Used: true}, Standing{End: EndUsed}},
		{"a backup that was used opens on", Terms{Kind: BackupCode, NotBefore: made, Used: true}, open(made, time.Time{}, false)},
		{"swapped", Terms{Kind: BackupCode, NotBefore: made, End: EndSwapped}, Standing{End: EndSwapped}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Stand(c.in, time.UTC, now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissingBackups(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Keeper
		want int
	}{
		{"a new lock", Keeper{OnDoor: true, Slots: 30}, 2},
		{"one is gone", Keeper{OnDoor: true, Slots: 30, Codes: 1}, 1},
		{"as it shall be", Keeper{OnDoor: true, Slots: 30, Codes: 2}, 0},
		{"on no door", Keeper{Slots: 30}, 0},
		{"few slots", Keeper{OnDoor: true, Slots: 7}, 0},
	} {
		if got := MissingBackups([]Keeper{c.in})[""]; got != c.want {
			t.Errorf("%s: %d; want %d", c.name, got, c.want)
		}
	}
}
