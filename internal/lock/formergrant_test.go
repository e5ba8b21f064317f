package lock

import "testing"

func TestSlotGrantIncludesBothEnds(t *testing.T) {
	g := slotGrant{GrantID: "gra_a", Since: 9, Until: 19}
	for generation, want := range map[int64]bool{0: false, 8: false, 9: true, 19: true, 20: false} {
		if got := g.had(generation); got != want {
			t.Errorf("generation %d: %v, want %v", generation, got, want)
		}
	}
	if (slotGrant{Since: 1, Until: 4}).had(3) {
		t.Error("a slot that had no grant has one")
	}
}

func TestEventDoor(t *testing.T) {
	for _, tt := range []struct{ name, hung, code, clock, want string }{
		{"no code of a slot", "spc_1", "", "synchronized", "spc_1"},
		{"no code, by a clock that is wrong", "spc_1", "", "untrusted", "spc_1"},
		{"no code, on no door", "", "", "synchronized", ""},
		{"a code that was left on a lock that was moved", "spc_2", "spc_1", "synchronized", "spc_2"},
		{"the same by a clock that is a little off", "spc_2", "spc_1", "drifting", "spc_2"},
		{"by a clock that is wrong", "spc_2", "spc_1", "untrusted", "spc_1"},
		{"by a clock of which nothing is known", "spc_2", "spc_1", "", "spc_1"},
		{"a lock that was taken off its door", "", "spc_1", "synchronized", "spc_1"},
	} {
		if got := eventDoor(tt.hung, tt.code, tt.clock); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
