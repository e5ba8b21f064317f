package torture

import (
	"fmt"
	"slices"
	"time"
)

// step is one line of an explanation.
type step struct {
	At                                            time.Time
	Actor, Kind, Door, Evidence, Reason, Sentence string
}

func (s step) String() string {
	return fmt.Sprintf("%s %s %s %s %s %q", formatClock(s.At), s.Actor, s.Kind, s.Door, s.Evidence, s.Sentence)
}

// explanation is the service's explanation of a stay.
type explanation struct {
	Doors     map[string]string // evidence by door
	Steps     []step
	Truncated bool
}

// opening is a press with a PIN of the stay that opened.
type opening struct {
	At             time.Time
	Lock           string
	Door           string   // the door of the lock at that time; empty: none, and then the service may name its previous door
	EarlierDoors   []string // doors that the lock was assigned to before
	MustBeReported bool     // the service said that this PIN opens this door, or the bridge knew whose it is: explain must show the opening
	MayBeLost      bool     // the bridge was killed right after, perhaps before it had stored the lock's report
}

// openingTimeTolerance is the largest allowed difference between the reported time of an opening and the real one. The faulty links
// delay messages, so the bridge measures the service's clock with an error.
const openingTimeTolerance = 3 * time.Second

// judgeExplanation compares an explanation with what happened at the keypads, and with an earlier explanation of the same stay. It
// returns the differences. complete means that the service must have received every report by now.
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
	broken = append(broken, e.missingSteps(before)...)
	broken = append(broken, e.checkOpenings(openings, complete)...)
	return append(broken, e.checkLastEvidence()...)
}

// replacedStepKind is the kind of the step for the last change of the booking. A later change replaces it.
const replacedStepKind = "bookingChanged"

// missingSteps describes the steps of an earlier explanation that this one lacks.
func (e explanation) missingSteps(before explanation) (broken []string) {
	if e.Truncated {
		return nil
	}
	for _, s := range before.Steps {
		same := func(o step) bool {
			return o.At.Equal(s.At) && o.Kind == s.Kind && o.Door == s.Door && o.Evidence == s.Evidence
		}
		if s.Kind != replacedStepKind && !slices.ContainsFunc(e.Steps, same) {
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

// checkOpenings matches the reported openings one to one with the real ones, and describes those without a match.
func (e explanation) checkOpenings(all []opening, complete bool) (broken []string) {
	reported := make([]bool, len(all))
	for _, s := range e.Steps {
		if s.Kind != "doorOpened" {
			continue
		}
		best := -1
		for i, o := range all {
			off := s.At.Sub(o.At).Abs()
			if !reported[i] && (o.Door == s.Door || o.Door == "" && slices.Contains(o.EarlierDoors, s.Door)) && off <= openingTimeTolerance && (best < 0 || off < s.At.Sub(all[best].At).Abs()) {
				best = i
			}
		}
		if best < 0 {
			broken = append(broken, fmt.Sprintf("no keypad opened then and there: %v%s", s, openingsNear(all, s.At)))
			continue
		}
		reported[best] = true
	}
	if !complete || e.Truncated {
		return broken
	}
	for i, o := range all {
		if !reported[i] && o.MustBeReported && !o.MayBeLost {
			broken = append(broken, fmt.Sprintf("an opening is not reported: lock %s on door %s at %s", o.Lock, o.Door, formatClock(o.At)))
		}
	}
	return broken
}

// openingsNear describes the openings within twice openingTimeTolerance of a time.
func openingsNear(all []opening, at time.Time) (out string) {
	for _, o := range all {
		if o.At.Sub(at).Abs() < 2*openingTimeTolerance {
			out += fmt.Sprintf("\n  lock %s on door %s opened at %s", o.Lock, o.Door, formatClock(o.At))
		}
	}
	return out
}

// checkLastEvidence reports doors whose code is on the lock although the door's last step with evidence says that it was removed.
func (e explanation) checkLastEvidence() (broken []string) {
	for door, evidence := range e.Doors {
		if !slices.Contains(certainEvidence, evidence) {
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
