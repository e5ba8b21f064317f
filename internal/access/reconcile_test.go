package access

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

var (
	present = Window{time.Unix(1000, 0), time.Unix(9000, 0)}
	former  = Window{time.Unix(1000, 0), time.Unix(5000, 0)}
	allowed = Right{Open: true, Window: present}
)

// aDoor makes a door whose lock is named after it and can be read back.
func aDoor(id string, k Kind) Door {
	return Door{ID: id, Name: id, Kind: k, Lock: &Lock{ID: "l-" + id, Online: true, BridgeOnline: true, ReadBack: true, SmartKey: true}}
}

func room(id string) Door   { return aDoor(id, Room) }
func gateAt(id string) Door { return aDoor(id, Gate) }

// code is a desired code on the lock of a door.
func code(door string, e slot.Evidence) SlotCode {
	return SlotCode{SlotID: "s-" + door, LockID: "l-" + door, DoorID: door, Present: true, Window: present, PIN: "pin", Evidence: e, ReadBack: true}
}

func but(h SlotCode, f func(*SlotCode)) SlotCode { f(&h); return h }

func TestReconcile(t *testing.T) {
	bare := Door{ID: "bare", Kind: Room}
	off := room("new")
	off.Inactive = true
	revoked := room("new")
	revoked.Lock.Bridge = lock.BridgeRevoked
	relocked := room("old")
	relocked.Lock.ID = "l-second"
	taken := func(h *SlotCode) { h.TakenOver = true }
	blind := func(h *SlotCode) { h.ReadBack = false }
	outdated := func(h *SlotCode) { h.Window = former }
	leaving := func(h *SlotCode) { h.Present = false }
	beyond := func(h *SlotCode) { h.BeyondLock, h.Result = true, string(slot.SlotsFull) }
	for _, c := range []struct {
		name     string
		right    Right
		unplaced bool
		doors    []Door
		held     []SlotCode
		want     []Step
	}{
		{"issue", allowed, false, []Door{room("a"), gateAt("g")}, nil, []Step{{Put, "a", ""}, {Put, "g", ""}}},
		{"as desired", allowed, false, []Door{room("a")}, []SlotCode{code("a", slot.Queued)}, nil},
		{"nothing to open", allowed, false, []Door{bare}, nil, nil},
		{"a space that is switched off", allowed, false, []Door{off}, nil, nil},
		{"a revoked bridge may be enrolled again", allowed, false, []Door{revoked}, nil, []Step{{Put, "new", ""}}},
		{"dates moved", allowed, false, []Door{room("a"), gateAt("g")}, []SlotCode{but(code("a", slot.Verified), outdated), but(code("g", slot.Used), outdated)},
			[]Step{{Change, "a", "s-a"}, {Change, "g", "s-g"}}},
		{"another PIN", allowed, false, []Door{room("a")}, []SlotCode{but(code("a", slot.Failed), func(h *SlotCode) { h.PIN = "refused" })}, []Step{{Change, "a", "s-a"}}},
		{"ended", Right{}, false, []Door{room("a")}, []SlotCode{code("a", slot.Verified), but(code("b", slot.Removing), leaving)}, []Step{{Clear, "a", "s-a"}}},
		{"never opened", Right{}, false, []Door{room("a")}, nil, nil},

		{"a move makes first", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified)}, []Step{{Put, "new", ""}}},
		{"and waits", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified), code("new", slot.Sent)}, nil},
		{"however long", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified), code("new", slot.Unconfirmed)}, nil},
		{"also for a refusal", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified), code("new", slot.Failed)}, nil},
		{"accepted is not verified", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified), code("new", slot.Accepted)}, nil},
		{"but is all that some locks can say", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified), but(code("new", slot.Accepted), blind)},
			[]Step{{Clear, "old", "s-old"}}},
		{"verified breaks", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified), code("new", slot.Verified)}, []Step{{Clear, "old", "s-old"}}},
		{"used breaks", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified), code("new", slot.Used)}, []Step{{Clear, "old", "s-old"}}},
		{"every new door counts", allowed, false, []Door{room("dorm"), aDoor("bed", Bed)}, []SlotCode{code("old", slot.Verified), code("dorm", slot.Verified), code("bed", slot.Sent)}, nil},
		{"a new gate does not", allowed, false, []Door{room("new"), gateAt("g")}, []SlotCode{code("old", slot.Verified), code("new", slot.Verified)},
			[]Step{{Put, "g", ""}, {Clear, "old", "s-old"}}},
		{"a door given to another goes at once", allowed, false, []Door{room("new")}, []SlotCode{but(code("old", slot.Verified), taken)},
			[]Step{{Put, "new", ""}, {Clear, "old", "s-old"}}},
		{"the gate of a place that is left stays with it", allowed, false, []Door{room("new"), gateAt("g")},
			[]SlotCode{code("old", slot.Verified), code("g", slot.Verified), code("g-old", slot.Verified), code("new", slot.Queued)}, nil},
		{"and goes with it", allowed, false, []Door{room("new"), gateAt("g")},
			[]SlotCode{code("old", slot.Verified), code("g", slot.Verified), code("g-old", slot.Verified), code("new", slot.Verified)},
			[]Step{{Clear, "old", "s-old"}, {Clear, "g-old", "s-g-old"}}},
		{"a gate that no longer lets in goes at once", allowed, false, []Door{room("a")}, []SlotCode{code("a", slot.Verified), code("g", slot.Verified)}, []Step{{Clear, "g", "s-g"}}},
		{"to a room without a lock waits for nothing", allowed, false, []Door{bare}, []SlotCode{code("old", slot.Verified)}, []Step{{Clear, "old", "s-old"}}},
		{"to a space that leads nowhere waits for a mapping", allowed, true, nil, []SlotCode{code("old", slot.Verified)}, nil},
		{"unless another has the door", allowed, true, nil, []SlotCode{but(code("old", slot.Verified), taken)}, []Step{{Clear, "old", "s-old"}}},
		{"what waits follows the dates", allowed, true, nil, []SlotCode{but(code("old", slot.Verified), outdated)}, []Step{{Change, "old", "s-old"}}},
		{"what waits ends with the stay", Right{}, true, nil, []SlotCode{code("old", slot.Verified)}, []Step{{Clear, "old", "s-old"}}},
		{"a full lock keeps the old door", allowed, false, []Door{room("new")}, []SlotCode{code("old", slot.Verified)}, []Step{{Put, "new", ""}}},
		{"a code that is still on the lock is kept when the stay moves back", allowed, false, []Door{room("old")}, []SlotCode{code("old", slot.Verified), code("new", slot.Sent)}, []Step{{Clear, "new", "s-new"}}},
		{"back again takes a removal back", allowed, false, []Door{room("old")}, []SlotCode{but(code("old", slot.Removing), leaving), code("new", slot.Verified)},
			[]Step{{Change, "old", "s-old"}}},
		{"a removed code is set again", allowed, false, []Door{room("old")}, []SlotCode{but(code("old", slot.Removed), leaving)}, []Step{{Put, "old", ""}}},

		{"another lock on the door", allowed, false, []Door{relocked}, []SlotCode{code("old", slot.Verified)}, []Step{{Put, "old", ""}}},
		{"the lock is elsewhere by now", allowed, false, []Door{relocked}, []SlotCode{but(code("old", slot.Verified), func(h *SlotCode) { h.LockMoved = true })},
			[]Step{{Put, "old", ""}, {Clear, "old", "s-old"}}},
		{"a slot that holds another's code is left for a fresh one", allowed, false, []Door{room("a")},
			[]SlotCode{but(code("a", slot.Failed), func(h *SlotCode) { h.Result = string(slot.Occupied) })}, []Step{{Put, "a", ""}, {Clear, "a", "s-a"}}},
		{"a slot that the lock does not have is left for another", allowed, false, []Door{room("a")},
			[]SlotCode{but(code("a", slot.Failed), beyond)}, []Step{{Put, "a", ""}, {Clear, "a", "s-a"}}},
		{"but not if it took the code", allowed, false, []Door{room("a")}, []SlotCode{but(code("a", slot.Verified), beyond)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Reconcile(Task{Right: c.right, Placed: !c.unplaced, Doors: c.doors, Codes: c.held, PINAt: func(string) string { return "pin" }})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReconcileWithoutAPIN(t *testing.T) {
	got := Reconcile(Task{Right: allowed, Placed: true, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Verified)}, PINAt: func(string) string { return "" }})
	if d := cmp.Diff([]Step{{Change, "a", "s-a"}}, got); d != "" {
		t.Error("what may not be there any more stays: " + d)
	}
}

