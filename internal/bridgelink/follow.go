package bridgelink

import (
	"context"
	"errors"
	"time"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// Act has a stored act carried out once, before its deadline, or not at all. What it returns is what is known: the state
// may be unknown. An error means that nothing was or will be sent. An act for a bridge that is on its way from one node to
// another goes after it.
func (n *Node) Act(ctx context.Context, o lock.UnlockCommand) (lock.Outcome, error) {
	until := n.onMonotonic(o.Deadline)
	if !time.Now().Before(until) {
		n.counters.refused.WithLabelValues(late).Inc()
		return n.drop(ctx, o.PropertyID, o.ActID, answer{Why: refused, Counted: true, unsent: true})
	}
	wait, cancel := context.WithDeadline(context.WithoutCancel(ctx), until.Add(2*n.cfg.pace.grace))
	defer cancel()
	a, err := n.ask(wait, o)
	for range movesMax {
		if !unplaced(a, err) {
			break
		}
		next := n.follow(wait, o, a)
		if next == "" {
			break
		}
		if err := n.unclaim(ctx, &o); err != nil {
			return lock.Outcome{}, err
		}
		o.Node = next
		a, err = n.ask(wait, o)
	}
	switch {
	case err == nil && a.Done:
		return a.Outcome, nil
	case errors.Is(err, bus.ErrNotConnected):
		return n.drop(ctx, o.PropertyID, o.ActID, answer{Why: unreachable, unsent: true})
	case err != nil && !errors.Is(err, bus.ErrNoResponder):
		return n.settle(ctx, o.PropertyID, o.ActID, false)
	}
	return n.drop(ctx, o.PropertyID, o.ActID, a)
}

// onMonotonic turns a time of the service's clock into one that no change of this machine's clock moves. Everything that
// happens to an act on this node is judged by it.
func (n *Node) onMonotonic(t time.Time) time.Time { return time.Now().Add(t.Sub(n.cfg.Clock.Now())) }

// movesMax bounds how often an act goes after its bridge.
const movesMax = 3

// unplaced says that no session has taken an act, because the bridge is not where it was thought to be.
func unplaced(a answer, err error) bool {
	if err != nil {
		return errors.Is(err, bus.ErrNoResponder)
	}
	return !a.Done && (a.Why == notHere || a.Why == leaving)
}

// follow waits for a bridge that was asked to leave its node, and tells the node that it is on then. Empty: the bridge
// is nowhere, and not expected.
func (n *Node) follow(ctx context.Context, o lock.UnlockCommand, a answer) string {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.pace.moving)
	defer cancel()
	tick := time.NewTicker(n.cfg.pace.follow)
	defer tick.Stop()
	for {
		at, err := lock.LocateBridge(ctx, n.cfg.DB.Read(), o.PropertyID, o.BridgeID, n.cfg.Clock.Now())
		switch {
		case err != nil:
			return ""
		case at.Node != "" && at.Node != o.Node:
			return at.Node
		case at.Node == "" && !at.Moving, at.Node != "" && a.Why != leaving:
			return ""
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ""
		}
	}
}

// unclaim makes an act free for another session that was claimed when it was stored, and of which nothing was sent.
func (n *Node) unclaim(ctx context.Context, o *lock.UnlockCommand) error {
	if o.Epoch == 0 {
		return nil
	}
	o.Epoch = 0
	return n.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error { return lock.ReleaseCommand(tx, o.PropertyID, o.ActID) })
}

// ask has the node that holds a bridge carry an act out; this one needs no bus for it.
func (n *Node) ask(ctx context.Context, o lock.UnlockCommand) (answer, error) {
	c := call{Verb: "act", BridgeID: o.BridgeID, ActID: o.ActID, Deadline: o.Deadline, Presentation: o.Presentation}
	switch o.Node {
	case "":
		return answer{Why: leaving}, nil
	case n.cfg.Name:
		if o.Epoch != 0 {
			return n.place(ctx, c, &o), nil
		}
		return n.place(ctx, c, nil), nil
	}
	return n.tell(ctx, o.Node, c)
}

// drop ends an act that was not sent. If it was claimed after all, its state is the answer.
func (n *Node) drop(ctx context.Context, propertyID, actID string, a answer) (lock.Outcome, error) {
	done, err := n.settle(ctx, propertyID, actID, a.unsent)
	if err != nil || done.State != lock.CommandExpired {
		return done, err
	}
	switch a.Why {
	case unreachable:
		n.Unsent(lock.ErrNodeUnreachable)
		return lock.Outcome{}, lock.ErrNodeUnreachable
	case busy:
		return lock.Outcome{}, errBusy
	case refused:
		return lock.Outcome{}, lock.ErrTooLate
	}
	if !a.Counted {
		n.Unsent(lock.ErrBridgeOffline)
	}
	return lock.Outcome{}, lock.ErrBridgeOffline
}

// Unsent counts an opening that could not be sent because its bridge is not connected, or is connected to a node that cannot
// be reached. The APIs call it with the error of an opening that they could not store.
func (n *Node) Unsent(err error) {
	switch {
	case errors.Is(err, lock.ErrBridgeOffline):
		n.counters.refused.WithLabelValues(offline).Inc()
	case errors.Is(err, lock.ErrNodeUnreachable):
		n.counters.refused.WithLabelValues(unreachable).Inc()
	}
}

// settle makes sure that an act which nobody claimed, or of which it is certain that it was not sent, never is, and tells
// its state.
func (n *Node) settle(ctx context.Context, propertyID, actID string, unsent bool) (lock.Outcome, error) {
	var done lock.Outcome
	err := n.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) (err error) {
		if err := lock.CancelCommand(tx, propertyID, actID, unsent); err != nil {
			return err
		}
		done, err = lock.GetCommand(tx.Context(), tx.Client, propertyID, actID)
		return err
	})
	if done.State == lock.CommandClaimed {
		done.State = lock.CommandUnknown
	}
	return done, err
}
