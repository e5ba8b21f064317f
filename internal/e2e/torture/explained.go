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

// String formats the step for a report.
func (s step) String() string {
	return fmt.Sprintf("%s %s %s %s %s %q", formatClock(s.At), s.Actor, s.Kind, s.Door, s.Evidence, s.Sentence)
}

// explanation is the service's explanation of a reservation's access.
type explanation struct {
	Doors     map[string]string // evidence by door
	Steps     []step
	Truncated bool
}

// opening is a press of a PIN at a keypad that opened the lock. judgeExplanation compares those of a stay with the steps of its
// explanation.
type opening struct {
	At             time.Time
	Lock           string
	Door           string   // Door is the id of the lock's door then; empty: none, and the service may report any of EarlierDoors
	EarlierDoors   []string // EarlierDoors are the ids of the doors to which the lock was assigned before
	MustBeReported bool     // MustBeReported means that explain must show the opening, because the service said that this PIN opens this door, or the bridge knew the code
	MayBeLost      bool     // MayBeLost means that the bridge was killed at about that time and perhaps never stored the lock's report
}

// openingTimeTolerance is the largest accepted difference between the reported and the real time of an opening. The simulated network
// delays messages, so the bridge measures the service's clock inexactly.
const openingTimeTolerance = 3 * time.Second

// judgeExplanation compares an explanation with the openings at the keypads and with before, an earlier explanation of the same stay. It
// returns the differences, and steps that are out of order, reported twice or contradict the evidence of their door. complete means that
// the service must have received all reports of locks.
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

// replacedStepKind is the kind of step for the last change of a booking. A later change replaces the step.
const replacedStepKind = "bookingChanged"

// missingSteps describes the steps of an earlier explanation that are missing in this one. It returns none if this one is truncated.
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

// checkOpenings matches the reported openings one to one with the real ones. It describes reported openings that no keypad had and, if
// complete and not truncated, real openings that must be reported and cannot be lost, and are not reported.
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

// checkLastEvidence describes doors whose lock has the code although the last step about the door is the removal of the code.
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
