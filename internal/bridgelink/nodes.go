package bridgelink

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/lock"
)

// Subjects of the message bus between nodes. A wake-up carries only ids; the receiver reads the database. Requests are nodeRequests.
const (
	wakeSubject = "latchkey.bridge.wake" // payload of wakeSubject: name of the sending node, a blank, and a key of bridge.Changed
	nodeSubject = "latchkey.node."       // prefix of a subject; the name of the receiving node follows
)

// nodeRequest is a request to the node that has a bridge's session.
type nodeRequest struct {
	Verb      string    `json:"verb"` // Verb: "cut" ends older sessions of a bridge, "act" delivers an unlock command, "greet" asks the bridge for a greeting for a phone
	BridgeID  string    `json:"bridge"`
	Epoch     int64     `json:"epoch,omitempty"`   // Epoch is for cut: sessions with a lower epoch end
	CommandID string    `json:"act,omitempty"`     // CommandID is for act: the id of the stored command
	Deadline  time.Time `json:"deadline,omitzero"` // Deadline is for act, by the service's clock
	// Presentation is the phone's SmartKey message. Only the bridge can use it. It is never stored.
	Presentation []byte `json:"presentation,omitempty"`
}

// nodeResponse is the result of a nodeRequest.
type nodeResponse struct {
	Done     bool         `json:"done"` // Done means that there is a result. If not, an unlock command may still have been sent: see unsent
	Why      string       `json:"why,omitempty"`
	Outcome  lock.Outcome `json:"outcome,omitzero"`
	Greeting []byte       `json:"greeting,omitempty"`
	Counted  bool         `json:"counted,omitempty"` // Counted means that the asked node has already counted the refusal in its metrics
	unsent   bool         // unsent means that the command was not sent and never will be. A response of another node lacks it
}

// Why a node did not carry out a command or get a greeting: values of nodeResponse.Why, and two that are only labels of a metric. See also
// keysMissing.
const (
	notHere = "notHere" // the node has no open session of the bridge; the caller looks for its node
	leaving = "leaving" // the bridge was asked to move to another node; the caller waits for that node
	busy    = "busy"
	refused = "refused" // there was no result in time, or the session could not send the command; the caller does not try again
	offline = "offline" // used only as a metrics label: the bridge is offline

	tooLate         = "late"            // used only as a metrics label: the command's deadline has passed
	nodeUnreachable = "nodeUnreachable" // this node is not connected to NATS
)

// Notify notifies the sessions of a bridge on all nodes that something changed. key is a key of [bridge.Changed]. Other nodes get it
// through the message bus; if that fails, it is only counted.
func (n *Node) Notify(key string) {
	n.notifyHere(key)
	if err := n.cfg.Bus.Publish(wakeSubject, []byte(n.cfg.Name+" "+key)); err != nil {
		n.counters.lostWakes.Inc()
	}
}

// notifyHere is Notify for the sessions on this node. A key without a lock makes Run check whether the bridge may stay connected.
func (n *Node) notifyHere(key string) {
	bridgeID, lockID, _ := strings.Cut(key, " ")
	if lockID == "" {
		select {
		case n.rechecks <- bridgeID:
		default: // the channel is full; the periodic query for revoked bridges finds the bridge later
		}
		return
	}
	for _, s := range n.sessionsOf(bridgeID) {
		s.mailbox.markDirty(lockID)
	}
}

// recheck reads the bridge from the database and ends its sessions on this node if the bridge is revoked or deleted, or if a newer
// session exists.
func (n *Node) recheck(ctx context.Context, bridgeID string) {
	epoch, revokedBridge, err := bridge.CurrentEpoch(n.cfg.DB.View(ctx), bridgeID)
	if err != nil {
		n.log.Warn("checking whether a bridge is revoked failed", "bridge", bridgeID, "error", err)
		return
	}
	for _, s := range n.sessionsOf(bridgeID) {
		switch {
		case revokedBridge:
			s.mailbox.end(revoked)
		case s.mailbox.isOlder(epoch):
			s.mailbox.end(superseded)
		}
	}
}

// subscribe makes the node handle notifications and requests of other nodes until stop is called.
func (n *Node) subscribe() (stop func(), err error) {
	stopWake, err := n.cfg.Bus.Subscribe(wakeSubject, func(m bus.Message) {
		if sender, key, _ := strings.Cut(string(m.Payload), " "); sender != n.cfg.Name {
			n.notifyHere(key)
		}
	})
	if err != nil {
		return nil, err
	}
	stopCalls, err := n.cfg.Bus.Respond(nodeSubject+n.cfg.Name, n.handleRequest)
	if err != nil {
		stopWake()
		return nil, err
	}
	return func() { stopCalls(); stopWake() }, nil
}

