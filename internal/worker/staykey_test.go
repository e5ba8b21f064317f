package worker

import (
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/mail"
)

func TestMailAfter(t *testing.T) {
	inRoom, inOther := "rsv_one/key/same/3/room", "rsv_one/key/other/3/otherRoom"
	withPIN, atDesk, closed := stayKey{hasPIN: true}, stayKey{atDesk: true}, stayKey{}
	for _, c := range []struct {
		what   string
		key    stayKey
		former string
		want   mail.Kind
	}{
		{"the first code", withPIN, "", mail.Key},
		{"a stay that begins in a room without a lock", atDesk, "", ""},
		{"the same content", withPIN, inRoom, ""},
		{"another code or room", withPIN, inOther, mail.KeyChanged},
		{"a mail of a version without the room in its key", withPIN, "rsv_one/key/same/3", ""},
		{"a move to a room without a lock", atDesk, inOther, mail.KeyChanged},
		{"the same move again", atDesk, inRoom, ""},
		{"the lock of the room is removed", atDesk, "rsv_one/key/other/3/room", ""},
		{"a move that ends the access", closed, inOther, ""},
	} {
		c.key.contentHash, c.key.room = "same", "room"
		if got := c.key.mailAfter(c.former); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestIsKeyAtDesk(t *testing.T) {
	open := &access.Window{}
	room, gate, locked := access.PlannedDoor{Reason: access.NoLock}, access.PlannedDoor{Kind: access.Gate, Reason: access.NoLock}, access.PlannedDoor{Reason: access.PINNotPossible}
	left := access.PlannedDoor{Left: true, Reason: access.MovingOut}
	for _, c := range []struct {
		what   string
		window *access.Window
		doors  []access.PlannedDoor
		want   bool
	}{
		{"a room without a lock", open, []access.PlannedDoor{room}, true},
		{"with a former door and a gate", open, []access.PlannedDoor{room, left, gate}, true},
		{"a bed without a lock in a dorm with one", open, []access.PlannedDoor{room, locked}, false},
		{"without a room", open, []access.PlannedDoor{left, gate}, false},
		{"after the stay", nil, []access.PlannedDoor{room}, false},
	} {
		if got := isKeyAtDesk(access.Plan{Window: c.window, Doors: c.doors}); got != c.want {
			t.Errorf("%s: %t, want %t", c.what, got, c.want)
		}
	}
}

// A door without a lock confirms nothing, so a code for the gates alone is confirmed without it.
func TestIsConfirmed(t *testing.T) {
	proven, sent := access.PlannedDoor{Kind: access.Gate, PIN: slot.Verified}, access.PlannedDoor{PIN: slot.Sent}
	bare, left := access.PlannedDoor{Reason: access.NoLock}, access.PlannedDoor{Left: true, PIN: slot.Removing}
	for _, c := range []struct {
		what  string
		doors []access.PlannedDoor
		want  bool
	}{
		{"no door", nil, false},
		{"a lock that has not answered", []access.PlannedDoor{proven, sent}, false},
		{"all locks, and a former door", []access.PlannedDoor{proven, left}, true},
		{"a gate, and a room without a lock", []access.PlannedDoor{proven, bare}, true},
	} {
		if got := isConfirmed(access.Plan{Doors: c.doors}); got != c.want {
			t.Errorf("%s: %t, want %t", c.what, got, c.want)
		}
	}
}
