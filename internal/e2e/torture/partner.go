package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/e2e/e2etest"
)

// stayCount is the number of simultaneous stays.
const stayCount = 20

// stay is a reservation of the simulated PMS.
type stay struct {
	holder
	id           string // id that the service gave the reservation
	state        string
	room         *hotelDoor
	version      int            // number of the last call about the stay, for idempotency keys
	sentAt       time.Time      // updatedAt of the last PATCH
	acknowledged map[string]any // fields that the service acknowledged
	explained    explanation    // last explanation that was read; checkExplanation compares the next one with it
}

// newStay returns the n-th stay, which the service does not know yet.
func (w *world) newStay(n int) *stay {
	s := &stay{acknowledged: map[string]any{}}
	s.name = fmt.Sprintf("S-%d", n)
	return s
}

// patchBody returns the body of the next PATCH of the reservation, with the given fields. It counts s.version up and sets s.sentAt.
func (s *stay) patchBody(fields map[string]any) map[string]any {
	s.version++
	s.sentAt = time.Now()
	out := map[string]any{"pmsMeta": map[string]any{"id": s.name, "updatedAt": s.sentAt.UTC().Format(time.RFC3339Nano)}, "pmsNumber": fmt.Sprintf("N%d", s.version)}
	for k, v := range fields {
		out[k] = v
	}
	return out
}

// recordAcknowledged records the fields of a change that the service acknowledged, and what they mean for the access of the stay.
func (s *stay) recordAcknowledged(fields map[string]any) {
	for k, v := range fields {
		if k != "pmsMeta" {
			s.acknowledged[k] = v
		}
	}
	if state, ok := fields["state"].(string); ok {
		s.state = state
	}
	if to, ok := fields["to"].(string); ok {
		if at, err := time.Parse(time.RFC3339, to); err == nil && at.After(s.latestEnd) {
			s.latestEnd = at
		}
	}
	s.shouldHaveAccess = s.state == "started"
}

// sendChange sends changed fields of a stay as the PMS, again and again until the service answers; what describes the change in the story.
// If the service accepts the change, it records it and returns true. If the service refuses it, or does not answer within program.Patience,
// it reports a violation and returns false. The caller holds the stay's mutex.
func (w *world) sendChange(s *stay, what string, fields map[string]any) bool {
	body := s.patchBody(fields)
	s.story.add(w.began, "%s: sends %v", what, fields)
	o, answered := w.sendUntilAnswered(w.partner, fmt.Sprintf("%s/%d", s.name, s.version), "PATCH", "/v1/reservations", body)
	if !answered {
		return false
	}
	if !o.OK() {
		w.report.add("a change of the PMS was refused", s.name, fmt.Sprintf("%s %v: %v", what, fields, o), &s.story)
		return false
	}
	s.recordAcknowledged(body)
	s.story.add(w.began, "%s: answered %s", what, w.formatStatement(statementOfPlan(o.Data())))
	w.count.add("changes", 1)
	w.count.add(what, 1)
	return true
}

// simulatePMS changes random stays until ctx ends.
func (w *world) simulatePMS(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		clock.Sleep(ctx, time.Duration(100+rng.IntN(700))*time.Millisecond)
		if rng.IntN(12) == 0 {
			w.swapRooms(rng)
			continue
		}
		s := w.stays[rng.IntN(len(w.stays))]
		if !s.mu.TryLock() {
			continue
		}
		w.changeStay(s, rng)
		s.mu.Unlock()
	}
}

