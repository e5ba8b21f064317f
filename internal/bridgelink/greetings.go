package bridgelink

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
)

// Values of nodeResponse.Why for a greeting, the first message that a phone needs to use a SmartKey.
const (
	// unsupported means that the bridge's software has no SmartKeys.
	unsupported = "unsupported"
	// keysMissing means that the bridge has not received its SmartKey data yet.
	keysMissing = "unready"
)

// Greet asks a bridge for a greeting, the message that a phone needs to use a SmartKey, and returns it unverified. node is the bridge's
// node according to its row, or "" if it has none. If the bridge moves to another node meanwhile, Greet asks again there. It fails if the
// bridge is offline, has no SmartKeys or no SmartKey data yet, or does not answer within greetingTimeout, and if too many requests wait.
// All its errors are faults.
func (n *Node) Greet(ctx context.Context, propertyID, node, bridgeID string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, greetingTimeout+time.Second)
	defer cancel()
	to := lock.UnlockCommand{PropertyID: propertyID, BridgeID: bridgeID, Node: node}
	a, err := n.greetAt(ctx, to)
	for range maxMoves {
		if !isUndelivered(a, err) {
			break
		}
		if to.Node = n.awaitNode(ctx, to, a); to.Node == "" {
			break
		}
		a, err = n.greetAt(ctx, to)
	}
	return greetingOf(a, err)
}

// greetAt asks the node to.Node, which has the bridge's session, for a greeting. It uses the message bus only if that is another node.
// Without a node it responds leaving, so that the caller waits for one.
func (n *Node) greetAt(ctx context.Context, to lock.UnlockCommand) (nodeResponse, error) {
	switch to.Node {
	case "":
		return nodeResponse{Why: leaving}, nil
	case n.cfg.Name:
		return n.greetHere(ctx, to.BridgeID), nil
	}
	return n.request(ctx, to.Node, nodeRequest{Verb: "greet", BridgeID: to.BridgeID})
}

// greetHere asks a bridge that is connected to this node for a greeting, and returns the result as the response to another node.
func (n *Node) greetHere(ctx context.Context, bridgeID string) nodeResponse {
	raw, err := n.requestGreeting(ctx, bridgeID)
	switch {
	case err == nil:
		return nodeResponse{Done: true, Greeting: raw}
	case errors.Is(err, errBusy):
		return nodeResponse{Why: busy}
	case errors.Is(err, errNoSmartKeys):
		return nodeResponse{Why: unsupported}
	case err == error(errNoGreeting): // compared with ==, because errors.Is also matches other errors with the same reason
		return nodeResponse{Why: keysMissing}
	case errors.Is(err, errGreetingTimeout):
		return nodeResponse{Why: refused}
	case n.isDraining():
		return nodeResponse{Why: leaving}
	}
	return nodeResponse{Why: notHere}
}

// greetingOf converts a node's response, or the error of the request, to the result of Greet.
func greetingOf(a nodeResponse, err error) ([]byte, error) {
	switch {
	case errors.Is(err, bus.ErrNoResponder):
		return nil, lock.ErrBridgeOffline
	case errors.Is(err, bus.ErrNotConnected):
		return nil, lock.ErrNodeUnreachable
	case err != nil:
		return nil, errGreetingTimeout
	case a.Done:
		return a.Greeting, nil
	}
	switch a.Why {
	case busy:
		return nil, errBusy
	case unsupported:
		return nil, errNoSmartKeys
	case keysMissing:
		return nil, errNoGreeting
	case refused:
		return nil, errGreetingTimeout
	}
	return nil, lock.ErrBridgeOffline
}

// greetingRequest is one caller that waits for a greeting of a bridge. reply must have a free buffer, because the queue sends the result
// while it holds its lock.
type greetingRequest struct {
	id       string
	deadline time.Time
	reply    chan<- greetingResult
}

// greetingResult is a greeting, or the error why there is none.
type greetingResult struct {
	greeting []byte
	err      error
}

// greetingQueue holds a session's open requests for greetings. It is bounded, and it is emptied when the session ends.
type greetingQueue struct {
	mu        sync.Mutex
	supported bool                        // the bridge supports SmartKeys; without support, requests are refused
	closed    bool                        // the session has ended
	waiting   []*greetingRequest          // requests that must be sent
	sent      map[string]*greetingRequest // sent requests without an answer, by id
}

