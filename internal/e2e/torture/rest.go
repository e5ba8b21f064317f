package torture

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
)

// restWithin is how long after the last fault every change must be complete.
const restWithin = 90 * time.Second

// restore assigns spare locks to the doors that have none, so that nothing waits for staff.
func (w *world) restore() {
	w.moving.Lock()
	defer w.moving.Unlock()
	for _, d := range w.doors {
		if w.lockOn(d.id) != nil {
			continue
		}
		for _, l := range w.locks {
			if l.door() == "" {
				w.assign("restore/"+l.address, l, d.id)
				break
			}
		}
	}
}

// subjects returns all stays and codes.
func (w *world) subjects() []subject {
	var out []subject
	for _, s := range w.stays {
		out = append(out, s)
	}
	for _, c := range w.codes.all() {
		out = append(out, c)
	}
	return out
}

// restless describes everything that has not reached its final state.
func (w *world) restless(ctx context.Context) (open []string) {
	o, err := w.ask(ctx, w.staff, "GET", "/v1/property/locks?pageSize=200", nil)
	if err != nil || !o.OK() {
		return []string{fmt.Sprintf("locks: %v %v", o, err)}
	}
	for _, l := range list(o.Data(), "list") {
		if online, _ := e2etest.At(l, "status.online").(bool); !online {
			open = append(open, fmt.Sprintf("lock %s is offline: %v", text(l, "address"), e2etest.At(l, "status.offlineReason")))
		}
	}
	for _, who := range w.subjects() {
		s, err := who.read(ctx, w)
		if err != nil {
			open = append(open, fmt.Sprintf("%s: %v", who.held().name, err))
			continue
		}
		if s.Missing {
			continue
		}
		if what := unsettled(s, w.hasAccess(who)); what != "" {
			open = append(open, who.held().name+": "+what)
		}
	}
	return open
}

// hasAccess reports whether a holder has a right to enter now.
func (w *world) hasAccess(who subject) bool {
	s, isStay := who.(*stay)
	if !isStay || !s.access {
		return who.held().access
	}
	to, err := time.Parse(time.RFC3339, fmt.Sprint(s.acked["to"]))
	return err == nil && time.Now().Before(to)
}

// rest waits until every change is complete, and reports what is not.
func (w *world) rest(ctx context.Context) {
	began := time.Now()
	open := w.restless(ctx)
	for len(open) > 0 && time.Since(began) < restWithin {
		pause(ctx, 500*time.Millisecond)
		open = w.restless(ctx)
	}
	w.t.Logf("at rest after %.1f s", time.Since(began).Seconds())
	for _, line := range open {
		name, _, _ := strings.Cut(line, ":")
		w.report.add(fmt.Sprintf("not at rest %v after the last fault", restWithin), name, line, w.storiesOf(name)...)
	}
}

func (w *world) storiesOf(name string) []*story {
	for _, who := range w.subjects() {
		if who.held().name == name {
			return []*story{&who.held().story}
		}
	}
	for _, l := range w.locks {
		if strings.Contains(name, "lock "+l.address+" ") {
			return []*story{&l.story}
		}
	}
	return nil
}

// checkAllLocks types every PIN at every lock once all changes are complete, and compares the slots with what the service says.
func (w *world) checkAllLocks(ctx context.Context) {
	w.resting = true
	known := map[string]map[string]bool{} // by lock: PINs that may be there
	for _, l := range w.locks {
		known[l.address] = map[string]bool{}
	}
	for _, who := range w.subjects() {
		h := who.held()
		h.mu.Lock()
		for _, l := range w.locks {
			said, _ := w.pressOnce(ctx, who, l, func(s statement) string { return s.pin(l.door()) })
			if said.mayOpen(l) {
				known[l.address][said.pin(l.door())] = true
			}
		}
		for _, l := range w.locks {
			for _, pin := range h.pins {
				w.pressOnce(ctx, who, l, func(s statement) string {
					if pin == s.pin(l.door()) {
						return ""
					}
					return pin
				})
			}
		}
		h.mu.Unlock()
	}
	w.reportUnmentionedPINs(ctx, known)
}

