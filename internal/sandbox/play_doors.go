package sandbox

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// faults are the lasting faults that a person set for one lock on the page. They are only what the page shows: the lock itself is changed
// by the methods of sim.Site, and both must be set together.
type faults struct{ offline, jammed, lowBattery bool }

// String lists the faults for the page; "" if there are none.
func (f faults) String() string {
	var out []string
	for _, one := range []struct {
		on   bool
		text string
	}{{f.offline, "offline"}, {f.jammed, "jammed"}, {f.lowBattery, "battery 8 %"}} {
		if one.on {
			out = append(out, one.text)
		}
	}
	return strings.Join(out, ", ")
}

// doorView is one door with its keypad.
type doorView struct {
	ID, Name   string
	Kind, Said string
	Faults     string
	Open       bool // Open means that the controls of the lock stay open
	Actions    []action
}

// keypadKeys are the keys of a keypad.
var keypadKeys = []option{
	{ID: "1", Text: "1"}, {ID: "2", Text: "2"}, {ID: "3", Text: "3"}, {ID: "4", Text: "4"}, {ID: "5", Text: "5"}, {ID: "6", Text: "6"},
	{ID: "7", Text: "7"}, {ID: "8", Text: "8"}, {ID: "9", Text: "9"}, {ID: "clear", Text: "Clear"}, {ID: "0", Text: "0"}, {ID: "enter", Text: "Enter"},
}

// doorNames returns the names of all doors in the order of the page.
func doorNames() []string {
	return slices.Concat([]string{FrontDoor}, RoomNames, []string{DormName}, BedNames)
}

// viewDoors returns what the page shows of each door, and the actions for its lock.
func (p *play) viewDoors() (out []doorView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range doorNames() {
		id := p.w.Spaces[name]
		f, last := p.faults[id], p.presses[id]
		v := doorView{ID: id, Name: name, Kind: last.Kind, Said: last.Text, Faults: f.String(), Open: id == p.openedLock}
		if slices.Contains(BedNames, name) {
			v.Name = "Locker of " + name
		}
		if v.Said == "" {
			v.Said = "Closed."
		}
		for _, one := range []struct {
			on                       bool
			do, text, undo, undoText string
		}{
			{f.offline, "offline", "Take offline", "online", "Bring online"}, {f.jammed, "jam", "Jam the bolt", "free", "Free the bolt"},
			{f.lowBattery, "drain", "Drain the battery", "charge", "Change the battery"},
		} {
			if one.on {
				v.Actions = append(v.Actions, action{one.undo, one.undoText})
			} else {
				v.Actions = append(v.Actions, action{one.do, one.text})
			}
		}
		v.Actions = append(v.Actions, action{"late", "Next code lands late"})
		out = append(out, v)
	}
	return out
}

var refusals = map[string]string{
	"wrongPin": "Refused: the lock does not have this PIN.", "outsideWindow": "Refused: the PIN is not valid now.",
	"jammed": "The bolt is jammed.", "noPower": "The lock has no power.", "keypadPaused": "The keypad is paused after too many wrong PINs. Wait a moment.",
}

// pressNote returns the note about a PIN that was typed at a keypad at a time of day.
func pressNote(press sim.Press, at string) note {
	if press.Opened {
		return note{"ok", "Opened, " + at}
	}
	text, ok := refusals[press.Reason]
	if !ok {
		text = "Refused: " + press.Reason
	}
	return note{"bad", text}
}

// typePIN handles the keypad of a door: it types the PIN of the form, and redirects to the door on the page, which shows the result.
func (p *play) typePIN(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	address, ok := p.w.doors[id]
	if !ok {
		http.NotFound(rw, r)
		return
	}
	pin := strings.ReplaceAll(r.FormValue("pin"), " ", "")
	n := note{"bad", "Type a PIN first."}
	if pin != "" {
		press, err := p.w.Site.Press(address, slot.PIN(pin))
		if n = pressNote(press, p.timeOfDay(time.Now())); err != nil {
			n = note{"bad", err.Error()}
		}
	}
	p.mu.Lock()
	p.presses[id] = n
	p.mu.Unlock()
	http.Redirect(rw, r, "/#door-"+id, http.StatusSeeOther)
}

// Battery levels of a lock, in percent.
const (
	fullBattery = 90
	lowBattery  = 8
)

// changeLock handles the buttons that put a lock out of order or repair it, and redirects to its door on the page.
func (p *play) changeLock(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	address, ok := p.w.doors[id]
	if !ok {
		http.NotFound(rw, r)
		return
	}
	p.mu.Lock()
	p.openedLock = id
	f := p.faults[id]
	site := p.w.Site
	switch do := r.FormValue("do"); do {
	case "offline", "online":
		f.offline = do == "offline"
		site.SetOffline(address, f.offline)
	case "jam", "free":
		f.jammed = do == "jam"
		site.SetJammed(address, f.jammed)
	case "drain", "charge":
		f.lowBattery = do == "drain"
		percent := uint32(fullBattery)
		if f.lowBattery {
			percent = lowBattery
		}
		site.SetBattery(address, percent)
	case "late":
		// The next set or clear operation of the lock gets no answer, and takes effect only at the end of its lifetime.
		if err := site.Inject(address, sim.Fault{Kind: sim.Late, After: operationLifetime}); err != nil {
			p.presses[id] = note{"bad", err.Error()}
			break
		}
		p.presses[id] = note{"warn", "The next code that is written gets no answer and lands late."}
	}
	p.faults[id] = f
	p.mu.Unlock()
	http.Redirect(rw, r, "/#door-"+id, http.StatusSeeOther)
}
