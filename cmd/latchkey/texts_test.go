package main

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// What the guest may read is not printed as a sentence to staff.
func TestGuestsSentenceIsMarked(t *testing.T) {
	s, w := newWorld(t)
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "processed", "R101", 2)
	for _, command := range []string{"reservation show 4711", "reservation explain 4711"} {
		if out := s.ok(command, "the guest reads  ", "You are checked out."); strings.Contains(out, "the stay  ") {
			t.Errorf("%s:\n%s", command, out)
		}
	}
}

func TestTextOfPINLength(t *testing.T) {
	for digits, want := range map[int32]string{0: "automatic (6 or 8 digits)", 6: "6 digits"} {
		if got := pinText(digits); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTextOfPartnersError(t *testing.T) {
	for want, c := range map[string][2]string{"nope: bad token": {"nope", "bad token"}, "nope": {"nope", ""}, "bad token": {"", "bad token"}} {
		if got := reasonAndMessage(c[0], c[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A mapping that stays is not printed as one that moved to the same space.
func TestTextOfChangedMapping(t *testing.T) {
	room := func(id, name, partner string) *propertyv1.MappedSpace {
		return &propertyv1.MappedSpace{SpaceId: id, SpaceName: name, PartnerName: partner}
	}
	for want, c := range map[string][2]*propertyv1.MappedSpace{
		"- → Room 1":      {nil, room("spc_1", "Room 1", "A")},
		"Room 1 → -":      {room("spc_1", "Room 1", "A"), nil},
		"Room 1 → Room 2": {room("spc_1", "Room 1", "A"), room("spc_2", "Room 2", "A")},
		"Room 1, which the PMS called A and now calls B": {room("spc_1", "Room 1", "A"), room("spc_1", "Room 1", "B")},
		"Room 1, unchanged": {room("spc_1", "Room 1", "A"), room("spc_1", "Room 1", "A")},
	} {
		if got := changedRow(c[0], c[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