// mayOpen reports whether a code may open a lock.
func (s statement) mayOpen(l *lockState) bool {
	return slices.ContainsFunc(s.Claims, func(c claim) bool {
		return slices.Contains(mayOpen, c.Evidence) && (c.Lock == l.address || c.Lock == "" && c.Door == l.door())
	})
}

// reportUnmentionedPINs reports PINs of holders in slots of locks where the service does not mention them. A window may end during the
// presses, and a waiting code then gets the free slot. So it asks the service again, and the slot must still have the PIN afterwards.
func (w *world) reportUnmentionedPINs(ctx context.Context, known map[string]map[string]bool) {
	owners := map[string]subject{}
	for _, who := range w.subjects() {
		for _, pin := range who.held().pins {
			owners[pin] = who
		}
	}
	for _, l := range w.locks {
		for _, o := range l.site.house.Slots(l.address) {
			pin := string(o.PIN)
			who := owners[pin]
			if who == nil || known[l.address][pin] || w.mentions(ctx, who, l, pin) || !slices.Contains(l.site.house.Slots(l.address), o) {
				continue
			}
			h := who.held()
			w.report.add("a lock at rest holds a PIN that the service does not mention", h.name+" at "+l.address,
				fmt.Sprintf("slot %d holds %s", o.Slot, pin), &h.story, &l.story)
		}
	}
}

// mentions asks whether the service says that a PIN may open a lock. The PIN of a one-time code that was used is not shown any
// more, and the press before this check may have been its use: then its other locks are being cleared.
func (w *world) mentions(ctx context.Context, who subject, l *lockState, pin string) bool {
	h := who.held()
	h.mu.Lock()
	defer h.mu.Unlock()
	said, _ := w.pressOnce(ctx, who, l, func(statement) string { return "" })
	return (said.pin(l.door()) == pin || h.once && h.served) && said.mayOpen(l)
}

// explain reads and judges the explanation of a stay. complete says that everything must have reached the
// service by now.
func (w *world) explain(ctx context.Context, s *stay, complete bool) {
	if s.id == "" {
		return
	}
	o, err := w.ask(ctx, w.partner, "GET", "/v1/reservations/"+s.id+"/explain", nil)
	if err != nil || !o.OK() {
		return
	}
	e := explanation{Doors: map[string]string{}}
	e.Truncated, _ = e2etest.At(o.Data(), "truncated").(bool)
	for _, d := range list(o.Data(), "doors") {
		e.Doors[text(d, "doorId")] = text(d, "evidence")
	}
	for _, x := range list(o.Data(), "steps") {
		e.Steps = append(e.Steps, step{instant(x, "at"), text(x, "actor"), text(x, "kind"), text(x, "doorId"), text(x, "evidence"), text(x, "reason"), text(x, "sentence")})
	}
	openings := slices.Clone(s.typed)
	for i, p := range openings {
		for _, site := range w.sites {
			openings[i].Lost = openings[i].Lost || site.lost(p.At)
		}
	}
	w.count.add("explanations", 1)
	if e.Truncated {
		w.count.add("explanations truncated", 1)
	}
	w.count.add("explain steps", len(e.Steps))
	w.count.add("openings compared", len(openings))
	for _, what := range judgeExplanation(e, s.explained, openings, complete) {
		rule, details, _ := strings.Cut(what, ":")
		stories := []*story{&s.story}
		for _, l := range w.locks {
			if strings.Contains(details, " lock "+l.address+" ") {
				stories = append(stories, &l.story)
			}
		}
		w.report.add("explain: "+rule, s.name, details, stories...)
	}
	s.explained = e
}

// readers read explanations until ctx ends.
func (w *world) readers(ctx context.Context, draw func(n int) int) {
	for ctx.Err() == nil {
		pause(ctx, 500*time.Millisecond)
		s := w.stays[draw(len(w.stays))]
		if s.mu.TryLock() {
			w.explain(ctx, s, false)
			s.mu.Unlock()
		}
	}
}

// checkRemoteUnlocks compares the remote unlocks of each lock with the orders.
func (w *world) checkRemoteUnlocks() {
	for _, l := range w.locks {
		l.mu.Lock()
		for _, what := range judgeUnlocks(l.orders, l.opened) {
			w.report.add("an unlock", l.address, what, &l.story)
		}
		w.count.add("remote unlocks", len(l.opened))
		l.mu.Unlock()
	}
}