// setSupported records whether the bridge supports SmartKeys. Without support, add refuses requests.
func (d *greetingQueue) setSupported(supported bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.supported = supported
}

// add adds a request. It refuses if the session has ended (lock.ErrBridgeOffline), the bridge has no SmartKeys (errNoSmartKeys), or too
// many requests wait (errBusy). After an error nothing is sent to the reply channel.
func (d *greetingQueue) add(a *greetingRequest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return lock.ErrBridgeOffline
	case !d.supported:
		return errNoSmartKeys
	case len(d.waiting)+len(d.sent) >= maxGreetingRequests:
		return errBusy
	}
	d.waiting = append(d.waiting, a)
	return nil
}

// take returns the requests to send now, which then wait for their answers. It also fails the sent requests that have timed out.
func (d *greetingQueue) take(now time.Time) []*greetingRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 && len(d.sent) == 0 {
		return nil
	}
	maps.DeleteFunc(d.sent, func(_ string, a *greetingRequest) bool {
		over := !now.Before(a.deadline)
		if over {
			a.reply <- greetingResult{err: errGreetingTimeout}
		}
		return over
	})
	out := d.waiting
	d.waiting = nil
	for _, a := range out {
		if d.sent == nil {
			d.sent = map[string]*greetingRequest{}
		}
		d.sent[a.id] = a
	}
	return out
}

// answer passes a result to the caller of the sent request with an id. It ignores an unknown id.
func (d *greetingQueue) answer(id string, g greetingResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.sent[id]; a != nil {
		delete(d.sent, id)
		a.reply <- g
	}
}

// nextTimeout returns when the next sent request times out; zero if none waits for its answer.
func (d *greetingQueue) nextTimeout() (at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.sent {
		if at.IsZero() || a.deadline.Before(at) {
			at = a.deadline
		}
	}
	return at
}

// close fails all requests and refuses new ones, because the session ends.
func (d *greetingQueue) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, a := range d.waiting {
		a.reply <- greetingResult{err: lock.ErrBridgeOffline}
	}
	for _, a := range d.sent {
		a.reply <- greetingResult{err: lock.ErrBridgeOffline}
	}
	d.waiting, d.sent = nil, nil
}

// sendGreetingRequests queues the waiting requests for greetings in front of other messages to the bridge. It also fails the sent ones that
// have timed out.
func (s *session) sendGreetingRequests(now time.Time) {
	for _, a := range s.greetings.take(now) {
		s.outbox.pushFront(outgoing{message: &lockv1.ConnectResponse{
			Epoch: uint64(s.open.Epoch), Kind: &lockv1.ConnectResponse_GreetingWanted{GreetingWanted: &lockv1.GreetingWanted{Id: a.id}},
		}})
	}
}

// onGreeting passes a greeting from the bridge to the caller that waits for it, or errNoGreeting if its size is wrong. It does not verify
// the greeting, which the phone does.
func (s *session) onGreeting(g *lockv1.Greeting) {
	if len(g.Greeting) == 0 || len(g.Greeting) > 256 {
		s.greetings.answer(g.Id, greetingResult{err: errNoGreeting})
		return
	}
	s.greetings.answer(g.Id, greetingResult{greeting: slices.Clone(g.Greeting)})
}

var (
	errGreetingTimeout = fault.New(fault.Deadline, fault.DeadlineExceeded, "the door's bridge did not answer in time")
	errNoGreeting      = fault.New(fault.Unavailable, fault.BridgeOffline, "the door's bridge has no SmartKeys yet; try again in a moment")
)

// requestGreeting asks the bridge's session on this node for a greeting and waits for the answer. The errors are lock.ErrBridgeOffline
// without a session, those of greetingQueue.add, and errGreetingTimeout, also when ctx ends.
func (n *Node) requestGreeting(ctx context.Context, bridgeID string) ([]byte, error) {
	s := n.awaitSession(ctx, bridgeID)
	if s == nil {
		return nil, lock.ErrBridgeOffline
	}
	reply := make(chan greetingResult, 1)
	if err := s.greetings.add(&greetingRequest{id: id.New(id.Request), deadline: time.Now().Add(greetingTimeout), reply: reply}); err != nil {
		return nil, err
	}
	s.mailbox.notify()
	select {
	case g := <-reply:
		return g.greeting, g.err
	case <-ctx.Done():
		return nil, errGreetingTimeout
	}
}
