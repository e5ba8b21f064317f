// Package doors tests the whole at its keypads: what a PIN opens, step by step of a stay, and while things fail.
package doors

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// guest is a reservation whose guest types PINs.
type guest struct {
	t  *testing.T
	w  *e2etest.World
	id string
}

// arrives makes a reservation that is checked in.
func arrives(t *testing.T, w *e2etest.World, id string, fields map[string]any) *guest {
	t.Helper()
	g := &guest{t, w, id}
	all := map[string]any{"state": "started"}
	for k, v := range fields {
		all[k] = v
	}
	e2etest.PushReservation(t, w, id, all)
	return g
}

// push changes the reservation and returns the access plan of the answer.
func (g *guest) push(fields map[string]any) plan {
	g.t.Helper()
	a, err := g.w.PMS.Push(g.t.Context(), g.id, fields)
	if err != nil || a.Status != 200 {
		g.t.Fatalf("%s: %v %v", g.id, a, err)
	}
	return planOf(a.Data())
}

// plan is an access plan as the PMS reads it.
type plan struct {
	status  string
	reasons []string
	to      string
	doors   map[string]string // evidence of the PIN by name
	why     map[string]string // reason by name
}

func planOf(data map[string]any) plan {
	p := plan{doors: map[string]string{}, why: map[string]string{}}
	p.status, _ = e2etest.ValueAt(data, "access.status").(string)
	p.to, _ = e2etest.ValueAt(data, "access.window.to").(string)
	reasons, _ := e2etest.ValueAt(data, "access.reasons").([]any)
	for _, r := range reasons {
		p.reasons = append(p.reasons, r.(string))
	}
	doors, _ := e2etest.ValueAt(data, "access.doors").([]any)
	for _, d := range doors {
		name := e2etest.ValueAt(d, "name").(string)
		p.doors[name], _ = e2etest.ValueAt(d, "pin").(string)
		p.why[name], _ = e2etest.ValueAt(d, "reason").(string)
	}
	return p
}

// sees is what the PMS sees now: the plan and the PIN, "" if there is none.
func (g *guest) sees() (plan, string) {
	g.t.Helper()
	a, err := g.w.PMS.Do(g.t.Context(), "GET", "/v1/reservations/find?pmsId="+g.id+"&extend=pin,gatePins,access", nil)
	if err != nil || a.Status != 200 {
		g.t.Fatalf("%s: %v %v", g.id, a, err)
	}
	pin, _ := a.Data()["pin"].(string)
	return planOf(a.Data()), pin
}

// proven are the evidence words of a code that was read back.
var proven = []string{"verified", "used"}

// settles waits until a plan has a status and every door of it that is not going is proven.
func (g *guest) settles(status string) plan {
	g.t.Helper()
	return g.settlesWith(status, proven)
}

// settlesWith is settles for locks that prove less.
func (g *guest) settlesWith(status string, proof []string) plan {
	g.t.Helper()
	var p plan
	g.w.Await(g.id+" is "+status, func(context.Context) (bool, error) {
		p, _ = g.sees()
		if p.status != status {
			return false, fmt.Errorf("%s is %+v", g.id, p)
		}
		for name, evidence := range p.doors {
			if status == "issued" && !slices.Contains(proof, evidence) || status == "removed" && evidence != "removed" {
				return false, fmt.Errorf("%s at %s is %s (%s)", g.id, name, evidence, p.why[name])
			}
		}
		return true, nil
	})
	return p
}

// pin is the PIN of a stay that has access.
func (g *guest) pin() string {
	g.t.Helper()
	_, pin := g.sees()
	if pin == "" {
		g.t.Fatalf("%s has no PIN", g.id)
	}
	return pin
}

// types presses a PIN at a door and says whether it opened.
func types(t *testing.T, w *e2etest.World, door, pin string) bool {
	t.Helper()
	p, err := w.TypePIN(t.Context(), w.Spaces[door], pin)
	if err != nil {
		t.Fatal(err)
	}
	return p.Opened
}

// opens fails unless the PIN opens exactly these doors of the house.
func (g *guest) opens(pin string, doors ...string) {
	g.t.Helper()
	for _, door := range doorsOfHouse {
		if want := slices.Contains(doors, door); types(g.t, g.w, door, pin) != want {
			g.t.Errorf("the PIN of %s opens %s: %v; want %v", g.id, door, !want, want)
		}
	}
}

// awaitMove waits until the PIN no longer opens the door of the former room, and fails if it does not open the new door then. It types
// the PIN at the new door only then, because a lock pauses its keypad after a few wrong PINs.
func (g *guest) awaitMove(pin, from, to string) {
	g.t.Helper()
	g.w.Await("the move is over", func(context.Context) (bool, error) { return !types(g.t, g.w, from, pin), nil })
	if !types(g.t, g.w, to, pin) {
		g.t.Fatal("the guest is in front of two locked doors")
	}
}

// doorsOfHouse is every door of the sandbox.
var doorsOfHouse = slices.Concat(sandbox.RoomNames, []string{sandbox.DormName}, sandbox.BedNames, []string{sandbox.FrontDoor})

// leaves ends the stay and waits until all its codes are gone.
func (g *guest) leaves() {
	g.t.Helper()
	g.push(map[string]any{"state": "canceled"})
	g.settles("removed")
}
