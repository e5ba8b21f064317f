package slot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Property 11 has a world of its own, because a command shares only the radio with slots. Its rules
// are those of internal/lock/command.go and internal/bridgelink/commands.go (stored, claimed, finished) and
// of internal/agent/commands.go (begun, carried out, ended), each step a transaction; what is not stored
// is lost when its owner is killed. Tests of those packages, and internal/simulation, run the code.

// command is one unlock command. Times are ticks from now; the deadline counts by the true clock.
type command struct {
	state    string // on the server: stored, claimed, or how it ended
	deadline int8
	nodes    int8 // nodes of the server that still may send it
	sent     int8 // messages on the way

	begun, ended bool   // the bridge's durable record
	outcome      string // of an ended one
	waiting      int8   // calls waiting for the radio, in the bridge's memory
	limit        int8   // of those, and of the call: ticks that the bridge believes to have
	calling      bool   // the radio was asked to open
	report       string // on the way to the server

	alive  bool
	kills  int8 // left
	opened int8 // ghost
	late   bool // ghost: opened after its deadline
}

// commandRules are the guards; production has them all.
type commandRules struct {
	noClaim, noMemory, noDeadline, noBegun, noHonesty, noMargin bool
}

const commandLife = 2 // ticks from the call to the deadline

func (r commandRules) first() command {
	return command{state: "stored", deadline: commandLife, nodes: 2, kills: 2, alive: true}
}

type commandEdge struct {
	to    command
	label string
}

func (r commandRules) edges(a command) (out []commandEdge) {
	add := func(to command, label string) { out = append(out, commandEdge{to, label}) }
	r.server(a, add)
	r.bridge(a, add)
	r.door(a, add)
	t := a
	t.deadline = max(a.deadline-1, -commandLife)
	t.limit = max(a.limit-1, 0)
	if t.limit == 0 && !r.noDeadline { // a context that has ended ends the wait and the call
		if t.waiting > 0 {
			t = r.end(t, "expired")
			t.waiting = 0
		}
		if t.calling {
			t = r.end(t, "unknown")
			t.calling = false
		}
	}
	if t != a {
		add(t, "tick")
	}
	return out
}

func (r commandRules) server(a command, add func(command, string)) {
	if a.nodes > 0 {
		t := a
		t.nodes--
		add(t, "a node of the server dies")
		if (a.state == "stored" || r.noClaim) && a.deadline > 0 {
			t.state = "claimed"
			add(t, "claimed, and the node dies before it sends")
			t.sent++
			add(t, "claimed and sent")
		}
	}
	if a.state == "stored" && (a.deadline <= -commandLife || a.nodes == 0) {
		t := a
		t.state = "expired"
		add(t, "swept: never claimed")
	}
	if a.state == "claimed" && a.deadline <= 0 {
		t := a
		t.state = "unknown"
		add(t, "nothing came back in time")
	}
	if a.report != "" {
		t := a
		t.report = ""
		add(t, "report lost")
		if a.state == "claimed" || (a.state == "unknown" && a.report != "unknown") {
			t.state = a.report
			add(t, "report stored")
		}
	}
}

func (r commandRules) bridge(a command, add func(command, string)) {
	if a.sent > 0 {
		t := a
		t.sent--
		add(t, "message lost")
		if a.alive {
			// The clocks were compared when the session began. A delayed greeting makes the
			// bridge's clock look fast, and the deadline late, by as much; the margin takes it off.
			for lay := range int8(2) {
				add(r.received(t, lay), fmt.Sprintf("message arrives, the greeting lay %d", lay))
			}
		}
	}
	if a.alive && a.kills > 0 {
		t := a
		t.kills--
		t.alive, t.waiting, t.calling, t.report = false, 0, false, ""
		if a.calling { // what was sent to the lock may still open the door until its own deadline
			add(r.opens(t), "bridge killed, the door opens")
		}
		add(t, "bridge killed")
	}
	if !a.alive {
		t := a
		t.alive = true
		add(t, "bridge restarted")
	}
	if a.alive && a.begun && a.waiting == 0 && !a.calling && a.report == "" { // reported again in each session
		t := a
		t.report = a.outcome
		if !a.ended {
			t.report = "unknown"
			if r.noHonesty {
				t.report = "failed"
			}
		}
		add(t, "remembered act reported")
	}
}

