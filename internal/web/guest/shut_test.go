package guest

import (
	"fmt"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
)

// What a guest tries at a door depends on what is known about it. The page never sends a guest to type a code that is not on the door.
func TestTriesAt(t *testing.T) {
	const all = "[right digits push blocked phone]"
	for _, c := range []struct {
		pin, reason string
		begun       bool
		want        string
	}{
		{"verified", "", true, all}, {"used", "", true, all}, {"accepted", "", true, all}, {"unconfirmed", "", true, all}, {"verified", "movingOut", true, all},
		{"verified", "ownPin", true, all}, {"verified", "somethingNew", true, all},
		{"verified", "", false, "[fromTime]"}, {"verified", "windowInFuture", false, "[fromTime]"},
		{"planned", "", true, "[wait phone]"}, {"queued", "", true, "[wait phone]"}, {"sent", "", true, "[wait phone]"},
		{"failed", "", true, "[noCode phone]"}, {"failed", "lockOffline", true, "[noCode]"}, {"sent", "lockOffline", true, "[noCode]"},
		{"", "noLock", true, "[noCode]"}, {"", "", true, "[noCode phone]"}, {"queued", "noBridge", true, "[noCode]"}, {"queued", "bridgeRevoked", true, "[noCode]"},
		{"verified", "lockJammed", true, "[pressure phone]"}, {"queued", "lockJammed", true, "[pressure phone]"},
	} {
		d := stateOf(&guestv1.StayDoor{Pin: c.pin, Reason: c.reason}, c.begun)
		if got := fmt.Sprint(triesAt(d, true)); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.pin, c.reason, got, c.want)
		}
		if without := fmt.Sprint(triesAt(d, false)); strings.Contains(without, "phone") {
			t.Errorf("%q %q: the page sends a device without a SmartKey to open with it: %s", c.pin, c.reason, without)
		}
		for _, try := range triesAt(d, true) {
			if kind := "web.shut." + string(try); !message.Has(kind) {
				t.Errorf("%s has no text", kind)
			}
		}
	}
}

// The page names each door with its state and the next things to try, and ends with the property's phone.
func TestShutPage(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	b.shows("/g/stays/rsv_1/key/help", "It does not open", "Your key waits at the desk.", "Call +351210000000")
	f.stay.State, f.stay.CheckIn.Stage, f.stay.OpensAt = "started", "checkedIn", f.stay.GetFrom()
	f.now = f.stay.GetFrom().AsTime()
	f.stay.Doors = []*guestv1.StayDoor{{Id: "spc_1", Name: "Room 204", Pin: "verified"}, {Id: "gat_2", Kind: "gate", Name: "Garage", Pin: "used"}, {Id: "gat_1", Kind: "gate", Name: "Gate", Pin: "failed", Reason: "lockOffline"}}
	b.shows("/g/stays/rsv_1", "The door does not open?")
	a := b.shows("/g/stays/rsv_1/key/help", "Room 204 ● ", "Garage ● Your code works. Check that this is your door", "Open it with this phone Call +351210000000 Gate ✕", "so typing it again does not help. Call +351210000000")
	if !strings.Contains(a.body, `href="/g/stays/rsv_1#open"`) {
		t.Error("the page has no link to open with the phone")
	}
}
