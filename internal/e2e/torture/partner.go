package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
)

// stays is the number of stays at a time.
const stays = 20

// stay is a reservation of the PMS.
type stay struct {
	holder
	id        string // the service's
	state     string
	room      *place
	version   int
	sentAt    time.Time
	acked     map[string]any // fields as they were acknowledged
	explained explanation    // as last read
}

func (w *world) newStay(n int) *stay {
	s := &stay{acked: map[string]any{}}
	s.name = fmt.Sprintf("S-%d", n)
	return s
}

// body is a reservation that changes these fields.
func (s *stay) body(fields map[string]any) map[string]any {
	s.version++
	s.sentAt = time.Now()
	out := map[string]any{"pmsMeta": map[string]any{"id": s.name, "updatedAt": s.sentAt.UTC().Format(time.RFC3339Nano)}, "pmsNumber": fmt.Sprintf("N%d", s.version)}
	for k, v := range fields {
		out[k] = v
	}
	return out
}

// acknowledged keeps what a change that was answered has stored.
func (s *stay) acknowledged(fields map[string]any) {
	for k, v := range fields {
		if k != "pmsMeta" {
			s.acked[k] = v
		}
	}
	if state, ok := fields["state"].(string); ok {
		s.state = state
	}
	if to, ok := fields["to"].(string); ok {
		if at, err := time.Parse(time.RFC3339, to); err == nil && at.After(s.latest) {
			s.latest = at
		}
	}
	s.access = s.state == "started"
}

// change sends one change of a stay and keeps what was acknowledged.
func (w *world) change(s *stay, what string, fields map[string]any) bool {
	body := s.body(fields)
	s.story.add(w.began, "%s: sends %v", what, fields)
	o, answered := w.send(w.partner, fmt.Sprintf("%s/%d", s.name, s.version), "PATCH", "/v1/reservations", body)
	if !answered {
		return false
	}
	if !o.OK() {
		w.report.add("a change of the PMS was refused", s.name, fmt.Sprintf("%s %v: %v", what, fields, o), &s.story)
		return false
	}
	s.acknowledged(body)
	s.story.add(w.began, "%s: answered %s", what, w.format(planOf(o.Data())))
	w.count.add("changes", 1)
	w.count.add(what, 1)
	return true
}

// partners change stays until ctx ends.
func (w *world) partners(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(100+rng.IntN(700))*time.Millisecond)
		if rng.IntN(12) == 0 {
			w.swap(rng)
			continue
		}
		s := w.stays[rng.IntN(len(w.stays))]
		if !s.mu.TryLock() {
			continue
		}
		w.partnerMove(s, rng)
		s.mu.Unlock()
	}
}

// partnerMove does what a PMS may do with a stay in its state.
func (w *world) partnerMove(s *stay, rng *rand.Rand) {
	room := w.rooms[rng.IntN(len(w.rooms))]
	far := moment(time.Now().Add(72 * time.Hour))
	switch s.state {
	case "":
		state := []string{"confirmed", "started", "started"}[rng.IntN(3)]
		s.room = room
		w.change(s, "booking", map[string]any{"state": state, "roomId": room.partner, "from": moment(time.Now().Add(-24 * time.Hour)), "to": far,
			"booker": map[string]any{"lastName": "Of " + s.name, "firstName": fmt.Sprintf("V%d", rng.IntN(100))}})
	case "confirmed":
		switch rng.IntN(6) {
		case 0:
			w.change(s, "cancellation", map[string]any{"state": "canceled"})
		case 1:
			s.room = room
			w.change(s, "move", map[string]any{"roomId": room.partner})
		default:
			w.change(s, "check-in", map[string]any{"state": "started", "to": far})
		}
	case "started":
		w.staying(s, room, far, rng)
	case "processed":
		if rng.IntN(3) == 0 {
			s.room = room
			w.change(s, "check-out taken back with a move", map[string]any{"state": "started", "roomId": room.partner, "to": far})
		} else {
			w.change(s, "check-out taken back", map[string]any{"state": "started", "to": far})
		}
	case "canceled":
		w.change(s, "cancellation taken back", map[string]any{"state": "confirmed", "to": far})
	}
}

