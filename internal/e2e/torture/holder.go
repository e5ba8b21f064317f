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

// holder is a stay, or a staff, one-time or backup code, that has PINs. The service says which doors the PINs open.
type holder struct {
	mu               sync.Mutex // mutex held during a change and during a press
	name             string
	shouldHaveAccess bool      // the holder should have access according to the last acknowledged change
	oneTime          bool      // the code can be used once
	endsByItself     bool      // the service ends the code by itself: after one use, or when another code replaces it
	pins             []string  // all PINs that the service ever showed; the test presses former ones, too
	latestEnd        time.Time // latest end of the stay that the service ever acknowledged; zero: none
	openings         []opening // presses that opened a lock, for checkExplanation, which reads only those of stays
	used             bool      // a PIN of the holder has opened a lock; if oneTime is set, no lock needs to open with it again
	story            story
}

// rememberPINs adds the PINs in a statement of the service to all PINs that the holder ever had.
func (h *holder) rememberPINs(s statement) {
	for _, p := range s.PINs {
		if p != "" && !slices.Contains(h.pins, p) {
			h.pins = append(h.pins, p)
		}
	}
}

// subject is a stay or code whose access can be read from the service.
type subject interface {
	asHolder() *holder
	readStatement(ctx context.Context, w *world) (statement, error)
}

// asHolder returns the holder itself, so that stays and codes implement subject.
func (h *holder) asHolder() *holder { return h }

// stringAt returns the string at a path of a JSON object, such as "access.status", or "".
func stringAt(v any, path string) string {
	s, _ := e2etest.ValueAt(v, path).(string)
	return s
}

// timeAt returns the time at a path of a JSON object, or the zero time.
func timeAt(v any, path string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, stringAt(v, path))
	if err != nil {
		return time.Time{}
	}
	return at
}

// listAt returns the list at a path of a JSON object, or nil.
func listAt(v any, path string) []any {
	l, _ := e2etest.ValueAt(v, path).([]any)
	return l
}

// readStatement implements subject. It reads the stay with its access plan and PINs, and records its id and the PINs in s.
func (s *stay) readStatement(ctx context.Context, w *world) (statement, error) {
	o, err := w.request(ctx, w.partner, "GET", "/v1/reservations/find?extend=pin,gatePins,access&pmsId="+s.name, nil)
	switch {
	case err != nil:
		return statement{}, err
	case o.HTTP == http.StatusNotFound:
		return statement{Missing: true}, nil
	case !o.OK():
		return statement{}, fmt.Errorf("%v", o)
	}
	s.id = stringAt(o.Data(), "id")
	out := statementOfPlan(o.Data())
	out.PINs = map[string]string{}
	if p := stringAt(o.Data(), "pin"); p != "" {
		out.PINs[""] = p
	}
	for _, g := range listAt(o.Data(), "gatesPins") {
		out.PINs[stringAt(g, "gateId")] = stringAt(g, "pin")
	}
	s.rememberPINs(out)
	return out, nil
}

// statementOfPlan converts the access plan of a reservation to a statement. data is the decoded JSON of the reservation.
func statementOfPlan(data any) statement {
	out := statement{Status: stringAt(data, "access.status"), From: timeAt(data, "access.window.from"), To: timeAt(data, "access.window.to")}
	for _, r := range listAt(data, "access.reasons") {
		word, _ := r.(string)
		out.Reasons = append(out.Reasons, word)
	}
	for _, d := range listAt(data, "access.doors") {
		out.Claims = append(out.Claims, claim{Door: stringAt(d, "doorId"), Name: stringAt(d, "name"), Evidence: stringAt(d, "pin"), Reason: stringAt(d, "reason")})
	}
	return out
}

// code is a staff, one-time or backup code.
type code struct {
	holder
	id string
}

// readStatement implements subject. It reads the code with its state at each lock and its PINs, and records whether it has ended by itself.
func (c *code) readStatement(ctx context.Context, w *world) (statement, error) {
	o, err := w.request(ctx, w.staff, "GET", "/v1/property/codes/"+c.id, nil)
	if err != nil {
		return statement{}, err
	}
	if !o.OK() {
		return statement{}, fmt.Errorf("%v", o)
	}
	out := statement{Status: "issued", From: timeAt(o.Data(), "createdAt"), To: time.Unix(1<<40, 0), PINs: map[string]string{}}
	c.shouldHaveAccess = c.shouldHaveAccess && (!c.endsByItself || stringAt(o.Data(), "state") != "ended")
	if stringAt(o.Data(), "state") == "ended" {
		out.Status, out.From, out.To = "removing", time.Time{}, time.Time{}
		if removed, _ := e2etest.ValueAt(o.Data(), "removed").(bool); removed {
			out.Status = "removed"
		}
	}
	for _, p := range listAt(envelope(o), "places") {
		lock := w.lockByID(stringAt(p, "lockId"))
		if lock == nil {
			continue
		}
		out.Claims = append(out.Claims, claim{Door: stringAt(p, "doorId"), Lock: lock.address, Name: stringAt(p, "doorName"), Evidence: stringAt(p, "evidence"), Reason: reasonOfResult(stringAt(p, "result"))})
	}
	for _, door := range listAt(o.Data(), "doorIds") {
		id, _ := door.(string)
		if w.lockAtDoor(id) != nil && !slices.ContainsFunc(out.Claims, func(c claim) bool { return c.Door == id }) {
			out.Unplaced = append(out.Unplaced, w.doorName(id))
		}
	}
	if out.Status != "issued" {
		return out, nil
	}
	o, err = w.request(ctx, w.staff, "POST", "/v1/property/codes/"+c.id+":reveal", map[string]any{})
	if err != nil || !o.OK() {
		return statement{}, fmt.Errorf("reveal: %v %w", o, err)
	}
	if p := stringAt(envelope(o), "pin"); p != "" {
		out.PINs[""] = p
	}
	for _, d := range listAt(envelope(o), "doorPins") {
		out.PINs[stringAt(d, "doorId")] = stringAt(d, "pin")
	}
	c.rememberPINs(out)
	return out, nil
}

// reasonOfResult returns the reason for a claim from the result of a lock operation: the result itself, or "" for "ok".
func reasonOfResult(result string) string {
	if result == "ok" {
		return ""
	}
	return result
}

// lockByID returns the lock with the service's id, or nil.
func (w *world) lockByID(id string) *lockState {
	for _, l := range w.locks {
		if l.id == id {
			return l
		}
	}
	return nil
}

// lockAtDoor returns the lock that is assigned to a door, or nil. For "" it returns a lock without a door.
func (w *world) lockAtDoor(door string) *lockState {
	for _, l := range w.locks {
		if l.door() == door {
			return l
		}
	}
	return nil
}