func (r commandRules) received(a command, lay int8) command {
	if a.begun && !r.noMemory {
		return a
	}
	a.begun = !r.noBegun
	a.ended, a.outcome = false, ""
	a.limit = a.deadline + lay
	if !r.noMargin {
		a.limit = a.deadline
	}
	a.limit = min(max(a.limit, 0), commandLife)
	if a.limit == 0 && !r.noDeadline {
		return r.end(a, "expired")
	}
	a.waiting++
	return a
}

func (r commandRules) door(a command, add func(command, string)) {
	if a.waiting > 0 && !a.calling {
		t := a
		t.waiting--
		t.calling = true
		add(t, "the radio is asked to open")
	}
	if a.calling {
		t := a
		t.calling = false
		add(r.end(r.opens(t), "done"), "the door opens")
		add(r.end(r.opens(t), "unknown"), "the door opens, no answer")
		add(r.end(t, "failed"), "the lock refuses")
		add(r.end(t, "unknown"), "lost on the air")
	}
}

func (r commandRules) opens(a command) command {
	a.opened++
	a.late = a.late || a.deadline <= 0
	return a
}

func (r commandRules) end(a command, outcome string) command {
	a.ended, a.outcome, a.report = true, outcome, outcome
	return a
}

// wrong says how a command breaks property 11.
func (a command) wrong() string {
	switch {
	case a.opened > 1:
		return "opened twice"
	case a.late:
		return "opened after its deadline"
	case (a.state == "failed" || a.state == "expired") && a.opened > 0:
		return "called " + a.state + " and opened"
	case a.state == "done" && a.opened == 0:
		return "called done and did not open"
	}
	return ""
}

func (r commandRules) explore() (states int, how string, trace []string) {
	type reached struct {
		from  command
		label string
	}
	first := r.first()
	seen := map[command]reached{first: {}}
	for queue := []command{first}; len(queue) > 0; queue = queue[1:] {
		for _, e := range r.edges(queue[0]) {
			if _, known := seen[e.to]; known {
				continue
			}
			seen[e.to] = reached{queue[0], e.label}
			queue = append(queue, e.to)
			if how := e.to.wrong(); how != "" {
				for a := e.to; a != first; a = seen[a].from {
					trace = append(trace, seen[a].label)
				}
				slices.Reverse(trace)
				return len(seen), how, trace
			}
		}
	}
	return len(seen), "", nil
}

func TestACommandRunsAtMostOnceAndNeverLate(t *testing.T) {
	states, how, trace := commandRules{}.explore()
	t.Logf("%d states", states)
	if how != "" {
		t.Errorf("property 11: %s\n  %s", how, strings.Join(trace, "\n  "))
	}
}

func TestEachGuardOfACommandIsNeeded(t *testing.T) {
	for _, tt := range []struct {
		name string
		off  commandRules
		want string // "": another guard is enough
	}{
		{"claim", commandRules{noClaim: true}, ""},
		{"the bridge's memory", commandRules{noMemory: true}, ""},
		{"claim and memory", commandRules{noClaim: true, noMemory: true}, "opened twice"},
		{"begun before it is carried out", commandRules{noClaim: true, noBegun: true}, "opened twice"},
		{"deadline on the bridge", commandRules{noDeadline: true}, "opened after its deadline"},
		{"an unknown end is called unknown", commandRules{noHonesty: true}, "called failed and opened"},
		{"margin for a greeting that lay", commandRules{noMargin: true}, "opened after its deadline"},
	} {
		states, how, trace := tt.off.explore()
		if how != tt.want {
			t.Errorf("%s: %q after %d states, want %q\n  %s", tt.name, how, states, tt.want, strings.Join(trace, "\n  "))
		}
		t.Logf("%s: %q after %d events and %d states", tt.name, how, len(trace), states)
	}
}
