package torture

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/e2e/e2etest"
)

// restTimeout is how long after the last fault every lock must be in its final state.
const restTimeout = 90 * time.Second

// fillDoorsWithoutLock assigns spare locks, as long as there are any, to doors without a lock, where codes would wait forever.
func (w *world) fillDoorsWithoutLock() {
	w.lockMoves.Lock()
	defer w.lockMoves.Unlock()
	for _, d := range w.doors {
		if w.lockAtDoor(d.id) != nil {
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

// pendingChanges describes each lock that is offline, and each holder whose codes are not in their final state.
func (w *world) pendingChanges(ctx context.Context) (open []string) {
	o, err := w.request(ctx, w.staff, "GET", "/v1/property/locks?pageSize=200", nil)
	if err != nil || !o.OK() {
		return []string{fmt.Sprintf("locks: %v %v", o, err)}
	}
	for _, l := range listAt(o.Data(), "list") {
		if online, _ := e2etest.ValueAt(l, "status.online").(bool); !online {
			open = append(open, fmt.Sprintf("lock %s is offline: %v", stringAt(l, "address"), e2etest.ValueAt(l, "status.offlineReason")))
		}
	}
	for _, who := range w.subjects() {
		s, err := who.readStatement(ctx, w)
		if err != nil {
			open = append(open, fmt.Sprintf("%s: %v", who.asHolder().name, err))
			continue
		}
		if s.Missing {
			continue
		}
		if what := firstPendingChange(s, w.hasAccess(who)); what != "" {
			open = append(open, who.asHolder().name+": "+what)
		}
	}
	return open
}

// hasAccess reports whether a holder should have access now.
func (w *world) hasAccess(who subject) bool {
	s, isStay := who.(*stay)
	if !isStay || !s.shouldHaveAccess {
		return who.asHolder().shouldHaveAccess
	}
	to, err := time.Parse(time.RFC3339, fmt.Sprint(s.acknowledged["to"]))
	return err == nil && time.Now().Before(to)
}

// awaitRest waits until no change is pending, at most restTimeout, also if ctx ends before. What is still pending then is a violation.
func (w *world) awaitRest(ctx context.Context) {
	began := time.Now()
	open := w.pendingChanges(ctx)
	for len(open) > 0 && time.Since(began) < restTimeout {
		clock.Sleep(ctx, 500*time.Millisecond)
		open = w.pendingChanges(ctx)
	}
	w.t.Logf("at rest after %.1f s", time.Since(began).Seconds())
	for _, line := range open {
		name, _, _ := strings.Cut(line, ":")
		w.report.add(fmt.Sprintf("not at rest %v after the last fault", restTimeout), name, line, w.storiesOf(name)...)
	}
}

// storiesOf returns the story of the holder or lock that a line of pendingChanges begins with.
func (w *world) storiesOf(name string) []*story {
	for _, who := range w.subjects() {
		if who.asHolder().name == name {
			return []*story{&who.asHolder().story}
		}
	}
	for _, l := range w.locks {
		if strings.Contains(name, "lock "+l.address+" ") {
			return []*story{&l.story}
		}
	}
	return nil
}

// checkAllLocks types every PIN at every lock after all changes are complete, and compares the locks' slots with what the service says.
func (w *world) checkAllLocks(ctx context.Context) {
	w.atRest = true
	known := map[string]map[string]bool{} // by lock: PINs that, as the service says, may open the lock
	for _, l := range w.locks {
		known[l.address] = map[string]bool{}
	}
	for _, who := range w.subjects() {
		h := who.asHolder()
		h.mu.Lock()
		for _, l := range w.locks {
			said, _ := w.pressOnce(ctx, who, l, func(s statement) string { return s.pinFor(l.door()) })
			if said.mayOpenLock(l) {
				known[l.address][said.pinFor(l.door())] = true
			}
		}
		for _, l := range w.locks {
			for _, pin := range h.pins {
				w.pressOnce(ctx, who, l, func(s statement) string {
					if pin == s.pinFor(l.door()) {
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

// mayOpenLock reports whether the service says that a PIN of the holder may open a lock.
func (s statement) mayOpenLock(l *lockState) bool {
	return slices.ContainsFunc(s.Claims, func(c claim) bool {
		return slices.Contains(possibleEvidence, c.Evidence) && (c.Lock == l.address || c.Lock == "" && c.Door == l.door())
	})
}

// reportUnmentionedPINs reports PINs of holders in slots of locks where the service does not mention them. known has the mentioned PINs by
// lock. Since known was read, a window may have ended, and a waiting code may have got the free slot. So the function first reads the
// service again, and then checks that the slot still has the PIN.
func (w *world) reportUnmentionedPINs(ctx context.Context, known map[string]map[string]bool) {
	owners := map[string]subject{}
	for _, who := range w.subjects() {
		for _, pin := range who.asHolder().pins {
			owners[pin] = who
		}
	}
	for _, l := range w.locks {
		for _, o := range l.site.locks.Slots(l.address) {
			pin := string(o.PIN)
			who := owners[pin]
			if who == nil || known[l.address][pin] || w.mayHoldPIN(ctx, who, l, pin) || !slices.Contains(l.site.locks.Slots(l.address), o) {
				continue
			}
			h := who.asHolder()
			w.report.add("a lock at rest holds a PIN that the service does not mention", h.name+" at "+l.address,
				fmt.Sprintf("slot %d holds %s", o.Slot, pin), &h.story, &l.story)
		}
	}
}

// mayHoldPIN asks the service whether a PIN of who may still be on a lock. It types nothing. The service no longer shows the PIN of a used
// one-time code: then the result is whether the code may still open the lock.
func (w *world) mayHoldPIN(ctx context.Context, who subject, l *lockState, pin string) bool {
	h := who.asHolder()
	h.mu.Lock()
	defer h.mu.Unlock()
	said, _ := w.pressOnce(ctx, who, l, func(statement) string { return "" })
	return (said.pinFor(l.door()) == pin || h.oneTime && h.used) && said.mayOpenLock(l)
}

// checkExplanation reads the API's explanation of a stay's access. It compares it with the openings at the keypads and with the explanation
// that it read before. complete means that the service must have received all reports. If the explanation cannot be read, it does nothing.
// The caller holds the stay's mutex.
func (w *world) checkExplanation(ctx context.Context, s *stay, complete bool) {
	if s.id == "" {
		return
	}
	o, err := w.request(ctx, w.partner, "GET", "/v1/reservations/"+s.id+"/explain", nil)
	if err != nil || !o.OK() {
		return
	}
	e := explanation{Doors: map[string]string{}}
	e.Truncated, _ = e2etest.ValueAt(o.Data(), "truncated").(bool)
	for _, d := range listAt(o.Data(), "doors") {
		e.Doors[stringAt(d, "doorId")] = stringAt(d, "evidence")
	}
	for _, x := range listAt(o.Data(), "steps") {
		e.Steps = append(e.Steps, step{timeAt(x, "at"), stringAt(x, "actor"), stringAt(x, "kind"), stringAt(x, "doorId"), stringAt(x, "evidence"), stringAt(x, "reason"), stringAt(x, "sentence")})
	}
	openings := slices.Clone(s.openings)
	for i, p := range openings {
		for _, site := range w.sites {
			openings[i].MayBeLost = openings[i].MayBeLost || site.mayHaveLostReport(p.At)
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

// simulateExplainReaders reads and checks explanations of random stays until ctx ends. draw returns a random number below n.
func (w *world) simulateExplainReaders(ctx context.Context, draw func(n int) int) {
	for ctx.Err() == nil {
		clock.Sleep(ctx, 500*time.Millisecond)
		s := w.stays[draw(len(w.stays))]
		if s.mu.TryLock() {
			w.checkExplanation(ctx, s, false)
			s.mu.Unlock()
		}
	}
}

// checkRemoteUnlocks compares the remote unlocks of each lock with the commands that staff sent.
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