// world is what Reconcile's steps act on: codes on locks that answer when and how they like.
type world struct {
	held []SlotCode
	next int
}

func (w *world) take(t *rapid.T, task Task, steps []Step) {
	for _, s := range steps {
		i := slices.IndexFunc(w.held, func(h SlotCode) bool { return h.SlotID == s.SlotID })
		switch s.Action {
		case Put:
			if rapid.IntRange(0, 4).Draw(t, "full") == 0 {
				continue
			}
			w.next++
			d := doorByID(task.Doors, s.DoorID)
			w.held = append(w.held, SlotCode{SlotID: "s" + string(rune('A'+w.next)), LockID: d.Lock.ID, DoorID: s.DoorID, Present: true,
				Window: task.Right.Window, PIN: "pin", Evidence: slot.Queued, ReadBack: d.Lock.ReadBack})
		case Change:
			w.held[i].Present, w.held[i].Window, w.held[i].PIN, w.held[i].Evidence = true, task.Right.Window, "pin", slot.Queued
		case Clear:
			w.held[i].Present, w.held[i].Evidence = false, slot.Removing
		}
	}
}

// answer applies all desired codes, as if every lock had answered.
func (w *world) answer() {
	w.held = slices.DeleteFunc(w.held, func(h SlotCode) bool { return !h.Present })
	for i := range w.held {
		w.held[i].Evidence = slot.Verified
	}
}