// changeStay makes a random change that a PMS could make in the current state of the stay. The caller holds the stay's mutex.
func (w *world) changeStay(s *stay, rng *rand.Rand) {
	room := w.rooms[rng.IntN(len(w.rooms))]
	far := formatRFC3339(time.Now().Add(72 * time.Hour))
	switch s.state {
	case "":
		state := []string{"confirmed", "started", "started"}[rng.IntN(3)]
		s.room = room
		w.sendChange(s, "booking", map[string]any{"state": state, "roomId": room.pmsID, "from": formatRFC3339(time.Now().Add(-24 * time.Hour)), "to": far,
			"booker": map[string]any{"lastName": "Of " + s.name, "firstName": fmt.Sprintf("V%d", rng.IntN(100))}})
	case "confirmed":
		switch rng.IntN(6) {
		case 0:
			w.sendChange(s, "cancellation", map[string]any{"state": "canceled"})
		case 1:
			s.room = room
			w.sendChange(s, "move", map[string]any{"roomId": room.pmsID})
		default:
			w.sendChange(s, "check-in", map[string]any{"state": "started", "to": far})
		}
	case "started":
		w.changeCheckedInStay(s, room, far, rng)
	case "processed":
		if rng.IntN(3) == 0 {
			s.room = room
			w.sendChange(s, "check-out taken back with a move", map[string]any{"state": "started", "roomId": room.pmsID, "to": far})
		} else {
			w.sendChange(s, "check-out taken back", map[string]any{"state": "started", "to": far})
		}
	case "canceled":
		w.sendChange(s, "cancellation taken back", map[string]any{"state": "confirmed", "to": far})
	}
}

// changeCheckedInStay makes a random change of a stay that is checked in. room is the new room if the guest moves; far is the end of a
// longer stay.
func (w *world) changeCheckedInStay(s *stay, room *hotelDoor, far string, rng *rand.Rand) {
	switch n := rng.IntN(100); {
	case n < 30:
		s.room = room
		w.sendChange(s, "move", map[string]any{"roomId": room.pmsID})
	case n < 45:
		w.resetPIN(s)
	case n < 65:
		w.sendChange(s, "check-out", map[string]any{"state": "processed"})
	case n < 75:
		w.sendChange(s, "dates", map[string]any{"to": far})
	case n < 82: // the stay ends on a full minute during the run
		soon := time.Now().Add(time.Duration(60+rng.IntN(60)) * time.Second).Truncate(time.Minute)
		w.sendChange(s, "near end", map[string]any{"to": formatRFC3339(soon)})
	case n < 86:
		w.sendChange(s, "check-in taken back", map[string]any{"state": "confirmed"})
	case n < 89:
		w.sendChange(s, "cancellation", map[string]any{"state": "canceled"})
	case n < 94:
		w.sendStaleUpdate(s)
	default:
		w.sendChange(s, "booker", map[string]any{"booker": map[string]any{"lastName": fmt.Sprintf("Of %s v%d", s.name, s.version)}})
	}
}

// formatRFC3339 formats a time in UTC, cut to seconds.
func formatRFC3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// resetPIN asks the service to replace the PIN of a stay, and reports a violation if it refuses. The next readStatement records the new
// PIN. The caller holds the stay's mutex.
func (w *world) resetPIN(s *stay) {
	s.version++
	s.story.add(w.began, "reset: asks for another PIN")
	o, answered := w.sendUntilAnswered(w.partner, fmt.Sprintf("%s/%d", s.name, s.version), "POST", "/v1/reservations/resetKeyChain", map[string]any{"pmsId": s.name, "reset": "pin"})
	if answered && !o.OK() {
		w.report.add("a reset was refused", s.name, o.String(), &s.story)
	}
	s.story.add(w.began, "reset: answered %s", w.formatStatement(statementOfPlan(e2etest.ValueAt(o.Data(), "reservation"))))
	w.count.add("changes", 1)
	w.count.add("resets", 1)
}

