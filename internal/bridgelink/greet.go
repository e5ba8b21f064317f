package bridgelink

import (
	"context"
	"errors"
	"time"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/lock"
)

// Why a bridge's node sends no greeting.
const (
	unsupported = "unsupported"
	unready     = "unready"
)

// Greet asks a bridge for a greeting, on whichever node holds it: node is the one that is thought to; empty: none does now. A
// bridge that is on its way from one node to another is gone after, as acts go after it, and asked anew.
func (n *Node) Greet(ctx context.Context, propertyID, node, bridgeID string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, greetingWait+time.Second)
	defer cancel()
	to := lock.UnlockCommand{PropertyID: propertyID, BridgeID: bridgeID, Node: node}
	a, err := n.greetAt(ctx, to)
	for range movesMax {
		if !unplaced(a, err) {
			break
		}
		if to.Node = n.follow(ctx, to, a); to.Node == "" {
			break
		}
		a, err = n.greetAt(ctx, to)
	}
	return greetingOf(a, err)
}

// greetAt has the node that holds a bridge ask it; this one needs no bus for it.
func (n *Node) greetAt(ctx context.Context, to lock.UnlockCommand) (answer, error) {
	switch to.Node {
	case "":
		return answer{Why: leaving}, nil
	case n.cfg.Name:
		return n.greetHere(ctx, to.BridgeID), nil
	}
	return n.tell(ctx, to.Node, call{Verb: "greet", BridgeID: to.BridgeID})
}

// greetHere asks a bridge whose session is here. Where it is not, and the node has its bridges leave, it is on its way.
func (n *Node) greetHere(ctx context.Context, bridgeID string) answer {
	raw, err := n.greet(ctx, bridgeID)
	switch {
	case err == nil:
		return answer{Done: true, Greeting: raw}
	case errors.Is(err, errBusy):
		return answer{Why: busy}
	case errors.Is(err, errNoSmartKeys):
		return answer{Why: unsupported}
	case err == error(errNoGreeting): // it is by its reason what a bridge is that is not here
		return answer{Why: unready}
	case errors.Is(err, errLate):
		return answer{Why: refused}
	case n.refuses():
		return answer{Why: leaving}
	}
	return answer{Why: notHere}
}

// greetingOf is what an answer, or its absence, says to whoever asked.
func greetingOf(a answer, err error) ([]byte, error) {
	switch {
	case errors.Is(err, bus.ErrNoResponder):
		return nil, lock.ErrBridgeOffline
	case errors.Is(err, bus.ErrNotConnected):
		return nil, lock.ErrNodeUnreachable
	case err != nil:
		return nil, errLate
	case a.Done:
		return a.Greeting, nil
	}
	switch a.Why {
	case busy:
		return nil, errBusy
	case unsupported:
		return nil, errNoSmartKeys
	case unready:
		return nil, errNoGreeting
	case refused:
		return nil, errLate
	}
	return nil, lock.ErrBridgeOffline
}