// After any moves of a stay and any answers of its locks: it loses its last proven door only to another stay or at its end, and
// once the locks answer and its place is certain, it has codes on exactly the doors of its plan.
func TestReconcileProperties(t *testing.T) {
	places := [][]Door{{room("r1"), gateAt("g")}, {room("r2"), gateAt("g"), gateAt("g2")}, {aDoor("b1", Bed), room("d")}, {aDoor("b2", Bed), room("d")}}
	rapid.Check(t, func(t *rapid.T) {
		w := &world{}
		var task Task
		for range rapid.IntRange(1, 8).Draw(t, "moves") {
			task = Task{Right: allowed, Placed: true, Doors: rapid.SampledFrom(places).Draw(t, "place"), PINAt: func(string) string { return "pin" }}
			if rapid.Bool().Draw(t, "dates") {
				task.Right.Window = former
			}
			if rapid.IntRange(0, 5).Draw(t, "unmapped") == 0 {
				task.Placed, task.Doors = false, nil
			}
			opened := func() bool {
				return slices.ContainsFunc(w.held, func(h SlotCode) bool { return h.Present && h.DoorID[0] != 'g' })
			}
			had := opened()
			task.Codes = w.held
			w.take(t, task, Reconcile(task))
			if had && !opened() {
				t.Fatalf("a move took the last door away: %+v", w.held)
			}
			for i := range w.held {
				if rapid.Bool().Draw(t, "answers") && w.held[i].Present {
					w.held[i].Evidence = rapid.SampledFrom([]slot.Evidence{slot.Sent, slot.Accepted, slot.Verified, slot.Used, slot.Unconfirmed}).Draw(t, "evidence")
				}
			}
		}
		for range 60 { // a put may meet a full lock several times
			w.answer()
			task.Codes = w.held
			steps := Reconcile(task)
			if len(steps) == 0 {
				break
			}
			w.take(t, task, steps)
		}
		if !task.Placed {
			return
		}
		var want, got []string
		for _, d := range task.Doors {
			want = append(want, d.ID)
		}
		for _, h := range w.held {
			got = append(got, h.DoorID)
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestPINLength(t *testing.T) {
	slow, guessable := Door{ID: "slow", Lock: &Lock{}}, Door{ID: "guessable", Lock: &Lock{Guessable: true}}
	short := Door{ID: "short", Lock: &Lock{Guessable: true, PIN: pin.Rules{Min: 4, Max: 6}}}
	for name, c := range map[string]struct {
		setting int
		doors   []Door
		want    int
	}{
		"automatic, all locks slow guessing": {0, []Door{slow, slow}, 6},
		"automatic, one does not":            {0, []Door{slow, guessable}, 8},
		"automatic, one takes six at most":   {0, []Door{guessable, short}, 6},
		"the property says six":              {6, []Door{guessable}, 6},
		"the property says seven":            {7, []Door{slow}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			var rules []pin.Rules
			for _, d := range c.doors {
				rules = append(rules, d.Lock.PIN)
			}
			drawn, err := new(pin.Generator).Generate(pinLength(c.setting, c.doors), rules, func(string) (bool, error) { return false, nil })
			if err != nil || len(drawn) != c.want {
				t.Errorf("a PIN of %d digits, want %d: %v", len(drawn), c.want, err)
			}
		})
	}
}
