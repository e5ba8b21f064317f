package lock

import "testing"

func TestTenureAt(t *testing.T) {
	now := tenure{GrantID: "gra_now", Since: 20, Until: 25}
	earlier := []tenure{{GrantID: "gra_first", Since: 1, Until: 4}, {GrantID: "gra_second", Since: 9, Until: 19}}
	for generation, want := range map[int64]string{
		0: "", 1: "gra_first", 4: "gra_first", 5: "", 8: "", 9: "gra_second", 19: "gra_second", 20: "gra_now", 25: "gra_now", 26: "",
	} {
		if got, ok := tenureAt(generation, now, earlier); got.GrantID != want || ok != (want != "") {
			t.Errorf("generation %d: of %q, %v, want %q", generation, got.GrantID, ok, want)
		}
	}
	if got, ok := tenureAt(3, tenure{Since: 1, Until: 4}, nil); ok {
		t.Errorf("a slot that nobody has: %+v", got)
	}
}

func TestDoorThen(t *testing.T) {
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
		if got := doorThen(tt.hung, tt.code, tt.clock); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
