package lock

import (
	"context"

	"latchkey.dev/internal/db"
)

// Waker notifies the node that has a bridge's session that the bridge's state of a lock is out of date. An empty lock means that the row
// of the bridge changed. Notifications carry no authority and no PIN, and may be lost: the digest at reconnect and a slow periodic
// check find what was missed.
type Waker func(bridgeID, lockID string)

type wakerKey struct{}

// WithWaker returns a context whose transactions call the waker after their commit. A caller of db.Write derives its context from it.
// bridgelink.Node.Waker is such a waker.
func WithWaker(ctx context.Context, w Waker) context.Context {
	return context.WithValue(ctx, wakerKey{}, w)
}

type nodeKey struct{}

// Node is the server process that makes a change.
type Node struct {
	Name    string
	Reaches func() bool // reports whether other nodes can be reached now; nil: they can
}

// WithNode returns a context that names the node that makes the changes. Commands for bridges with their session on this node are
// claimed for it in the transaction that stores them. Commands for other nodes are refused while those cannot be reached.
func WithNode(ctx context.Context, n Node) context.Context {
	return context.WithValue(ctx, nodeKey{}, n)
}

// isOwnNode reports whether the node that makes this change has the name.
func isOwnNode(tx *db.Tx, node string) bool {
	here, ok := tx.Context().Value(nodeKey{}).(Node)
	return ok && here.Name == node && node != ""
}

// canReachNode reports whether the node that makes this change can send a command to the named one now.
func canReachNode(tx *db.Tx, node string) bool {
	here, ok := tx.Context().Value(nodeKey{}).(Node)
	return !ok || here.Name == node || here.Reaches == nil || here.Reaches()
}

// notifyBridge calls the waker after the commit.
func notifyBridge(tx *db.Tx, bridgeID, lockID string) {
	if w, ok := tx.Context().Value(wakerKey{}).(Waker); ok && w != nil {
		tx.After(func() { w(bridgeID, lockID) })
	}
}
