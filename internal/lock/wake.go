package lock

import (
	"context"

	"latchkey.dev/internal/db"
)

// Waker hints that what a bridge holds of a lock is out of date. An empty lock means the bridge itself: its row says
// why. Hints carry no authority and no PIN, and may be lost: the digest at reconnect and a slow sweep make good.
type Waker func(bridgeID, lockID string)

type wakerKey struct{}

// WithWaker has changes under this context wake bridges once they are committed. Whoever calls db.Write derives its
// context from one that carries the waker; bridgelink.Node.Waker is one.
func WithWaker(ctx context.Context, w Waker) context.Context {
	return context.WithValue(ctx, wakerKey{}, w)
}

type nodeKey struct{}

// Node is the node that makes a change.
type Node struct {
	Name    string
	Reaches func() bool // reports whether other nodes can be reached now; nil: they can
}

// WithNode names the node that makes the changes under this context. Acts on locks whose bridge has its session there
// are claimed for it in the change that stores them; acts for other nodes are refused while those cannot be reached.
func WithNode(ctx context.Context, n Node) context.Context {
	return context.WithValue(ctx, nodeKey{}, n)
}

// held says whether the node that makes this change is the named one.
func isOwnNode(tx *db.Tx, node string) bool {
	here, ok := tx.Context().Value(nodeKey{}).(Node)
	return ok && here.Name == node && node != ""
}

// reaches reports whether the node that makes this change can send an act to the named one now.
func canReachNode(tx *db.Tx, node string) bool {
	here, ok := tx.Context().Value(nodeKey{}).(Node)
	return !ok || here.Name == node || here.Reaches == nil || here.Reaches()
}

func notifyBridge(tx *db.Tx, bridgeID, lockID string) {
	if w, ok := tx.Context().Value(wakerKey{}).(Waker); ok && w != nil {
		tx.After(func() { w(bridgeID, lockID) })
	}
}
