package guest

import (
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
)

func statesOf(doors []*guestv1.StayDoor) (out []doorState) {
	for _, d := range doors {
		out = append(out, stateOf(d, true))
	}
	return out
}

// What a guest reads about a door never says that a code works in the colors of a failure, or the other way round.
func TestStateOfADoor(t *testing.T) {
	for _, tt := range []struct {
		pin, reason string
		notBegun    bool
		text        string
		tone        tone
	}{
		{pin: "", text: "web.door.noLock", tone: toneWarn},
		{pin: "", reason: "noLock", text: "web.door.noLock", tone: toneWarn},
		{pin: "", reason: "movingOut", text: "web.door.noLock", tone: toneWarn},
		{pin: "planned", text: "web.pin.planned", tone: toneInfo},
		{pin: "sent", reason: "windowInFuture", text: "web.pin.sent", tone: toneInfo},
		{pin: "queued", reason: "lockOffline", text: "web.door.lockOffline", tone: toneBad},
		{pin: "queued", reason: "noBridge", text: "web.door.noBridge", tone: toneBad},
		{pin: "accepted", text: "web.pin.accepted", tone: toneOK},
		{pin: "verified", text: "web.pin.verified", tone: toneOK},
		{pin: "used", text: "web.pin.used", tone: toneOK},
		{pin: "verified", notBegun: true, text: "web.pin.from", tone: toneOK},
		{pin: "accepted", notBegun: true, text: "web.pin.accepted", tone: toneOK},
		{pin: "accepted", reason: "windowInFuture", notBegun: true, text: "web.pin.accepted", tone: toneOK},
		{pin: "verified", reason: "windowInFuture", notBegun: true, text: "web.pin.from", tone: toneOK},
		{pin: "used", notBegun: true, text: "web.pin.used", tone: toneOK},
		{pin: "verified", reason: "ownPin", text: "web.pin.verified", tone: toneOK},
		{pin: "verified", reason: "movingOut", text: "web.door.movingOut", tone: toneOK},
		{pin: "used", reason: "movingOut", text: "web.door.movingOut", tone: toneOK},
		{pin: "unconfirmed", reason: "movingOut", text: "web.pin.unconfirmed", tone: toneUnknown},
		{pin: "unconfirmed", text: "web.pin.unconfirmed", tone: toneUnknown},
		{pin: "verified", reason: "lockJammed", text: "web.door.lockJammed", tone: toneBad},
		{pin: "queued", reason: "lockJammed", text: "web.door.lockJammed", tone: toneBad},
		{pin: "verified", reason: "noBridge", text: "web.pin.unconfirmed", tone: toneUnknown},
		{pin: "verified", reason: "clockUntrusted", text: "web.pin.unconfirmed", tone: toneUnknown},
		{pin: "failed", text: "web.pin.failed", tone: toneBad},
		{pin: "failed", reason: "slotsFull", text: "web.pin.failed", tone: toneBad},
		{pin: "failed", reason: "lockOffline", text: "web.door.lockOffline", tone: toneBad},
		{pin: "removing", text: "web.pin.removing", tone: toneInfo},
	} {
		got := stateOf(&guestv1.StayDoor{Pin: tt.pin, Reason: tt.reason}, !tt.notBegun)
		if got.Text != tt.text || got.Tone != tt.tone || got.Mark == "" {
			t.Errorf("%q, %q, begun %v: %s, %s, %q; want %s, %s", tt.pin, tt.reason, !tt.notBegun, got.Text, got.Tone, got.Mark, tt.text, tt.tone)
		}
		if !message.Has(got.Text) {
			t.Errorf("no text %s", got.Text)
		}
	}
}