// staying changes a stay that is checked in.
func (w *world) staying(s *stay, room *place, far string, rng *rand.Rand) {
	switch n := rng.IntN(100); {
	case n < 30:
		s.room = room
		w.change(s, "move", map[string]any{"roomId": room.partner})
	case n < 45:
		w.reset(s)
	case n < 65:
		w.change(s, "check-out", map[string]any{"state": "processed"})
	case n < 75:
		w.change(s, "dates", map[string]any{"to": far})
	case n < 82: // ends on a whole minute while the run goes on
		soon := time.Now().Add(time.Duration(60+rng.IntN(60)) * time.Second).Truncate(time.Minute)
		w.change(s, "near end", map[string]any{"to": moment(soon)})
	case n < 86:
		w.change(s, "check-in taken back", map[string]any{"state": "confirmed"})
	case n < 89:
		w.change(s, "cancellation", map[string]any{"state": "canceled"})
	case n < 94:
		w.stale(s)
	default:
		w.change(s, "booker", map[string]any{"booker": map[string]any{"lastName": fmt.Sprintf("Of %s v%d", s.name, s.version)}})
	}
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// reset asks for another PIN.
func (w *world) reset(s *stay) {
	s.version++
	s.story.add(w.began, "reset: asks for another PIN")
	o, answered := w.send(w.partner, fmt.Sprintf("%s/%d", s.name, s.version), "POST", "/v1/reservations/resetKeyChain", map[string]any{"pmsId": s.name, "reset": "pin"})
	if answered && !o.OK() {
		w.report.add("a reset was refused", s.name, o.String(), &s.story)
	}
	s.story.add(w.began, "reset: answered %s", w.format(planOf(e2etest.At(o.Data(), "reservation"))))
	w.count.add("changes", 1)
	w.count.add("resets", 1)
}

// stale sends an update that is older than what the service holds: it must change nothing, and the answer must say so.
func (w *world) stale(s *stay) {
	body := map[string]any{"pmsMeta": map[string]any{"id": s.name, "updatedAt": s.sentAt.Add(-time.Hour).UTC().Format(time.RFC3339Nano)}, "pmsNumber": "stale", "state": "canceled"}
	s.version++
	o, answered := w.send(w.partner, fmt.Sprintf("%s/%d", s.name, s.version), "PATCH", "/v1/reservations", body)
	if stale, _ := e2etest.At(o.Data(), "stale").(bool); answered && (!o.OK() || !stale) {
		w.report.add("an older update is not answered as stale", s.name, o.String(), &s.story)
	}
	s.story.add(w.began, "sends an update that is an hour old")
	w.count.add("stale updates", 1)
}

// swap exchanges the rooms of two stays in one batch.
func (w *world) swap(rng *rand.Rand) {
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
	bodies := []any{a.body(map[string]any{"roomId": a.room.partner}), b.body(map[string]any{"roomId": b.room.partner})}
	for _, s := range []*stay{a, b} {
		s.story.add(w.began, "swap: %s to %s, %s to %s", a.name, a.room.name, b.name, b.room.name)
	}
	o, answered := w.send(w.partner, fmt.Sprintf("swap/%s/%d/%s/%d", a.name, a.version, b.name, b.version), "PATCH", "/v1/reservations/batch", map[string]any{"reservations": bodies})
	if !answered {
		return
	}
	if !o.OK() || len(list(o.Data(), "failures")) > 0 {
		w.report.add("a swap was refused", a.name+" and "+b.name, fmt.Sprintf("%v %s", o, o.Raw), &a.story, &b.story)
		return
	}
	a.acknowledged(bodies[0].(map[string]any))
	b.acknowledged(bodies[1].(map[string]any))
	w.count.add("changes", 2)
	w.count.add("swaps", 1)
}

// readBack compares every acknowledged field of every stay with what the service has.
func (w *world) readBack(ctx context.Context) {
	for _, s := range w.stays {
		s.mu.Lock()
		o, err := w.ask(ctx, w.partner, "GET", "/v1/reservations/find?pmsId="+s.name, nil)
		switch {
		case err != nil || slices.Contains(retryable, o.HTTP):
		case o.HTTP == http.StatusNotFound && len(s.acked) == 0:
		case !o.OK():
			w.report.add("an acknowledged reservation is not there", s.name, o.String(), &s.story)
		default:
			for field, want := range s.acked {
				w.count.add("fields compared", 1)
				if !sameField(field, want, o.Data()) {
					w.report.add("an acknowledged field was lost", s.name, fmt.Sprintf("%s was acknowledged as %v: %s", field, want, o.Raw), &s.story)
				}
			}
		}
		s.mu.Unlock()
	}
}

// sameField compares one field as it was sent with an answer.
func sameField(field string, want any, data map[string]any) bool {
	switch field {
	case "roomId":
		return text(data, "pmsMeta.spaceId") == want || text(data, "roomId") == want || text(data, "pmsMeta.parentSpaceId") == want
	case "from", "to":
		at, err := time.Parse(time.RFC3339, want.(string))
		return err == nil && instant(data, field).Equal(at)
	case "booker":
		for k, v := range want.(map[string]any) {
			if text(data, "booker."+k) != v {
				return false
			}
		}
		return true
	}
	return strings.EqualFold(text(data, field), fmt.Sprint(want))
}
