package explain

import (
	"strings"
	"testing"

	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
)

// Two dorms may have beds of equal names: each sentence about a bed has its dorm.
func TestSentencesNameTheDormOfABed(t *testing.T) {
	f := stay(evidence(2, room, slot.Verified), opened(3, room))
	f.Plan.Doors[0].Name, f.Plan.Doors[0].Parent = "Bed A", "Dorm 6"
	f.Doors[room] = Door{Name: "Bed A", Parent: "Dorm 6", Private: true, Locked: true, Online: true, ReadBack: true}
	e := Explain(f)
	texts := []message.Message{e.Doors[0].Text}
	for _, s := range e.Steps {
		if s.DoorID == room {
			texts = append(texts, s.Text)
			if s.DoorDorm != "Dorm 6" {
				t.Errorf("the step %s has the dorm %q", s.Kind, s.DoorDorm)
			}
		}
	}
	for _, m := range texts {
		if got := (message.Reader{}).Text(m); !strings.Contains(got, "Dorm 6 · Bed A") {
			t.Errorf("the dorm is missing: %s", got)
		}
	}
	if len(texts) != 3 {
		t.Errorf("%d texts, want the verdict and two steps", len(texts))
	}
}
