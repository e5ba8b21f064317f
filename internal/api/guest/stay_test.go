package guest

import (
	"testing"

	"latchkey.dev/ent"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
)

// A question that the law asks until the departure is a task of a guest in the house, until it is answered.
func TestDepartureTask(t *testing.T) {
	main := guest.Member{Row: &ent.Guest{ID: "gst_1", Role: guest.Main}}
	companion := guest.Member{Row: &ent.Guest{ID: "gst_2", Role: guest.Companion}, Open: []rule.Field{rule.NextDestination}}
	for _, test := range []struct {
		state, guestID string
		members        []guest.Member
		want           bool
	}{
		{"started", "", []guest.Member{main, companion}, true},
		{"started", "gst_2", []guest.Member{main, companion}, true},
		{"started", "gst_1", []guest.Member{main, companion}, false},
		{"started", "", []guest.Member{main}, false},
		{"confirmed", "", []guest.Member{main, companion}, false},
	} {
		p := &guest.Party{Reservation: &ent.Reservation{State: test.state}, Stay: &ent.Stay{}, Settings: &guest.Settings{}, Members: test.members}
		first := tasks(p, actor.Actor{GuestID: test.guestID})[0]
		if got := first.GetKind() == "departure"; got != test.want || got && (first.GetGuestId() != "gst_2" || first.GetStep() != "journey" || first.GetState() != "todo") {
			t.Errorf("%+v: %v", test, first)
		}
	}
}