// sendStaleUpdate sends an update that is older than the stored one. It must change nothing; if the answer does not say that it is stale,
// it reports a violation.
func (w *world) sendStaleUpdate(s *stay) {
	body := map[string]any{"pmsMeta": map[string]any{"id": s.name, "updatedAt": s.sentAt.Add(-time.Hour).UTC().Format(time.RFC3339Nano)}, "pmsNumber": "stale", "state": "canceled"}
	s.version++
	o, answered := w.sendUntilAnswered(w.partner, fmt.Sprintf("%s/%d", s.name, s.version), "PATCH", "/v1/reservations", body)
	if stale, _ := e2etest.ValueAt(o.Data(), "stale").(bool); answered && (!o.OK() || !stale) {
		w.report.add("an older update is not answered as stale", s.name, o.String(), &s.story)
	}
	s.story.add(w.began, "sends an update that is an hour old")
	w.count.add("stale updates", 1)
}

// swapRooms exchanges the rooms of two random stays in one batch. It does nothing unless both are checked in, in different rooms, and not
// being changed.
func (w *world) swapRooms(rng *rand.Rand) {
	i, j := rng.IntN(len(w.stays)), rng.IntN(len(w.stays))
	if i == j {
		return
	}
	a, b := w.stays[min(i, j)], w.stays[max(i, j)]
	if !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	if !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	if a.state != "started" || b.state != "started" || a.room == b.room {
		return
	}
	a.room, b.room = b.room, a.room
	bodies := []any{a.patchBody(map[string]any{"roomId": a.room.pmsID}), b.patchBody(map[string]any{"roomId": b.room.pmsID})}
	for _, s := range []*stay{a, b} {
		s.story.add(w.began, "swap: %s to %s, %s to %s", a.name, a.room.name, b.name, b.room.name)
	}
	o, answered := w.sendUntilAnswered(w.partner, fmt.Sprintf("swap/%s/%d/%s/%d", a.name, a.version, b.name, b.version), "PATCH", "/v1/reservations/batch", map[string]any{"reservations": bodies})
	if !answered {
		return
	}
	if !o.OK() || len(listAt(o.Data(), "failures")) > 0 {
		w.report.add("a swap was refused", a.name+" and "+b.name, fmt.Sprintf("%v %s", o, o.Raw), &a.story, &b.story)
		return
	}
	a.recordAcknowledged(bodies[0].(map[string]any))
	b.recordAcknowledged(bodies[1].(map[string]any))
	w.count.add("changes", 2)
	w.count.add("swaps", 1)
}

// readBack reports a violation for each stay of which the service has lost an acknowledged field. It skips a stay if the service does not
// answer.
func (w *world) readBack(ctx context.Context) {
	for _, s := range w.stays {
		s.mu.Lock()
		o, err := w.request(ctx, w.partner, "GET", "/v1/reservations/find?pmsId="+s.name, nil)
		switch {
		case err != nil || slices.Contains(retryable, o.HTTP):
		case o.HTTP == http.StatusNotFound && len(s.acknowledged) == 0:
		case !o.OK():
			w.report.add("an acknowledged reservation is not there", s.name, o.String(), &s.story)
		default:
			for field, want := range s.acknowledged {
				w.count.add("fields compared", 1)
				if !sameField(field, want, o.Data()) {
					w.report.add("an acknowledged field was lost", s.name, fmt.Sprintf("%s was acknowledged as %v: %s", field, want, o.Raw), &s.story)
				}
			}
		}
		s.mu.Unlock()
	}
}

// sameField reports whether data, the service's answer, has the value want for a field.
func sameField(field string, want any, data map[string]any) bool {
	switch field {
	case "roomId":
		return stringAt(data, "pmsMeta.spaceId") == want || stringAt(data, "roomId") == want || stringAt(data, "pmsMeta.parentSpaceId") == want
	case "from", "to":
		at, err := time.Parse(time.RFC3339, want.(string))
		return err == nil && timeAt(data, field).Equal(at)
	case "booker":
		for k, v := range want.(map[string]any) {
			if stringAt(data, "booker."+k) != v {
				return false
			}
		}
		return true
	}
	return strings.EqualFold(stringAt(data, field), fmt.Sprint(want))
}
