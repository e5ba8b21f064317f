// Package torture runs the real programs under random but repeatable faults. It compares what the service says about each door with what
// the keypads of the virtual locks do.
package torture

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
)

// claim is what the service says about a PIN at one door (of a stay) or at one lock (of a code).
type claim struct {
	Door, Lock       string // Lock is empty if the service names no lock
	Name             string // Name is that of the door
	Evidence, Reason string // Evidence is what the service knows of the code at the lock; Reason is why, or empty
}

// statement is everything that one answer of the service says about the access of a holder.
type statement struct {
	Status   string
	Reasons  []string
	Claims   []claim
	From, To time.Time         // From and To are the validity window; both zero: there is none, so no lock needs to open
	PINs     map[string]string // PINs by door id; "" is the PIN for all other doors
	Missing  bool              // Missing means that the service does not know the holder yet, so there is nothing to judge
	Unplaced []string          // Unplaced are the names of a code's doors that have a lock but no claim yet; empty for a stay
}

// pinFor returns the PIN that the service shows for a door: its separate one, else that for all other doors, or "" if there is none.
func (s statement) pinFor(door string) string {
	if p, ok := s.PINs[door]; ok {
		return p
	}
	return s.PINs[""]
}

// showsPIN reports whether the service shows this PIN for a lock: for its door, or for another door where the service still names the lock.
func (s statement) showsPIN(pin, lock, door string) bool {
	return pin == s.pinFor(door) || slices.ContainsFunc(s.Claims, func(c claim) bool { return c.Lock == lock && pin == s.pinFor(c.Door) })
}

// press is one PIN typed at one keypad. The service's statement was the same before and after it.
type press struct {
	At     time.Time
	Lock   string
	Doors  []string // Doors are the lock's current door, empty if none, followed by its earlier doors
	PIN    string
	Former bool // Former means that the service shows the PIN no longer for this lock: it may open only if the statement says so
	// NeedNotOpen is set if the PIN was removed from the lock by hand, except in the final check, or if a one-time code was already used.
	NeedNotOpen bool
	LatestEnd   time.Time // LatestEnd is the latest acknowledged end of the stay, after which no lock with OwnSchedule may open; zero: none
	OwnSchedule bool      // OwnSchedule means that the lock ends the code by its own clock, even while service and bridge are down
	Statement   statement
	Answer      sim.Press
}

// Rules that a press can break.
const (
	ruleRefused     = "the service says that the door opens, and it does not"
	ruleOpened      = "the service says that the door does not open, and it does"
	ruleForeign     = "a PIN opens a door that the service does not mention"
	ruleFormer      = "a former PIN opens, and the service does not say that it may"
	ruleAfterWindow = "a lock that keeps windows by itself opens after the end"
	ruleIssued      = "a plan is issued, and no door of it opens or will"
)

// slackAfterWindow is how long after its end a code may still open a lock with its own schedule: the largest error of the lock's clock,
// plus what the bridge has not measured yet.
const slackAfterWindow = maxDrift + 10*time.Second

// Margins at both ends of a validity window within which a lock need not open.
const (
	marginOfLockClock = time.Minute + 2*maxDrift // margin for locks with their own schedule: steps of a minute and the error of the lock's clock
	marginOfBridge    = 5 * time.Second          // margin for other locks: the bridge sets and clears the code, which takes a moment
)

// Evidence with which a code must open (certain) or may open (possible) its door, and reasons by what they mean for the door.
var (
	certainEvidence  = []string{"accepted", "verified", "used"}
	possibleEvidence = []string{"queued", "sent", "accepted", "verified", "used", "unconfirmed", "removing"}
	harmlessReasons  = []string{"", "ownPin"} // reasons that do not make a claim about a door uncertain
	hardwareReasons  = []string{"jammed", "noPower"}
)

// brokenRule returns the rule that the outcome of a press breaks, or "" if it is as the service's statement promises.
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

// brokenStatementRule returns the rule that a statement breaks by itself, whatever the lock does, or "".
func brokenStatementRule(s statement) string {
	coming := func(c claim) bool { return c.Evidence != "removing" && slices.Contains(possibleEvidence, c.Evidence) }
	if s.Status == "issued" && !slices.ContainsFunc(s.Claims, coming) {
		return ruleIssued
	}
	return ""
}

// matchingClaims returns the claims that name the lock of the press, or that name no lock and are about its present or an earlier door.
func (p press) matchingClaims() []claim {
	var out []claim
	for _, c := range p.Statement.Claims {
		if c.Lock == p.Lock || c.Lock == "" && slices.Contains(p.Doors, c.Door) {
			out = append(out, c)
		}
	}
	return out
}

// mustOpen reports whether the lock must open, according to the service's statement and the time.
func (p press) mustOpen() bool {
	s := p.Statement
	if p.PIN != s.pinFor(p.Doors[0]) { // a PIN that is not that of the lock's present door, such as that of an earlier door, may open but need not
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

// isCertainToOpen reports whether the service states, without a reason for doubt, that the PIN opens the lock's present door.
func (p press) isCertainToOpen() bool {
	return slices.ContainsFunc(p.matchingClaims(), func(c claim) bool {
		return c.Door == p.Doors[0] && slices.Contains(certainEvidence, c.Evidence) && slices.Contains(harmlessReasons, c.Reason)
	})
}

// isFormerPINAnnounced reports whether the statement or one of the claims in about warns that a former PIN may still open the lock.
func (p press) isFormerPINAnnounced(about []claim) bool {
	if slices.Contains(p.Statement.Reasons, "formerCode") || p.Statement.Status == "updating" || p.Statement.Status == "removing" {
		return true
	}
	return slices.ContainsFunc(about, func(c claim) bool { return c.Evidence == "removing" || c.Reason == "movingOut" })
}

// firstPendingChange describes the first part of a statement that is not in its final state, or returns "". access means that the holder
// should have access.
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
