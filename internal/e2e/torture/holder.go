package torture

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
)

// holder is a stay or a code with PINs. The service says which doors they open.
type holder struct {
	mu     sync.Mutex // held during a change and during a press
	name   string
	access bool     // it should have access, as of the last acknowledged change
	once   bool     // its code serves once
	ends   bool     // the service ends it by itself: after its one use, or when another takes its place
	pins   []string // every PIN that was ever shown
	latest time.Time
	typed  []opening // presses that opened
	served bool      // a code for one use has opened
	story  story
}

// learn keeps the PINs of a statement.
func (h *holder) learn(s statement) {
	for _, p := range s.PINs {
		if p != "" && !slices.Contains(h.pins, p) {
			h.pins = append(h.pins, p)
		}
	}
}

// subject is a holder that can be read.
type subject interface {
	held() *holder
	read(ctx context.Context, w *world) (statement, error)
}

func (h *holder) held() *holder { return h }

// text reads a string of a JSON object.
func text(v any, path string) string {
	s, _ := e2etest.At(v, path).(string)
	return s
}

func instant(v any, path string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text(v, path))
	if err != nil {
		return time.Time{}
	}
	return at
}

func list(v any, path string) []any {
	l, _ := e2etest.At(v, path).([]any)
	return l
}

// read asks for a stay with its plan and PINs.
func (s *stay) read(ctx context.Context, w *world) (statement, error) {
	o, err := w.ask(ctx, w.partner, "GET", "/v1/reservations/find?extend=pin,gatePins,access&pmsId="+s.name, nil)
	switch {
	case err != nil:
		return statement{}, err
	case o.HTTP == http.StatusNotFound:
		return statement{Missing: true}, nil
	case !o.OK():
		return statement{}, fmt.Errorf("%v", o)
	}
	s.id = text(o.Data(), "id")
	out := planOf(o.Data())
	out.PINs = map[string]string{}
	if p := text(o.Data(), "pin"); p != "" {
		out.PINs[""] = p
	}
	for _, g := range list(o.Data(), "gatesPins") {
		out.PINs[text(g, "gateId")] = text(g, "pin")
	}
	s.learn(out)
	return out, nil
}

// planOf reads the access plan of a reservation.
func planOf(data any) statement {
	out := statement{Status: text(data, "access.status"), From: instant(data, "access.window.from"), To: instant(data, "access.window.to")}
	for _, r := range list(data, "access.reasons") {
		word, _ := r.(string)
		out.Reasons = append(out.Reasons, word)
	}
	for _, d := range list(data, "access.doors") {
		out.Claims = append(out.Claims, claim{Door: text(d, "doorId"), Name: text(d, "name"), Evidence: text(d, "pin"), Reason: text(d, "reason")})
	}
	return out
}

// code is a PIN of staff.
type code struct {
	holder
	id string
}

// read asks for a code with its places and PINs.
func (c *code) read(ctx context.Context, w *world) (statement, error) {
	o, err := w.ask(ctx, w.staff, "GET", "/v1/property/codes/"+c.id, nil)
	if err != nil {
		return statement{}, err
	}
	if !o.OK() {
		return statement{}, fmt.Errorf("%v", o)
	}
	out := statement{Status: "issued", From: instant(o.Data(), "createdAt"), To: time.Unix(1<<40, 0), PINs: map[string]string{}}
	c.access = c.access && (!c.ends || text(o.Data(), "state") != "ended")
	if text(o.Data(), "state") == "ended" {
		out.Status, out.From, out.To = "removing", time.Time{}, time.Time{}
		if removed, _ := e2etest.At(o.Data(), "removed").(bool); removed {
			out.Status = "removed"
		}
	}
	for _, p := range list(whole(o), "places") {
		lock := w.lockByID(text(p, "lockId"))
		if lock == nil {
			continue
		}
		out.Claims = append(out.Claims, claim{Door: text(p, "doorId"), Lock: lock.address, Name: text(p, "doorName"), Evidence: text(p, "evidence"), Reason: reasonOf(text(p, "result"))})
	}
	for _, door := range list(o.Data(), "doorIds") {
		id, _ := door.(string)
		if w.lockOn(id) != nil && !slices.ContainsFunc(out.Claims, func(c claim) bool { return c.Door == id }) {
			out.Unplaced = append(out.Unplaced, w.doorName(id))
		}
	}
	if out.Status != "issued" {
		return out, nil
	}
	o, err = w.ask(ctx, w.staff, "POST", "/v1/property/codes/"+c.id+":reveal", map[string]any{})
	if err != nil || !o.OK() {
		return statement{}, fmt.Errorf("reveal: %v %w", o, err)
	}
	if p := text(whole(o), "pin"); p != "" {
		out.PINs[""] = p
	}
	for _, d := range list(whole(o), "doorPins") {
		out.PINs[text(d, "doorId")] = text(d, "pin")
	}
	c.learn(out)
	return out, nil
}

// reasonOf returns the reason that the service gives for an operation's result.
func reasonOf(result string) string {
	if result == "ok" {
		return ""
	}
	return result
}

func (w *world) lockByID(id string) *lockState {
	for _, l := range w.locks {
		if l.id == id {
			return l
		}
	}
	return nil
}

// lockOn is the lock that hangs on a door, or nil.
func (w *world) lockOn(door string) *lockState {
	for _, l := range w.locks {
		if l.door() == door {
			return l
		}
	}
	return nil
}