// handleRequest executes a nodeRequest of another node and returns the nodeResponse, both as JSON. ctx has no deadline: it ends when the
// bus is closed.
func (n *Node) handleRequest(ctx context.Context, m bus.Message) ([]byte, error) {
	var r nodeRequest
	if err := json.Unmarshal(m.Payload, &r); err != nil {
		return nil, errors.New("not a request of this version")
	}
	switch r.Verb {
	case "cut":
		n.endOlderHere(r.BridgeID, r.Epoch)
		return json.Marshal(nodeResponse{Done: true})
	case "greet":
		return json.Marshal(n.greetHere(ctx, r.BridgeID))
	case "act":
		return json.Marshal(n.deliverCommand(ctx, r, nil))
	}
	return nil, errors.New("unknown request")
}

// deliverCommand gives an unlock command to the bridge's session on this node and waits for the result. Without an open session, after the
// deadline, or if the session refuses the command, it responds why, with unsent. If ctx ends first, it responds refused; unsent is then
// true if the session had not taken the command. claimed is the command if it was already reserved for that session, otherwise nil.
func (n *Node) deliverCommand(ctx context.Context, r nodeRequest, claimed *lock.UnlockCommand) nodeResponse {
	s := n.awaitSession(ctx, r.BridgeID)
	switch {
	case s == nil && n.isDraining():
		return nodeResponse{Why: leaving, unsent: true}
	case s == nil:
		return nodeResponse{Why: notHere, unsent: true}
	}
	until := n.toMonotonic(r.Deadline)
	if !time.Now().Before(until) {
		n.counters.refused.WithLabelValues(tooLate).Inc()
		return nodeResponse{Why: refused, Counted: true, unsent: true}
	}
	done := make(chan nodeResponse, 1)
	cmd := &command{id: r.CommandID, deadline: until, claimed: claimed, presentation: r.Presentation, reply: func(out lock.Outcome, err error) { done <- responseOf(out, err) }}
	if why := s.mailbox.addCommand(cmd, time.Now()); why != "" {
		n.counters.refused.WithLabelValues(map[string]string{busy: "queueFull", leaving: "leaving"}[why]).Inc()
		return nodeResponse{Why: why, Counted: true, unsent: true}
	}
	select {
	case a := <-done:
		a.unsent, a.Counted = !a.Done, !a.Done
		return a
	case <-ctx.Done():
		return nodeResponse{Why: refused, unsent: cmd.taken.CompareAndSwap(false, true)}
	}
}

// responseOf converts the result of a command at a session to the response for the asking node. An error that it does not know becomes
// refused.
func responseOf(out lock.Outcome, err error) nodeResponse {
	switch {
	case err == nil:
		return nodeResponse{Done: true, Outcome: out}
	case errors.Is(err, errLeaving):
		return nodeResponse{Why: leaving}
	case errors.Is(err, lock.ErrBridgeOffline):
		return nodeResponse{Why: notHere}
	case errors.Is(err, errBusy):
		return nodeResponse{Why: busy}
	}
	return nodeResponse{Why: refused}
}

// awaitSession returns the open session with the highest epoch on this node, or nil. The database names this node a moment before the
// session takes commands. So if no session is open, awaitSession waits for those that are opening, at most timings.move.
func (n *Node) awaitSession(ctx context.Context, bridgeID string) *session {
	if s := n.currentSession(bridgeID); s != nil {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.timings.move)
	defer cancel()
	for _, s := range n.sessionsOf(bridgeID) {
		select {
		case <-s.opened:
		case <-s.done:
		case <-ctx.Done():
		}
	}
	return n.currentSession(bridgeID)
}

// currentSession returns the open session with the highest epoch on this node, or nil. It does not wait.
func (n *Node) currentSession(bridgeID string) *session {
	var best *session
	var epoch int64
	for _, s := range n.sessionsOf(bridgeID) {
		if e := s.mailbox.openEpoch(); e > epoch {
			best, epoch = s, e
		}
	}
	return best
}

// request sends a request to another node and waits for its response. The error is bus.ErrNoResponder if that node does not run, and
// bus.ErrNotConnected if this node has no connection to the bus. After any other error the other node may have executed the request.
func (n *Node) request(ctx context.Context, node string, r nodeRequest) (a nodeResponse, err error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	reply, err := n.cfg.Bus.Request(ctx, nodeSubject+node, raw)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(reply, &a)
}

// endOlderOn asks another node to end the bridge's sessions with a lower epoch, and waits a bounded time. A failure is only logged.
func (n *Node) endOlderOn(node, bridgeID string, epoch int64) {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.timings.takeover)
	defer cancel()
	if _, err := n.request(ctx, node, nodeRequest{Verb: "cut", BridgeID: bridgeID, Epoch: epoch}); err != nil {
		n.log.Info("the node that held a bridge before does not answer", "bridge", bridgeID, "node", node)
	}
}
