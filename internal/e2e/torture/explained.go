package torture

import (
	"fmt"
	"slices"
	"time"
)

// step is one line of an explanation.
type step struct {
	At                                          time.Time
	Actor, Kind, Door, Evidence, Reason, Spoken string
}

func (s step) String() string {
	return fmt.Sprintf("%s %s %s %s %s %q", stamp(s.At), s.Actor, s.Kind, s.Door, s.Evidence, s.Spoken)
}

// explanation is the service's explanation of a stay.
type explanation struct {
	Doors     map[string]string // evidence by door
	Steps     []step
	Truncated bool
}

// opening is a press with a PIN of the stay that opened.
type opening struct {
	At     time.Time
	Lock   string
	Door   string // the door of the lock at that time; empty: none, and then the service may name its previous door
	Before []string
	Owed   bool // the service said that this PIN opens this door, or the bridge knew whose it is: explain must show the opening
	Lost   bool // the bridge was killed right after, perhaps before it had stored the lock's report
}

// slackOfSteps is how far the time of an opening may be off: a bridge's clock is compared with the service's over links that
// delay.
const slackOfSteps = 3 * time.Second

// judgeExplanation compares an explanation with what happened at the keypads, and with an earlier explanation. Complete says
// that all that happened must have reached the service.
func judgeExplanation(e, before explanation, openings []opening, complete bool) (broken []string) {
	if !slices.IsSortedFunc(e.Steps, func(a, b step) int { return a.At.Compare(b.At) }) {
		broken = append(broken, "the steps are out of order")
	}
	seen := map[step]bool{}
	for _, s := range e.Steps {
		if s.At = s.At.UTC(); seen[s] {
			broken = append(broken, fmt.Sprintf("reported twice: %v", s))
		}
		seen[s] = true
	}
	broken = append(broken, e.rewritten(before)...)
	broken = append(broken, e.openings(openings, complete)...)
	return append(broken, e.last()...)
}

// lastOnly is the step that says when the booking was last changed: the next change takes its place.
const lastOnly = "bookingChanged"

// rewritten lists the steps that were in an earlier explanation and are missing.
func (e explanation) rewritten(before explanation) (broken []string) {
	if e.Truncated {
		return nil
	}
	for _, s := range before.Steps {
		same := func(o step) bool {
			return o.At.Equal(s.At) && o.Kind == s.Kind && o.Door == s.Door && o.Evidence == s.Evidence
		}
		if s.Kind != lastOnly && !slices.ContainsFunc(e.Steps, same) {
			text := fmt.Sprintf("reported before and not any more: %v\n  steps of the door now:", s)
			for _, o := range e.Steps {
				if o.Door == s.Door {
					text += fmt.Sprintf("\n  %v", o)
				}
			}
			broken = append(broken, text)
		}
	}
	return broken
}

// openings matches the reported openings one to one with the real ones.
func (e explanation) openings(all []opening, complete bool) (broken []string) {
	reported := make([]bool, len(all))
	for _, s := range e.Steps {
		if s.Kind != "doorOpened" {
			continue
		}
		best := -1
		for i, o := range all {
			off := s.At.Sub(o.At).Abs()
			if !reported[i] && (o.Door == s.Door || o.Door == "" && slices.Contains(o.Before, s.Door)) && off <= slackOfSteps && (best < 0 || off < s.At.Sub(all[best].At).Abs()) {
				best = i
			}
		}
		if best < 0 {
			broken = append(broken, fmt.Sprintf("no keypad opened then and there: %v%s", s, nearest(all, s.At)))
			continue
		}
		reported[best] = true
	}
	if !complete || e.Truncated {
		return broken
	}
	for i, o := range all {
		if !reported[i] && o.Owed && !o.Lost {
			broken = append(broken, fmt.Sprintf("an opening is not reported: lock %s on door %s at %s", o.Lock, o.Door, stamp(o.At)))
		}
	}
	return broken
}

// nearest names the openings around a time.
func nearest(all []opening, at time.Time) (out string) {
	for _, o := range all {
		if o.At.Sub(at).Abs() < 2*slackOfSteps {
			out += fmt.Sprintf("\n  lock %s on door %s opened at %s", o.Lock, o.Door, stamp(o.At))
		}
	}
	return out
}

// last compares the evidence of each door with the last step that says any.
func (e explanation) last() (broken []string) {
	for door, evidence := range e.Doors {
		if !slices.Contains(sure, evidence) {
			continue
		}
		for _, s := range slices.Backward(e.Steps) {
			if s.Door == door && s.Evidence != "" {
				if s.Evidence == "removed" || s.Evidence == "removing" {
					broken = append(broken, fmt.Sprintf("the door is %s, and its last step is: %v", evidence, s))
				}
				break
			}
		}
	}
	return broken
}
