package bridgelink

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/lock"
)

// Subjects between nodes. What travels names stored things and has no authority: whoever hears it asks the database.
const (
	wakeSubject = "latchkey.bridge.wake" // the node that says so, bridge id, lock id, with spaces; no lock: look at the bridge itself
	nodeSubject = "latchkey.node."       // a node's name; a request to that node
)

// call is a request to the node that holds a bridge.
type call struct {
	Verb     string    `json:"verb"` // cut, act or greet
	BridgeID string    `json:"bridge"`
	Epoch    int64     `json:"epoch,omitempty"`
	ActID    string    `json:"act,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	// Presentation of an act of a SmartKey: of no use to anybody but the bridge, and stored nowhere.
	Presentation []byte `json:"presentation,omitempty"`
}

// answer is what became of a call.
type answer struct {
	Done     bool         `json:"done"` // false: nothing was sent
	Why      string       `json:"why,omitempty"`
	Outcome  lock.Outcome `json:"outcome,omitzero"`
	Greeting []byte       `json:"greeting,omitempty"`
	Counted  bool         `json:"counted,omitempty"` // as refused, by the node that was asked
	unsent   bool         // it is certain that nothing was sent and nothing will be
}

const (
	notHere = "notHere"
	leaving = "leaving" // the bridge was asked to go elsewhere: it is, or will soon be, on another node
	busy    = "busy"
	refused = "refused"
	offline = "offline" // only of what is counted

	late        = "late"            // the deadline was over
	unreachable = "nodeUnreachable" // no NATS server is connected
)

// Wake is the node's lock.Waker. The bridges here are woken at once, the other nodes through the bus.
func (n *Node) Wake(bridgeID, lockID string) {
	n.wake(bridgeID, lockID)
	if err := n.cfg.Bus.Publish(wakeSubject, []byte(n.cfg.Name+" "+bridgeID+" "+lockID)); err != nil {
		n.counters.wakesLost.Inc()
	}
}

func (n *Node) wake(bridgeID, lockID string) {
	if lockID == "" {
		select {
		case n.doubts <- bridgeID:
		default: // the next look for revoked bridges finds it
		}
		return
	}
	for _, s := range n.of(bridgeID) {
		s.box.touch(lockID)
	}
}

// recheck asks the database whether the bridge's session still counts.
func (n *Node) recheck(ctx context.Context, bridgeID string) {
	epoch, out, err := lock.CurrentEpoch(ctx, n.cfg.DB.Read(), bridgeID)
	if err != nil {
		n.log.Warn("looking whether a bridge was revoked failed", "bridge", bridgeID, "error", err)
		return
	}
	for _, s := range n.of(bridgeID) {
		switch {
		case out:
			s.box.cut(revoked)
		case s.box.older(epoch):
			s.box.cut(superseded)
		}
	}
}

// listen hears the other nodes.
func (n *Node) listen() (stop func(), err error) {
	stopWake, err := n.cfg.Bus.Subscribe(wakeSubject, func(m bus.Message) {
		node, what, _ := strings.Cut(string(m.Payload), " ")
		bridgeID, lockID, _ := strings.Cut(what, " ")
		if node != n.cfg.Name {
			n.wake(bridgeID, lockID)
		}
	})
	if err != nil {
		return nil, err
	}
	stopCalls, err := n.cfg.Bus.Respond(nodeSubject+n.cfg.Name, n.called)
	if err != nil {
		stopWake()
		return nil, err
	}
	return func() { stopCalls(); stopWake() }, nil
}

// called answers another node, or this one.
func (n *Node) called(ctx context.Context, m bus.Message) ([]byte, error) {
	var c call
	if err := json.Unmarshal(m.Payload, &c); err != nil {
		return nil, errors.New("not a call between nodes of this version")
	}
	switch c.Verb {
	case "cut":
		n.cutOlder(c.BridgeID, c.Epoch)
		return json.Marshal(answer{Done: true})
	case "greet":
		return json.Marshal(n.greetHere(ctx, c.BridgeID))
	case "act":
		return json.Marshal(n.place(ctx, c, nil))
	}
	return nil, errors.New("an unknown call between nodes")
}

// place leaves an act with the bridge's session and waits for what becomes of it.
func (n *Node) place(ctx context.Context, c call, claimed *lock.UnlockCommand) answer {
	s := n.current(c.BridgeID)
	switch {
	case s == nil && n.refuses():
		return answer{Why: leaving, unsent: true}
	case s == nil:
		return answer{Why: notHere, unsent: true}
	}
	until := n.onMonotonic(c.Deadline)
	if !time.Now().Before(until) {
		n.counters.refused.WithLabelValues(late).Inc()
		return answer{Why: refused, Counted: true, unsent: true}
	}
	done := make(chan answer, 1)
	o := &order{actID: c.ActID, deadline: until, claimed: claimed, presentation: c.Presentation, reply: func(out lock.Outcome, err error) { done <- answerOf(out, err) }}
	if why := s.box.order(o, time.Now()); why != "" {
		n.counters.refused.WithLabelValues(map[string]string{busy: "queueFull", leaving: "leaving"}[why]).Inc()
		return answer{Why: why, Counted: true, unsent: true}
	}
	select {
	case a := <-done:
		a.unsent, a.Counted = !a.Done, !a.Done
		return a
	case <-ctx.Done():
		return answer{Why: refused, unsent: o.taken.CompareAndSwap(false, true)}
	}
}

func answerOf(out lock.Outcome, err error) answer {
	switch {
	case err == nil:
		return answer{Done: true, Outcome: out}
	case errors.Is(err, errLeaving):
		return answer{Why: leaving}
	case errors.Is(err, lock.ErrBridgeOffline):
		return answer{Why: notHere}
	case errors.Is(err, errBusy):
		return answer{Why: busy}
	}
	return answer{Why: refused}
}

// current is the session that counts here: open, under the highest epoch.
func (n *Node) current(bridgeID string) *session {
	var best *session
	var epoch int64
	for _, s := range n.of(bridgeID) {
		if e := s.box.open(); e > epoch {
			best, epoch = s, e
		}
	}
	return best
}

// tell calls another node and waits for its answer.
func (n *Node) tell(ctx context.Context, node string, c call) (a answer, err error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return a, err
	}
	reply, err := n.cfg.Bus.Request(ctx, nodeSubject+node, raw)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(reply, &a)
}

func (n *Node) cutElsewhere(node, bridgeID string, epoch int64) {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.pace.takeover)
	defer cancel()
	if _, err := n.tell(ctx, node, call{Verb: "cut", BridgeID: bridgeID, Epoch: epoch}); err != nil {
		n.log.Info("the node that held a bridge before does not answer", "bridge", bridgeID, "node", node)
	}
}
