package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// attempt is a PIN typed at a keypad, and whether the door must open. who is the guest's first name, id the reservation whose PIN it is,
// door a name in World.Spaces.
type attempt struct {
	who, id, door string
	opens         bool
}

// typeAll types PINs at doors. It returns a line for each attempt, and an error if a door did not do what the attempt expects.
func (s *demo) typeAll(ctx context.Context, all ...attempt) ([]string, error) {
	var out []string
	for _, t := range all {
		p, err := s.TypePIN(ctx, s.Spaces[t.door], s.pins[t.id])
		if err != nil {
			return out, err
		}
		if p.Opened != t.opens {
			return out, fmt.Errorf("%s typed the PIN at %s: opened %v (%s), want %v", t.who, t.door, p.Opened, p.Reason, t.opens)
		}
		line := fmt.Sprintf("%-7s at %-11s opens", t.who, t.door)
		if !t.opens {
			line = fmt.Sprintf("%-7s at %-11s is refused", t.who, t.door)
		}
		out = append(out, line)
	}
	return out, nil
}

// typePINs runs a demo step and returns its report lines: each PIN must open the doors of its guest, and no others.
func (s *demo) typePINs(ctx context.Context) ([]string, error) {
	return s.typeAll(ctx,
		attempt{"Ada", ada, FrontDoor, true}, attempt{"Ada", ada, "Room 101", true}, attempt{"Ada", ada, "Room 102", false},
		attempt{"Grace", grace, DormName, true}, attempt{"Grace", grace, "Bed A", true}, attempt{"Grace", grace, "Bed B", false},
		attempt{"Edsger", edsger, "Bed B", true},
	)
}

// extendStay runs a demo step and returns its report lines: the PMS moves the end of Ada's stay by a day. Her PIN must stay the same and
// still open her room.
func (s *demo) extendStay(ctx context.Context) ([]string, error) {
	longer := newBooking("", "", 3, nil)
	if _, err := s.pushOK(ctx, ada, map[string]any{"toDate": longer["toDate"]}); err != nil {
		return nil, err
	}
	a, err := s.awaitPlan(ctx, ada, "issued", "verified")
	if err != nil {
		return nil, err
	}
	if stringIn(a.Data(), "pin") != s.pins[ada] {
		return nil, fmt.Errorf("the PIN changed with the dates")
	}
	window, _ := accessPlan(a)["window"].(map[string]any)
	if !strings.HasPrefix(stringIn(window, "to"), longer["toDate"].(string)) {
		return nil, fmt.Errorf("the window ends at %s, not on %s", stringIn(window, "to"), longer["toDate"])
	}
	out, err := s.typeAll(ctx, attempt{"Ada", ada, "Room 101", true})
	return append([]string{"the window now ends " + stringIn(window, "to") + ", the PIN is the same"}, out...), err
}

// moveToOtherRoom runs a demo step and returns its report lines: the PMS moves Ada to another room. Her PIN must open that one, and the
// former lock must lose it.
func (s *demo) moveToOtherRoom(ctx context.Context) ([]string, error) {
	a, err := s.pushOK(ctx, ada, map[string]any{"roomId": "R102"})
	if err != nil {
		return nil, err
	}
	if status := stringIn(accessPlan(a), "status"); status != "updating" {
		return nil, fmt.Errorf("the room changes, but the status of the plan is %q", status)
	}
	if _, err := s.awaitPlan(ctx, ada, "issued", "verified"); err != nil {
		return nil, err
	}
	if err := s.awaitEmptyLock(ctx, "Room 101"); err != nil {
		return nil, err
	}
	out, err := s.typeAll(ctx, attempt{"Ada", ada, "Room 102", true}, attempt{"Ada", ada, "Room 101", false})
	return append([]string{"the new door opens first; the old code is removed when the new one was read back"}, out...), err
}

