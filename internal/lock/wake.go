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

// WithNode names the node that makes the changes under this context. Acts on locks whose bridge has its session there
// are claimed for it in the change that stores them.
func WithNode(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nodeKey{}, name)
}

// held says whether the node that makes this change is the named one.
func held(tx *db.Tx, node string) bool {
	here, ok := tx.Context().Value(nodeKey{}).(string)
	return ok && here == node && node != ""
}

func wake(tx *db.Tx, bridgeID, lockID string) {
	if w, ok := tx.Context().Value(wakerKey{}).(Waker); ok && w != nil {
		tx.After(func() { w(bridgeID, lockID) })
	}
}
