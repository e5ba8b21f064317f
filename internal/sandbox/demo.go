package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/clock"
)

// Step is one step of the demo.
type Step struct {
	Title string
	// Run runs the step and describes its outcome.
	Run func(ctx context.Context) (outcome []string, err error)
}

// Observer is notified of the beginning and the end of each step of the demo. Steps are numbered from 1. err is nil if the step succeeded.
type Observer interface {
	Begin(number int, title string)
	End(outcome []string, err error, took time.Duration)
}

// StepError is the error of [World.RunDemo]. It names the step that failed.
type StepError struct {
	Number int
	Title  string
	Err    error
}

// Error implements error.
func (e *StepError) Error() string { return fmt.Sprintf("step %d, %q: %v", e.Number, e.Title, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// RunDemo runs every step of the demo and checks its outcome. It stops at the first failure and returns a *StepError.
func (w *World) RunDemo(ctx context.Context, to Observer) error {
	s := &demo{World: w}
	for i, step := range s.steps() {
		to.Begin(i+1, step.Title)
		began := time.Now()
		outcome, err := step.Run(ctx)
		to.End(outcome, err, time.Since(began))
		if err != nil {
			return &StepError{i + 1, step.Title, err}
		}
	}
	return nil
}

// demo is a running demo: a script that plays guests, staff and the PMS, and checks what happens.
type demo struct {
	*World
	pins map[string]string // pins has the PIN of each reservation, by the PMS's id

	link, home          string   // link is the link in Alan's mail; home is the path of his stay
	phone, joan, tablet *browser // phone is Alan's, joan is his companion's, tablet is the kiosk
	kioskID             string   // kioskID is the kiosk of the tablet
}

// The reservations of the guests whom the desk checks in.
const (
	ada    = "B-1001"   // the PMS's id of Ada's reservation of Room 101
	grace  = "B-1002-1" // the PMS's id of Grace's reservation of Bed A
	edsger = "B-1002-2" // the PMS's id of Edsger's reservation of Bed B
)

// steps returns all steps of the demo in their order. The method of a step also checks the outcome, and returns lines that describe it.
func (s *demo) steps() []Step {
	s.pins = map[string]string{}
	return slices.Concat([]Step{
		{"The PMS has registered its three endpoints", s.checkEndpoints},
		{"Its rooms and beds are mapped to those of the property", s.checkMapping},
	}, s.guestSteps(), s.staySteps(), []Step{
		{"A booking for Room 101 arrives, and one for two beds", s.createBookings},
		{"The desk checks the guests in", s.checkInGuests},
		{"The PINs are on the locks", s.awaitVerified},
		{"Guests type their PINs", s.typePINs},
		{"Ada stays a day longer", s.extendStay},
		{"Ada moves to Room 102", s.moveToOtherRoom},
		{"All guests check out", s.checkOutGuests},
		{"The same PINs are refused", s.typeOldPINs},
	})
}

// checkEndpoints runs a demo step and returns its report lines: the service must have the three endpoints of the PMS, and its test of
// getSpaces must succeed.
func (s *demo) checkEndpoints(ctx context.Context) ([]string, error) {
	a, err := s.callOK(ctx, "GET", "/v1/endpoints", nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range objectsIn(a.Data(), "list") {
		names = append(names, stringIn(e, "action"))
	}
	if len(names) != 3 {
		return nil, fmt.Errorf("the service has %d endpoints, not 3", len(names))
	}
	t, err := s.callOK(ctx, "POST", "/v1/endpoints/getSpaces:test", map[string]any{})
	if err != nil {
		return nil, err
	}
	if ok, _ := t.Data()["ok"].(bool); !ok {
		return nil, fmt.Errorf("getSpaces gives an invalid answer: %v", t.Data()["violations"])
	}
	return []string{strings.Join(names, ", "), fmt.Sprintf("getSpaces gives a valid answer in %.1f ms", t.Data()["latencyMs"])}, nil
}

// checkMapping runs a demo step and returns its report lines: each space of the PMS must be mapped to a space of the property.
func (s *demo) checkMapping(ctx context.Context) ([]string, error) {
	a, err := s.callOK(ctx, "GET", "/v1/spaces?page[limit]=200", nil)
	if err != nil {
		return nil, err
	}
	var pairs []string
	for _, sp := range objectsIn(a.Data(), "list") {
		if stringIn(sp, "pmsSpaceId") == "" {
			return nil, fmt.Errorf("%s is not mapped", stringIn(sp, "name"))
		}
		pairs = append(pairs, stringIn(sp, "pmsSpaceId")+" = "+stringIn(sp, "name"))
	}
	if len(pairs) != len(PMSSpaces()) {
		return nil, fmt.Errorf("%d spaces are mapped, not %d", len(pairs), len(PMSSpaces()))
	}
	return joinInLines(pairs, 4), nil
}

// dateAt returns the date at the demo property that is ahead days after the day of a time.
func dateAt(at time.Time, ahead int) string {
	zone, err := clock.Zone(demoZone)
	if err != nil {
		panic(err) // the zones are embedded
	}
	return at.In(zone).AddDate(0, 0, ahead).Format(time.DateOnly)
}

// newBooking returns the fields of a reservation for some nights from today at the demo property, for one adult. number is its booking
// number, last the family name; more has further fields, which override these.
func newBooking(number, last string, nights int, more map[string]any) map[string]any {
	now := time.Now()
	b := map[string]any{
		"pmsNumber": number, "state": "confirmed", "booker": map[string]any{"lastName": last, "email": mailAddress(last)},
		"fromDate": dateAt(now, 0), "toDate": dateAt(now, nights), "adultCount": 1,
	}
	for k, v := range more {
		b[k] = v
	}
	return b
}

// mailAddress returns an address for a family name. Characters other than a to z are left out; if none is left, it is guest@example.com.
func mailAddress(name string) string {
	local := strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	return cmp.Or(local, "guest") + "@example.com"
}

// createBookings runs a demo step and returns its report lines: the PMS pushes the reservations of Ada, Grace and Edsger, who must not get
// access yet.
func (s *demo) createBookings(ctx context.Context) ([]string, error) {
	for id, b := range map[string]map[string]any{
		ada:    newBooking("1001", "Lovelace", 2, map[string]any{"roomId": "R101"}),
		grace:  newBooking("1002", "Hopper", 3, map[string]any{"roomId": "D4", "bedId": "D4-A", "pmsMeta": map[string]any{"groupId": "1002"}}),
		edsger: newBooking("1002", "Dijkstra", 3, map[string]any{"roomId": "D4", "bedId": "D4-B", "pmsMeta": map[string]any{"groupId": "1002"}}),
	} {
		a, err := s.pushOK(ctx, id, b)
		if err != nil {
			return nil, err
		}
		if status := stringIn(accessPlan(a), "status"); status != "none" {
			return nil, fmt.Errorf("%s is only confirmed, and its access is %q", id, status)
		}
	}
	return []string{"Ada: Room 101. Grace and Edsger: Bed A and Bed B of Dorm 4", "confirmed: no access yet, and the answer says why: notCheckedIn"}, nil
}

// checkInGuests runs a demo step and returns its report lines: the PMS checks the guests in, and each must get access.
func (s *demo) checkInGuests(ctx context.Context) ([]string, error) {
	var out []string
	for _, g := range []struct{ id, name string }{{ada, "Ada"}, {grace, "Grace"}, {edsger, "Edsger"}} {
		a, err := s.pushOK(ctx, g.id, map[string]any{"state": "started"})
		if err != nil {
			return nil, err
		}
		p := accessPlan(a)
		if status := stringIn(p, "status"); status != "issued" {
			return nil, fmt.Errorf("%s is checked in, and the access is %q: %v", g.name, status, p["reasons"])
		}
		var doors []string
		for _, d := range objectsIn(p, "doors") {
			doors = append(doors, stringIn(d, "name"))
		}
		out = append(out, fmt.Sprintf("%-7s %s", g.name+":", strings.Join(doors, ", ")))
	}
	return out, nil
}

// awaitVerified runs a demo step and returns its report lines: the locks confirm the PINs of all guests. Later steps use the PINs.
func (s *demo) awaitVerified(ctx context.Context) ([]string, error) {
	n := 0
	for _, id := range []string{ada, grace, edsger} {
		a, err := s.awaitPlan(ctx, id, "issued", "verified")
		if err != nil {
			return nil, err
		}
		s.pins[id] = stringIn(a.Data(), "pin")
		if len(s.pins[id]) < 6 {
			return nil, fmt.Errorf("%s has no PIN", id)
		}
		n += len(objectsIn(accessPlan(a), "doors"))
	}
	return []string{fmt.Sprintf("%d codes sent, set and read back from the locks: verified", n)}, nil
}