// checkOutGuests runs a demo step and returns its report lines: the PMS checks all guests out, and the locks lose their PINs.
func (s *demo) checkOutGuests(ctx context.Context) ([]string, error) {
	for _, id := range []string{alan, ada, grace, edsger} {
		if _, err := s.pushOK(ctx, id, map[string]any{"state": "processed"}); err != nil {
			return nil, err
		}
	}
	for _, id := range []string{alan, ada, grace, edsger} {
		if _, err := s.awaitPlan(ctx, id, "removed", "removed"); err != nil {
			return nil, err
		}
	}
	return []string{"every lock has confirmed the removal: removed"}, nil
}

// typeOldPINs runs a demo step and returns its report lines: the PINs of guests who have checked out must open nothing.
func (s *demo) typeOldPINs(ctx context.Context) ([]string, error) {
	return s.typeAll(ctx,
		attempt{"Ada", ada, FrontDoor, false}, attempt{"Ada", ada, "Room 102", false},
		attempt{"Grace", grace, DormName, false}, attempt{"Edsger", edsger, "Bed B", false}, attempt{alanFirst, alan, alanRoom, false},
	)
}

// awaitPlan waits until the access plan of a reservation has the status, and each of its doors has the evidence ("used" counts as
// "verified"). It returns the answer with the reservation, its PIN and plan. Like [World.Await] it gives up after a time.
func (s *demo) awaitPlan(ctx context.Context, id, status, evidence string) (a Answer, err error) {
	seen := ""
	err = s.Await(ctx, "the access of "+id+" is "+status+" and "+evidence, func(ctx context.Context) (bool, error) {
		if a, err = s.callOK(ctx, "GET", "/v1/reservations/find?pmsId="+id+"&extend=pin,gatePins,access", nil); err != nil {
			return false, err
		}
		p := accessPlan(a)
		var words []string
		for _, d := range objectsIn(p, "doors") {
			words = append(words, stringIn(d, "pin"))
		}
		seen = fmt.Sprintf("the plan says %s, the doors %s", stringIn(p, "status"), strings.Join(words, ", "))
		good := []string{evidence}
		if evidence == "verified" {
			good = append(good, "used")
		}
		if stringIn(p, "status") != status || slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(good, w) }) {
			return false, fmt.Errorf("%s", seen)
		}
		return true, nil
	})
	return a, err
}

// awaitEmptyLock waits until the lock of a door has no code. door is a name in World.Spaces.
func (s *demo) awaitEmptyLock(ctx context.Context, door string) error {
	return s.Await(ctx, door+" has no code", func(context.Context) (bool, error) { return len(s.Site.Slots(s.doors[s.Spaces[door]])) == 0, nil })
}

// callOK calls the service's REST API as the PMS, and returns an error for every status except 200.
func (s *demo) callOK(ctx context.Context, method, path string, body any) (Answer, error) {
	a, err := s.PMS.Do(ctx, method, path, body)
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("%s %s: %d %v", method, path, a.Status, a.Body["error"])
	}
	return a, err
}

// pushOK sends changed fields of a reservation to the service, as its PMS, and returns an error unless the service accepts them.
func (s *demo) pushOK(ctx context.Context, id string, fields map[string]any) (Answer, error) {
	a, err := s.PMS.Push(ctx, id, fields)
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("the service refused a change of %s: %d %v", id, a.Status, a.Body["error"])
	}
	return a, err
}

// accessPlan returns the access plan in the answer about a reservation, or nil.
func accessPlan(a Answer) map[string]any {
	p, _ := a.Data()["access"].(map[string]any)
	return p
}

// objectsIn returns the objects of a list in a JSON object; none if there is no such list.
func objectsIn(m map[string]any, name string) []map[string]any {
	list, _ := m[name].([]any)
	out := make([]map[string]any, 0, len(list))
	for _, v := range list {
		if item, ok := v.(map[string]any); ok {
			out = append(out, item)
		}
	}
	return out
}

// stringIn returns a text in a JSON object, or "".
func stringIn(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// joinInLines joins words by commas into lines of at most n words.
func joinInLines(words []string, n int) []string {
	var out []string
	for line := range slices.Chunk(words, n) {
		out = append(out, strings.Join(line, ", "))
	}
	return out
}
