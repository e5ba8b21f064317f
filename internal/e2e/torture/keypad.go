package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// pressOnce types a PIN at a lock. choose returns the PIN for a statement of the service; "" types none. pressOnce reads the service's
// statement about who before and after, and judges the press if both are equal. It returns the last statement, and whether it judged. The
// caller holds the holder's mutex.
func (w *world) pressOnce(ctx context.Context, who subject, l *lockState, choose func(s statement) string) (statement, bool) {
	h := who.asHolder()
	w.lockMoves.RLock()
	defer w.lockMoves.RUnlock()
	before, err := who.readStatement(ctx, w)
	if err != nil || before.Missing {
		return before, false
	}
	pin := choose(before)
	if pin == "" {
		return before, false
	}
	p := press{At: time.Now(), Lock: l.address, Doors: l.doors(), PIN: pin, Statement: before, LatestEnd: h.latestEnd, OwnSchedule: l.ownSchedule}
	p.Former = !before.showsPIN(pin, p.Lock, p.Doors[0])
	p.NeedNotOpen = !w.atRest && l.wasDisplaced(pin) || h.oneTime && h.used
	p.Answer, err = l.site.locks.Press(l.address, slot.PIN(pin))
	if err != nil {
		w.report.add("a keypad that is not there", h.name, err.Error())
		return before, false
	}
	w.count.add("presses", 1)
	h.story.add(w.began, "types %s at %s (%s): opened %v %s", pin, l.address, w.doorName(p.Doors[0]), p.Answer.Opened, p.Answer.Reason)
	if p.Answer.Opened {
		h.openings = append(h.openings, opening{At: p.At, Lock: l.address, Door: p.Doors[0], EarlierDoors: p.Doors[1:], MustBeReported: l.bridgeKnows(p.Answer.Slot, p.At)})
		h.used = true
	}
	after, err := who.readStatement(ctx, w)
	if err != nil || !reflect.DeepEqual(before, after) {
		return after, false
	}
	w.count.add("presses judged", 1)
	if _, isStay := who.(*stay); isStay {
		if rule := brokenStatementRule(before); rule != "" {
			w.report.add(rule, h.name, w.formatStatement(before), &h.story)
		}
	}
	if p.Answer.Opened {
		o := &h.openings[len(h.openings)-1]
		o.MustBeReported = o.MustBeReported || !p.Former && !p.NeedNotOpen && p.isCertainToOpen()
	}
	if rule := brokenRule(p); rule != "" {
		w.reportPress(rule, h, l, p)
	}
	return after, true
}

// reportPress reports a press that broke a rule.
func (w *world) reportPress(rule string, h *holder, l *lockState, p press) {
	text := fmt.Sprintf("PIN %s (former: %v) at lock %s on door %s; the keypad: opened %v %s, slot %d\nbefore and after: %s",
		p.PIN, p.Former, l.address, w.doorName(p.Doors[0]), p.Answer.Opened, p.Answer.Reason, p.Answer.Slot, w.formatStatement(p.Statement))
	for _, o := range l.site.locks.Slots(l.address) {
		if string(o.PIN) == p.PIN {
			text += fmt.Sprintf("\nthe lock holds it in slot %d until %s", o.Slot, formatClock(o.NotAfter))
		}
	}
	w.report.add(rule, h.name+" at "+l.address, text, &h.story, &l.story)
}

// formatStatement formats a statement for a report.
func (w *world) formatStatement(s statement) string {
	out := fmt.Sprintf("%s %v, window to %s, PINs %v:", s.Status, s.Reasons, formatClock(s.To), s.PINs)
	for _, c := range s.Claims {
		out += fmt.Sprintf(" %s%s=%s/%s", c.Name, c.Lock, c.Evidence, c.Reason)
	}
	return out
}

// doorName returns the name of the door with an id, or "none".
func (w *world) doorName(id string) string {
	for _, d := range w.doors {
		if d.id == id {
			return d.name
		}
	}
	return "none"
}

// simulateGuests types PINs of randomly chosen stays and codes at keypads until ctx ends, mostly the right PIN at the right door.
func (w *world) simulateGuests(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		clock.Sleep(ctx, time.Duration(rng.IntN(80))*time.Millisecond)
		who := w.randomSubject(rng)
		h := who.asHolder()
		if !h.mu.TryLock() {
			continue
		}
		w.typeRandomPIN(ctx, who, rng)
		h.mu.Unlock()
	}
}

// typeRandomPIN types a PIN of a holder at a lock, mostly the right PIN at the right door. The caller holds the holder's mutex.
func (w *world) typeRandomPIN(ctx context.Context, who subject, rng *rand.Rand) {
	said, err := who.readStatement(ctx, w)
	if err != nil || said.Missing {
		return
	}
	l := w.locks[rng.IntN(len(w.locks))]
	if len(said.Claims) > 0 && rng.IntN(100) < 75 {
		c := said.Claims[rng.IntN(len(said.Claims))]
		if at := w.lockAtDoor(c.Door); at != nil {
			l = at
		}
	}
	h := who.asHolder()
	w.pressOnce(ctx, who, l, func(s statement) string {
		if len(h.pins) > 0 && (s.pinFor(l.door()) == "" || rng.IntN(100) < 25) {
			return h.pins[rng.IntN(len(h.pins))]
		}
		return s.pinFor(l.door())
	})
}

// randomSubject returns a random stay or, in one of five cases, a random code.
func (w *world) randomSubject(rng *rand.Rand) subject {
	if all := w.codes.all(); len(all) > 0 && rng.IntN(5) == 0 {
		return all[rng.IntN(len(all))]
	}
	return w.stays[rng.IntN(len(w.stays))]
}
