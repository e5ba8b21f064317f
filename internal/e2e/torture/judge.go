// Package torture runs the real programs under faults that derive from a seed, and compares what the service
// says of every door with what the keypad of its virtual lock does.
package torture

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
)

// claim is what the service says of a holder's PIN at one door, or for codes at one lock.
type claim struct {
	Door, Lock       string // Lock is empty where the service names no lock
	Name             string
	Evidence, Reason string
}

// statement is all that the service says of one holder's access at one moment.
type statement struct {
	Status   string
	Reasons  []string
	Claims   []claim
	From, To time.Time         // the window; zero: none
	PINs     map[string]string // by door id; "" has the PIN of all other doors
	Missing  bool              // the service does not know the holder yet
	Unplaced []string          // of a code: its doors with a lock that has no slot for the code yet
}

// pin returns the PIN that the service shows the holder for a door.
func (s statement) pin(door string) string {
	if p, ok := s.PINs[door]; ok {
		return p
	}
	return s.PINs[""]
}

// shows reports whether the holder is shown a PIN for a lock: for the door that it is on, or for a door where the service still
// names the lock.
func (s statement) shows(pin, lock, door string) bool {
	return pin == s.pin(door) || slices.ContainsFunc(s.Claims, func(c claim) bool { return c.Lock == lock && pin == s.pin(c.Door) })
}

// press is one PIN typed at one keypad, between two equal statements.
type press struct {
	At     time.Time
	Lock   string
	Doors  []string // the door of the lock first, empty if it has none; then its earlier doors
	PIN    string
	Former bool // the holder is no longer shown this PIN
	// Unable: the lock was changed by hand, or a code for one use was used. The lock need not open. If it does, only the bridge can
	// know whether the code is its own or one that was set by hand.
	Unable bool
	Latest time.Time
	Native bool // the lock ends the code at Latest by its own clock, even if the service and the bridge are down
	Said   statement
	Answer sim.Press
}

// The rules that a press can break.
const (
	ruleRefused     = "the service says that the door opens, and it does not"
	ruleOpened      = "the service says that the door does not open, and it does"
	ruleForeign     = "a PIN opens a door that the service does not mention"
	ruleFormer      = "a former PIN opens, and the service does not say that it may"
	ruleAfterWindow = "a lock that keeps windows by itself opens after the end"
	ruleIssued      = "a plan is issued, and no door of it opens or will"
)

// slackAfterWindow is how long after the end a lock with its own schedule may open: the largest error of its clock, and what the bridge
// has not yet measured of it.
const slackAfterWindow = maxDrift + 10*time.Second

// Margins at both ends of a window in which a lock need not open.
const (
	marginOfNative = time.Minute + 2*maxDrift // with its own schedule: steps of a minute, and the error of its clock
	marginOfBridge = 5 * time.Second          // without: the bridge sets and clears the code, which takes a moment
)

var (
	sure      = []string{"accepted", "verified", "used"}
	mayOpen   = []string{"queued", "sent", "accepted", "verified", "used", "unconfirmed", "removing"}
	noTrouble = []string{"", "ownPin"} // reasons with which the evidence counts
	physical  = []string{"jammed", "noPower"}
)

// judge returns the rule that a press breaks, or "".
func judge(p press) string {
	if !p.Answer.Opened {
		if p.mustOpen() {
			return ruleRefused
		}
		return ""
	}
	if p.Native && !p.Latest.IsZero() && p.At.After(p.Latest.Add(slackAfterWindow)) {
		return ruleAfterWindow
	}
	about := p.claims()
	switch {
	case len(about) == 0:
		return ruleForeign
	case p.Former && p.saysFormer(about):
		return ""
	case p.Former:
		return ruleFormer
	case slices.ContainsFunc(about, func(c claim) bool { return slices.Contains(mayOpen, c.Evidence) }), p.saysFormer(about):
		return ""
	}
	return ruleOpened
}

// judgeStatement returns the rule that a statement breaks by itself, or "".
func judgeStatement(s statement) string {
	coming := func(c claim) bool { return c.Evidence != "removing" && slices.Contains(mayOpen, c.Evidence) }
	if s.Status == "issued" && !slices.ContainsFunc(s.Claims, coming) {
		return ruleIssued
	}
	return ""
}

// claims returns what the service says of this lock, or of its present and earlier doors.
func (p press) claims() []claim {
	var out []claim
	for _, c := range p.Said.Claims {
		if c.Lock == p.Lock || c.Lock == "" && slices.Contains(p.Doors, c.Door) {
			out = append(out, c)
		}
	}
	return out
}

func (p press) mustOpen() bool {
	s := p.Said
	if p.Former || p.Unable || slices.Contains(physical, p.Answer.Reason) || p.Doors[0] == "" {
		return false
	}
	margin := marginOfBridge
	if p.Native {
		margin = marginOfNative
	}
	if s.From.IsZero() || p.At.Before(s.From.Add(margin)) || p.At.After(s.To.Add(-margin)) {
		return false
	}
	return p.saysSure()
}

// saysSure reports whether the service says with certainty that the PIN opens the present door of the lock.
func (p press) saysSure() bool {
	return slices.ContainsFunc(p.claims(), func(c claim) bool {
		return c.Door == p.Doors[0] && slices.Contains(sure, c.Evidence) && slices.Contains(noTrouble, c.Reason)
	})
}

// saysFormer reports whether the service warns that a former code may still open here.
func (p press) saysFormer(about []claim) bool {
	if slices.Contains(p.Said.Reasons, "formerCode") || p.Said.Status == "updating" || p.Said.Status == "removing" {
		return true
	}
	return slices.ContainsFunc(about, func(c claim) bool { return c.Evidence == "removing" || c.Reason == "movingOut" })
}

// unsettled describes the first part of a statement that has not reached its final state, or returns "". access says whether the
// holder should have access.
func unsettled(s statement, access bool) string {
	for _, c := range s.Claims {
		done := []string{"removed", "none", "failed", "planned"}
		if access {
			done = append([]string{"none", "failed"}, sure...)
		}
		if !slices.Contains(done, c.Evidence) && (c.Lock == "" || c.Evidence != "removed") {
			return c.Name + " is " + c.Evidence + " " + c.Reason
		}
	}
	if access && len(s.Unplaced) > 0 {
		return fmt.Sprintf("no code is on its way to %v", s.Unplaced)
	}
	want := []string{"none", "removed"}
	if access {
		want = []string{"issued", "partial", "failed", "none"}
	}
	if !slices.Contains(want, s.Status) {
		return "the status is " + s.Status
	}
	return ""
}
