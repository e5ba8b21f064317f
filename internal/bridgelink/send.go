package bridgelink

import (
	"context"
	"errors"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// SendCommand sends a stored unlock command to its bridge at most once and waits for the outcome, which may be unknown, until shortly after
// the deadline, even if ctx ends. The errors [lock.ErrBridgeOffline], [lock.ErrNodeUnreachable], [lock.ErrTooLate] and errBusy mean that
// the command was not sent and never will be. After another error, one of the database, that is not known. If the bridge moves to another
// node meanwhile, SendCommand sends the command there.
func (n *Node) SendCommand(ctx context.Context, o lock.UnlockCommand) (lock.Outcome, error) {
	until := n.toMonotonic(o.Deadline)
	if !time.Now().Before(until) {
		n.counters.refused.WithLabelValues(tooLate).Inc()
		return n.abandon(ctx, o.PropertyID, o.CommandID, nodeResponse{Why: refused, Counted: true, unsent: true})
	}
	waitCtx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until.Add(2*n.cfg.timings.resultGrace))
	defer cancel()
	a, err := n.sendTo(waitCtx, o)
	for range maxMoves {
		if !isUndelivered(a, err) {
			break
		}
		next := n.awaitNode(waitCtx, o, a)
		if next == "" {
			break
		}
		if err := n.releaseClaim(ctx, &o); err != nil {
			return lock.Outcome{}, err
		}
		o.Node = next
		a, err = n.sendTo(waitCtx, o)
	}
	switch {
	case err == nil && a.Done:
		return a.Outcome, nil
	case errors.Is(err, bus.ErrNotConnected):
		return n.abandon(ctx, o.PropertyID, o.CommandID, nodeResponse{Why: nodeUnreachable, unsent: true})
	case err != nil && !errors.Is(err, bus.ErrNoResponder):
		return n.finalize(ctx, o.PropertyID, o.CommandID, false)
	}
	return n.abandon(ctx, o.PropertyID, o.CommandID, a)
}

// toMonotonic converts a time of the service's clock to a time for comparisons with time.Now, so that an adjustment of the wall clock
// does not move deadlines.
func (n *Node) toMonotonic(t time.Time) time.Time { return time.Now().Add(t.Sub(n.cfg.Clock.Now())) }

// maxMoves bounds how often SendCommand follows a bridge to another node.
const maxMoves = 3

// isUndelivered reports whether no session took the command or request because the bridge is not connected to the asked node.
func isUndelivered(a nodeResponse, err error) bool {
	if err != nil {
		return errors.Is(err, bus.ErrNoResponder)
	}
	return !a.Done && (a.Why == notHere || a.Why == leaving)
}

// awaitNode waits until a bridge that was asked to leave its node is connected again, and returns the new node. a is the response of the
// former node. It returns "" if the bridge does not reconnect in time. It does not wait, and returns "", if the bridge is offline without
// moving, if a is not leaving and the bridge is still at the former node, and after an error of the database.
func (n *Node) awaitNode(ctx context.Context, o lock.UnlockCommand, a nodeResponse) string {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.timings.move)
	defer cancel()
	tick := time.NewTicker(n.cfg.timings.moveCheck)
	defer tick.Stop()
	for {
		found, err := bridge.Locate(n.cfg.DB.View(ctx), o.PropertyID, o.BridgeID, n.cfg.Clock.Now())
		switch {
		case err != nil:
			return ""
		case found.Node != "" && found.Node != o.Node:
			return found.Node
		case found.Node == "" && !found.Moving, found.Node != "" && a.Why != leaving:
			return ""
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ""
		}
	}
}

// releaseClaim releases a command that was claimed but not sent, so that another session can claim it, and resets o.Epoch. It does nothing
// if o.Epoch is 0: the command was not claimed when it was stored.
func (n *Node) releaseClaim(ctx context.Context, o *lock.UnlockCommand) error {
	if o.Epoch == 0 {
		return nil
	}
	o.Epoch = 0
	return n.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error { return lock.ReleaseCommand(tx, o.PropertyID, o.CommandID) })
}

// sendTo sends an unlock command to the node that has the bridge's session, and waits for the result. It uses the message bus only if that
// is another node. Without a node it responds leaving, so that the caller waits for one.
func (n *Node) sendTo(ctx context.Context, o lock.UnlockCommand) (nodeResponse, error) {
	c := nodeRequest{Verb: "act", BridgeID: o.BridgeID, CommandID: o.CommandID, Deadline: o.Deadline, Presentation: o.Presentation}
	switch o.Node {
	case "":
		return nodeResponse{Why: leaving}, nil
	case n.cfg.Name:
		if o.Epoch != 0 {
			return n.deliverCommand(ctx, c, &o), nil
		}
		return n.deliverCommand(ctx, c, nil), nil
	}
	return n.request(ctx, o.Node, c)
}

// abandon ends an unlock command that no session has answered, and returns as the error why it was not sent, according to the response a.
// If a session has claimed the command meanwhile and a does not say that it is unsent, there is no error, and the stored state is the
// outcome.
func (n *Node) abandon(ctx context.Context, propertyID, commandID string, a nodeResponse) (lock.Outcome, error) {
	done, err := n.finalize(ctx, propertyID, commandID, a.unsent)
	if err != nil || done.State != lock.CommandExpired {
		return done, err
	}
	switch a.Why {
	case nodeUnreachable:
		n.CountUnsent(lock.ErrNodeUnreachable)
		return lock.Outcome{}, lock.ErrNodeUnreachable
	case busy:
		return lock.Outcome{}, errBusy
	case refused:
		return lock.Outcome{}, lock.ErrTooLate
	}
	if !a.Counted {
		n.CountUnsent(lock.ErrBridgeOffline)
	}
	return lock.Outcome{}, lock.ErrBridgeOffline
}

// CountUnsent counts, in the metrics, an unlock command that was refused with err because its bridge is offline or its node cannot be
// reached. It ignores other errors. API handlers call it for commands that were refused before they were stored.
func (n *Node) CountUnsent(err error) {
	switch {
	case errors.Is(err, lock.ErrBridgeOffline):
		n.counters.refused.WithLabelValues(offline).Inc()
	case errors.Is(err, lock.ErrNodeUnreachable):
		n.counters.refused.WithLabelValues(nodeUnreachable).Inc()
	}
}

// finalize marks a command as expired if no session has claimed it or if it is known to be unsent. It returns the stored outcome; a command
// that is still claimed counts as unknown.
func (n *Node) finalize(ctx context.Context, propertyID, commandID string, unsent bool) (lock.Outcome, error) {
	var done lock.Outcome
	err := n.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) (err error) {
		if err := lock.CancelCommand(tx, propertyID, commandID, unsent); err != nil {
			return err
		}
		done, err = lock.GetCommand(tx, propertyID, commandID)
		return err
	})
	if done.State == lock.CommandClaimed {
		done.State = lock.CommandUnknown
	}
	return done, err
}
