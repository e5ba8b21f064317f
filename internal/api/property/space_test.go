package property

import (
	"testing"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/staff"
)

func TestWhoReadsCodeUses(t *testing.T) {
	person := func(role staff.Role) actor.Actor {
		return actor.Actor{Kind: actor.Staff, PersonID: "prs_one", Role: string(role)}
	}
	for name, tt := range map[string]struct {
		a    actor.Actor
		want bool
	}{
		"housekeeping": {person(staff.Housekeeping), false},
		"front desk":   {person(staff.FrontDesk), true},
		"manager":      {person(staff.Manager), true},
		"a token":      {actor.Actor{Kind: actor.Staff, Role: "viewer"}, true},
		"no role":      {person(""), false},
	} {
		if got := mayReadCodeUses(tt.a); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
