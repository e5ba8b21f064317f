package reservation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/access"
)

func TestLatePatches(t *testing.T) {
	const keep = 30 * 24 * time.Hour
	removed := now.Add(-100 * 24 * time.Hour)
	old, recent := now.Add(-keep), now.Add(-keep).Add(time.Second)
	dated := func(at time.Time) Patch { return Patch{PMSUpdatedAt: at} }
	for _, tt := range []struct {
		name    string
		patch   Patch
		end     time.Time
		keep    time.Duration
		removed *time.Time
		late    bool
	}{
		{"a new stay", Patch{}, now, keep, nil, false},
		{"a new stay that would be kept for a second", Patch{}, recent, keep, nil, false},
		{"a new stay that would be removed", dated(now), old, keep, nil, true},
		{"a new stay that ended long ago, without retention", Patch{}, old, 0, nil, false},
		{"an incomplete new stay", Patch{}, time.Time{}, keep, nil, false},
		{"removed, no time", Patch{}, now, keep, &removed, true},
		{"removed, the time is null", Patch{PMSUpdatedAt: nil}, now, keep, &removed, true},
		{"removed, older", dated(removed.Add(-time.Second)), now, keep, &removed, true},
		{"removed, the same", dated(removed), now, keep, &removed, true},
		{"removed, the same within the precision of the database", dated(removed.Add(time.Nanosecond)), now, keep, &removed, true},
		{"removed, newer", dated(removed.Add(time.Microsecond)), now, keep, &removed, false},
		{"removed, newer, and names no end: it changes the removed stay", dated(now), time.Time{}, keep, &removed, true},
		{"removed, newer, and ended long ago", dated(now), old, keep, &removed, true},
		{"removed, newer, and the retention was prolonged since", dated(now), old, 2 * keep, &removed, false},
	} {
		if late := isLate(tt.patch, tt.end, now, tt.keep, tt.removed); late != tt.late {
			t.Errorf("%s: late = %v", tt.name, late)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, tt := range []struct {
		has  remains
		want Block
	}{
		{remains{}, ""},
		{remains{recentEvent: true}, BlockedByEvents},
		{remains{smartKey: true, recentEvent: true}, BlockedBySmartKey},
		{remains{codeOnLock: true, smartKey: true}, BlockedByLock},
		{remains{openAccess: true, codeOnLock: true}, BlockedByAccess},
	} {
		if got := tt.has.blockedBy(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.has, got, tt.want)
		}
	}
}

func TestErasedFieldsStayEmpty(t *testing.T) {
	held := &Record{PMSID: "A1", Number: "1", State: access.Confirmed, From: now, To: now.Add(time.Hour), ErasedAt: &now}
	for _, tt := range []struct {
		name  string
		patch Patch
	}{
		{"absent", Patch{}},
		{"null", Patch{FirstName: nil, LastName: nil, Email: nil, Mobile: nil, CompanionIDs: nil}},
		{"empty", Patch{FirstName: "", LastName: "", Email: "", Mobile: "", CompanionIDs: []string{}}},
		{"values", Patch{FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com", Mobile: "+351", CompanionIDs: []string{"c1"}}},
		{"values that would be wrong", Patch{Email: "ada"}},
	} {
		sent := plus(tt.patch, Patch{PMSID: "A1", Number: "2"})
		got, wrong := Merge(held, sent, berlin(t), now)
		want := *held
		want.Number = "2" // other fields still change
		if diff := cmp.Diff(want, got); diff != "" || len(wrong) > 0 {
			t.Errorf("%s: %v\n%s", tt.name, wrong, diff)
		}
		if len(tt.patch) > 0 && len(sent) != len(tt.patch)+2 {
			t.Errorf("%s: the patch itself was changed", tt.name)
		}
	}
}

func TestNewStayWithTheIDOfAnErasedOne(t *testing.T) {
	erased := now.Add(-time.Hour)
	last := erased.Add(-24 * time.Hour)
	newer, name := last.Add(time.Microsecond), "Hopper"
	over, coming := now.Add(-30*24*time.Hour), now.Add(5*24*time.Hour) // when the erased stay ends
	for _, tt := range []struct {
		what string
		last *time.Time
		p    Patch
		from time.Time
		end  time.Time
		want bool
	}{
		{"a newer patch, and a stay after the erasure", &last, Patch{PMSUpdatedAt: newer, LastName: name}, now, over, true},
		{"the erased stay has no time", nil, Patch{PMSUpdatedAt: now, LastName: name}, now, over, true},
		{"the erased stay has no time, and the patch is older than the erasure", nil, Patch{PMSUpdatedAt: erased, LastName: name}, now, over, false},
		{"a patch without a time", &last, Patch{LastName: name}, now, over, false},
		{"the same time", &last, Patch{PMSUpdatedAt: last, LastName: name}, now, over, false},
		{"the same time within the precision of the database", &last, Patch{PMSUpdatedAt: last.Add(time.Nanosecond), LastName: name}, now, over, false},
		{"a late change of the erased stay", &last, Patch{PMSUpdatedAt: now, LastName: name}, erased.Add(-48 * time.Hour), over, false},
		{"it begins at the erasure", &last, Patch{PMSUpdatedAt: now, LastName: name}, erased, over, false},
		{"no beginning", &last, Patch{PMSUpdatedAt: now, LastName: name}, time.Time{}, over, false},
		{"no booker", &last, Patch{PMSUpdatedAt: now}, now, over, false},
		{"a change of an erased stay that is still to come", &last, Patch{PMSUpdatedAt: now, LastName: name}, coming.Add(-48 * time.Hour), coming, false},
		{"an erased stay that is still to come is moved past its end", &last, Patch{PMSUpdatedAt: now, LastName: name}, coming, coming, false},
		{"a stay that begins as the erased one ends", &last, Patch{PMSUpdatedAt: coming, LastName: name}, coming, coming, true},
		{"a stay that begins before the erased one ends", &last, Patch{PMSUpdatedAt: coming, LastName: name}, coming.Add(-time.Second), coming, false},
		{"an erased stay without dates", &last, Patch{PMSUpdatedAt: now, LastName: name}, now, time.Time{}, false},
	} {
		held := Record{ErasedAt: &erased, PMSUpdatedAt: tt.last, To: tt.end}
		if !tt.end.IsZero() {
			held.From = tt.end.Add(-72 * time.Hour)
		}
		if got := isNewStay(held, tt.p, tt.from); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
}
