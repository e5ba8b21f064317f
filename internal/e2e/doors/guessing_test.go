package doors

import (
	"context"
	"fmt"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// guesses types a wrong PIN 40 times and returns how often the keypad read it.
func guesses(t *testing.T, w *e2etest.World, door string) (read int) {
	t.Helper()
	for range 40 {
		p, err := w.TypePIN(t.Context(), w.Spaces[door], "000111")
		if err != nil {
			t.Fatal(err)
		}
		if p.Reason == "wrongPin" {
			read++
		}
	}
	return read
}

// locked is a guest with a PIN on Room 101, whose length is that of a lock at which something slows guessing.
func locked(t *testing.T, w *e2etest.World) (pin string) {
	t.Helper()
	w.Await("what slows guessing is known", func(ctx context.Context) (bool, error) {
		can := lockAt(ctx, t, w, "Room 101").GetData().GetAbilities()
		front := lockAt(ctx, t, w, sandbox.FrontDoor).GetData().GetAbilities()
		return !can.GetGuessable() && !front.GetGuessable(), fmt.Errorf("%v %v", can, front)
	})
	g := arrives(t, w, "S", room("R101"))
	g.settles("issued")
	pin = g.pin()
	if len(pin) != 6 {
		t.Fatalf("a PIN of %d digits, want 6", len(pin))
	}
	if !types(t, w, "Room 101", pin) {
		t.Fatal("the guest's PIN does not open")
	}
	return pin
}

func TestGuessingPausesAKeypadAndIsShown(t *testing.T) {
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Profile = sim.Pausable })
	pin := locked(t, w)
	w.Await("the keypad is paused", func(ctx context.Context) (bool, error) { // the bridge learns of wrong PINs a little later
		guesses(t, w, "Room 101")
		return !types(t, w, "Room 101", pin), nil
	})
	var lockID string
	w.Await("the pause is shown", func(ctx context.Context) (bool, error) {
		l := lockAt(ctx, t, w, "Room 101").GetData()
		lockID = l.GetId()
		return l.GetStatus().GetKeypadPausedUntil() != nil && l.GetAbilities().GetKeypadPause(), nil
	})
	w.Await("the notice says until when", func(ctx context.Context) (bool, error) {
		n, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(ctx), &propertyv1.ListNoticesRequest{})
		for _, one := range n.GetData().GetList() {
			if one.GetKind() == "guessing" && one.GetSubject() == lockID && strings.Contains(one.GetText(), "paused until") {
				return true, nil
			}
		}
		return false, err
	})
	a, err := propertyv1.NewLockServiceClient(w.Public).UnlockLock(w.Staff(t.Context()), &propertyv1.UnlockLockRequest{Id: lockID})
	if err != nil || a.GetData().GetResult() != "opened" {
		t.Errorf("staff open a door whose keypad is paused: %v %v", a, err)
	}
}

func TestTheLockoutOfALockSlowsGuessing(t *testing.T) {
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Profile = sandbox.LockoutProfile })
	pin := locked(t, w)
	can := lockAt(t.Context(), t, w, "Room 101").GetData().GetAbilities()
	if can.GetLockout() != "verified" || can.GetLockoutAttempts() != 5 || can.GetLockoutSeconds() != 240 {
		t.Errorf("abilities %v", can)
	}
	if read := guesses(t, w, "Room 101"); read != 5 {
		t.Errorf("the keypad read %d of 40 wrong PINs, want 5", read)
	}
	if types(t, w, "Room 101", pin) {
		t.Error("the right PIN opens during the lockout")
	}
}

// The usual virtual locks have nothing against guessing.
func TestPINsAreLongerAtGuessableLocks(t *testing.T) {
	w := e2etest.Open(t)
	if can := lockAt(t.Context(), t, w, "Room 101").GetData().GetAbilities(); !can.GetGuessable() || can.GetLockout() != "none" {
		t.Fatalf("abilities %v", can)
	}
	g := arrives(t, w, "S", room("R101"))
	g.settles("issued")
	if pin := g.pin(); len(pin) != 8 {
		t.Errorf("a PIN of %d digits, want 8", len(pin))
	}
}
