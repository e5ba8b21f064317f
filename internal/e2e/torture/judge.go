// Package torture runs the real programs under faults that derive from a seed, and judges what the service says of every
// door by what the keypad of its virtual lock does.
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
	PINs     map[string]string // by door; "" is that of every other door
	Missing  bool              // the service does not know the holder yet
	Unplaced []string          // of a code: its doors that have a lock, and no place for the code on it yet
}

// pin is the PIN that the holder is shown for a door.
func (s statement) pin(door string) string {
	if p, ok := s.PINs[door]; ok {
		return p
	}
	return s.PINs[""]
}

// press is one PIN typed at one keypad, between two equal statements.
type press struct {
	At     time.Time
	Lock   string
	Doors  []string // the door of the lock first, empty if it has none; then those that it hung on before
	PIN    string
	Former bool // the holder is no longer shown this PIN
	// Unable: this lock was changed by hand, or the code served its one use. It need not open; if it does, no one except the bridge
	// can know that it is not the code that was set by hand.
	Unable bool
	Latest time.Time
	Native bool // the lock closes by its own clock after Latest, whatever became of the service and the bridge
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

// slackAfterWindow is the error of a lock's clock that the run sets at most, and what a bridge may have missed of it.
const slackAfterWindow = maxDrift + 10*time.Second

// How much narrower than the window a lock may open: one that keeps it by itself by its steps of a minute and its clock's
// error at both ends, any other by the moment that an operation takes.
const (
	marginOfNative = time.Minute + 2*maxDrift
	marginOfBridge = 5 * time.Second
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

// claims are what the service says of the doors that this lock hangs on, or hung on.
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

// saysSure reports whether the service is sure that the PIN opens the door that the lock hangs on.
func (p press) saysSure() bool {
	return slices.ContainsFunc(p.claims(), func(c claim) bool {
		return c.Door == p.Doors[0] && slices.Contains(sure, c.Evidence) && slices.Contains(noTrouble, c.Reason)
	})
}

// saysFormer reports whether the service warns that a code of before may still open here.
func (p press) saysFormer(about []claim) bool {
	if slices.Contains(p.Said.Reasons, "formerCode") || p.Said.Status == "updating" || p.Said.Status == "removing" {
		return true
	}
	return slices.ContainsFunc(about, func(c claim) bool { return c.Evidence == "removing" || c.Reason == "movingOut" })
}

// settled returns what is not at rest in a statement of a holder who should have access or not.
func settled(s statement, access bool) string {
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
