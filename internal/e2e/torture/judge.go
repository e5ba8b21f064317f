// Package torture runs the real programs under random but repeatable faults. It compares what the service says about each door with
// what the keypad of the door's virtual lock does.
package torture

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
)

// claim is what the service says about a holder's PIN at one door of a stay, or at one lock of a code.
type claim struct {
	Door, Lock       string // Lock is empty where the service names no lock
	Name             string
	Evidence, Reason string
}

// statement is what the service says about the access of one holder in one answer.
type statement struct {
	Status   string
	Reasons  []string
	Claims   []claim
	From, To time.Time         // the window; zero: none
	PINs     map[string]string // by door id; "" has the PIN of all other doors
	Missing  bool              // the service does not know the holder yet
	Unplaced []string          // of a code: its doors with a lock that has no slot for the code yet
}

// pinFor returns the PIN that the service shows the holder for a door.
func (s statement) pinFor(door string) string {
	if p, ok := s.PINs[door]; ok {
		return p
	}
	return s.PINs[""]
}

// showsPIN reports whether the service shows the holder this PIN for a lock: for the door of the lock, or for another door where the
// service still names the lock.
func (s statement) showsPIN(pin, lock, door string) bool {
	return pin == s.pinFor(door) || slices.ContainsFunc(s.Claims, func(c claim) bool { return c.Lock == lock && pin == s.pinFor(c.Door) })
}

// press is one PIN typed at one keypad. The service made the same statement before and after it.
type press struct {
	At     time.Time
	Lock   string
	Doors  []string // the door of the lock first, empty if it has none; then its earlier doors
	PIN    string
	Former bool // the holder is no longer shown this PIN
	// NeedNotOpen: the lock was changed by hand, or a one-time code was used before.
	NeedNotOpen bool
	LatestEnd   time.Time
	OwnSchedule bool // the lock ends the code at Latest by its own clock, even if the service and the bridge are down
	Statement   statement
	Answer      sim.Press
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
	marginOfLockClock = time.Minute + 2*maxDrift // with its own schedule: steps of a minute, and the error of its clock
	marginOfBridge    = 5 * time.Second          // without: the bridge sets and clears the code, which takes a moment
)

var (
	certainEvidence  = []string{"accepted", "verified", "used"}
	possibleEvidence = []string{"queued", "sent", "accepted", "verified", "used", "unconfirmed", "removing"}
	harmlessReasons  = []string{"", "ownPin"} // reasons with which the evidence counts
	hardwareReasons  = []string{"jammed", "noPower"}
)

// brokenRule returns the rule that the result of a press breaks, or "".
func brokenRule(p press) string {
	if !p.Answer.Opened {
		if p.mustOpen() {
			return ruleRefused
		}
		return ""
	}
	if p.OwnSchedule && !p.LatestEnd.IsZero() && p.At.After(p.LatestEnd.Add(slackAfterWindow)) {
		return ruleAfterWindow
	}
	about := p.matchingClaims()
	switch {
	case len(about) == 0:
		return ruleForeign
	case p.Former && p.isFormerPINAnnounced(about):
		return ""
	case p.Former:
		return ruleFormer
	case slices.ContainsFunc(about, func(c claim) bool { return slices.Contains(possibleEvidence, c.Evidence) }), p.isFormerPINAnnounced(about):
		return ""
	}
	return ruleOpened
}

// brokenStatementRule returns the rule that a statement breaks without any press, or "".
func brokenStatementRule(s statement) string {
	coming := func(c claim) bool { return c.Evidence != "removing" && slices.Contains(possibleEvidence, c.Evidence) }
	if s.Status == "issued" && !slices.ContainsFunc(s.Claims, coming) {
		return ruleIssued
	}
	return ""
}

// matchingClaims returns the claims about this lock, or about its present and earlier doors.
func (p press) matchingClaims() []claim {
	var out []claim
	for _, c := range p.Statement.Claims {
		if c.Lock == p.Lock || c.Lock == "" && slices.Contains(p.Doors, c.Door) {
			out = append(out, c)
		}
	}
	return out
}

// mustOpen reports whether the door must open, by what the service says and the time.
func (p press) mustOpen() bool {
	s := p.Statement
	if p.PIN != s.pinFor(p.Doors[0]) { // it is of another door from which the lock was taken
		return false
	}
	if p.Former || p.NeedNotOpen || slices.Contains(hardwareReasons, p.Answer.Reason) || p.Doors[0] == "" {
		return false
	}
	margin := marginOfBridge
	if p.OwnSchedule {
		margin = marginOfLockClock
	}
	if s.From.IsZero() || p.At.Before(s.From.Add(margin)) || p.At.After(s.To.Add(-margin)) {
		return false
	}
	return p.isCertainToOpen()
}

// isCertainToOpen reports whether the service says without reservation that the PIN opens the present door of the lock.
func (p press) isCertainToOpen() bool {
	return slices.ContainsFunc(p.matchingClaims(), func(c claim) bool {
		return c.Door == p.Doors[0] && slices.Contains(certainEvidence, c.Evidence) && slices.Contains(harmlessReasons, c.Reason)
	})
}

// isFormerPINAnnounced reports whether the service warns that a former PIN may still open here.
func (p press) isFormerPINAnnounced(about []claim) bool {
	if slices.Contains(p.Statement.Reasons, "formerCode") || p.Statement.Status == "updating" || p.Statement.Status == "removing" {
		return true
	}
	return slices.ContainsFunc(about, func(c claim) bool { return c.Evidence == "removing" || c.Reason == "movingOut" })
}

// firstPendingChange describes the first part of a statement that has not reached its final state, or returns "". access is true if
// the holder should have access.
func firstPendingChange(s statement, access bool) string {
	for _, c := range s.Claims {
		done := []string{"removed", "none", "failed", "planned"}
		if access {
			done = append([]string{"none", "failed"}, certainEvidence...)
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
