package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// try is one press of a keypad and what must come of it.
type try struct {
	who, id, door string
	opens         bool
}

// tries types PINs and checks what the doors do.
func (s *story) tries(ctx context.Context, all ...try) ([]string, error) {
	var out []string
	for _, t := range all {
		p, err := s.Type(ctx, s.Spaces[t.door], s.pins[t.id])
		if err != nil {
			return out, err
		}
		if p.Opened != t.opens {
			return out, fmt.Errorf("%s typed the PIN at %s: opened %v (%s), and it should be %v", t.who, t.door, p.Opened, p.Reason, t.opens)
		}
		line := fmt.Sprintf("%-7s at %-11s opens", t.who, t.door)
		if !t.opens {
			line = fmt.Sprintf("%-7s at %-11s is refused", t.who, t.door)
		}
		out = append(out, line)
	}
	return out, nil
}

func (s *story) pressed(ctx context.Context) ([]string, error) {
	return s.tries(ctx,
		try{"Ada", ada, Front, true}, try{"Ada", ada, "Room 101", true}, try{"Ada", ada, "Room 102", false},
		try{"Grace", grace, Dorm, true}, try{"Grace", grace, "Bed A", true}, try{"Grace", grace, "Bed B", false},
		try{"Edsger", edsger, "Bed B", true},
	)
}

func (s *story) extend(ctx context.Context) ([]string, error) {
	longer := booking("", "", 3, nil)
	if _, err := s.push(ctx, ada, map[string]any{"toDate": longer["toDate"]}); err != nil {
		return nil, err
	}
	a, err := s.settled(ctx, ada, "issued", "verified")
	if err != nil {
		return nil, err
	}
	if text(a.Data(), "pin") != s.pins[ada] {
		return nil, fmt.Errorf("the PIN changed with the dates")
	}
	window, _ := plan(a)["window"].(map[string]any)
	if !strings.HasPrefix(text(window, "to"), longer["toDate"].(string)) {
		return nil, fmt.Errorf("the window ends at %s, not on %s", text(window, "to"), longer["toDate"])
	}
	out, err := s.tries(ctx, try{"Ada", ada, "Room 101", true})
	return append([]string{"the window now ends " + text(window, "to") + ", the PIN is the same"}, out...), err
}

func (s *story) move(ctx context.Context) ([]string, error) {
	a, err := s.push(ctx, ada, map[string]any{"roomId": "R102"})
	if err != nil {
		return nil, err
	}
	if status := text(plan(a), "status"); status != "updating" {
		return nil, fmt.Errorf("the room is being changed, and the plan says %q", status)
	}
	if _, err := s.settled(ctx, ada, "issued", "verified"); err != nil {
		return nil, err
	}
	if err := s.emptied(ctx, "Room 101"); err != nil {
		return nil, err
	}
	out, err := s.tries(ctx, try{"Ada", ada, "Room 102", true}, try{"Ada", ada, "Room 101", false})
	return append([]string{"the new door first; the old code goes once the new one is read back"}, out...), err
}

func (s *story) checkOut(ctx context.Context) ([]string, error) {
	for _, id := range []string{ada, grace, edsger} {
		if _, err := s.push(ctx, id, map[string]any{"state": "processed"}); err != nil {
			return nil, err
		}
	}
	for _, id := range []string{ada, grace, edsger} {
		if _, err := s.settled(ctx, id, "removed", "removed"); err != nil {
			return nil, err
		}
	}
	return []string{"every code is known to be gone from every lock: removed"}, nil
}

func (s *story) refused(ctx context.Context) ([]string, error) {
	return s.tries(ctx,
		try{"Ada", ada, Front, false}, try{"Ada", ada, "Room 102", false},
		try{"Grace", grace, Dorm, false}, try{"Edsger", edsger, "Bed B", false},
	)
}

// settled waits until the plan of a reservation has a status and each of its doors that has a code this evidence.
func (s *story) settled(ctx context.Context, id, status, evidence string) (a Answer, err error) {
	seen := ""
	err = s.Await(ctx, "the access of "+id+" is "+status+" and "+evidence, func(ctx context.Context) (bool, error) {
		if a, err = s.ask(ctx, "GET", "/v1/reservations/find?pmsId="+id+"&extend=pin,gatePins,access", nil); err != nil {
			return false, err
		}
		p := plan(a)
		var words []string
		for _, d := range items(p, "doors") {
			words = append(words, text(d, "pin"))
		}
		seen = fmt.Sprintf("the plan says %s, the doors %s", text(p, "status"), strings.Join(words, ", "))
		good := []string{evidence}
		if evidence == "verified" {
			good = append(good, "used")
		}
		if text(p, "status") != status || slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(good, w) }) {
			return false, fmt.Errorf("%s", seen)
		}
		return true, nil
	})
	return a, err
}

// emptied waits until a lock holds no code.
func (s *story) emptied(ctx context.Context, door string) error {
	return s.Await(ctx, door+" holds no code", func(context.Context) (bool, error) { return len(s.House.Slots(s.doors[s.Spaces[door]])) == 0, nil })
}

// ask calls the service and refuses every answer but 200.
func (s *story) ask(ctx context.Context, method, path string, body any) (Answer, error) {
	a, err := s.PMS.Do(ctx, method, path, body)
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("%s %s: %d %v", method, path, a.Status, a.Body["error"])
	}
	return a, err
}

func (s *story) push(ctx context.Context, id string, fields map[string]any) (Answer, error) {
	a, err := s.PMS.Push(ctx, id, fields)
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("the service refused a change of %s: %d %v", id, a.Status, a.Body["error"])
	}
	return a, err
}

func plan(a Answer) map[string]any {
	p, _ := a.Data()["access"].(map[string]any)
	return p
}

func items(m map[string]any, name string) []map[string]any {
	list, _ := m[name].([]any)
	out := make([]map[string]any, 0, len(list))
	for _, v := range list {
		if item, ok := v.(map[string]any); ok {
			out = append(out, item)
		}
	}
	return out
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// wrapped puts words into lines of so many.
func wrapped(words []string, n int) []string {
	var out []string
	for line := range slices.Chunk(words, n) {
		out = append(out, strings.Join(line, ", "))
	}
	return out
}
