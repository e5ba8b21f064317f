package lock

import (
	"context"
	"time"

	"latchkey.dev/ent"
	entact "latchkey.dev/ent/act"
	"latchkey.dev/internal/db"
)

// MoveTimeout is how long commands wait for a bridge whose node drained it and that should soon connect to another node. It leaves time
// to carry out a command before MaxDeadline.
const MoveTimeout = 8 * time.Second

// isMoving reports whether a bridge has no session because its node drained it at most MoveTimeout ago.
func isMoving(br *ent.Bridge, now time.Time) bool {
	return !br.Online && br.RevokedAt == nil && br.OfflineReason == string(ShuttingDown) && br.LinkAt != nil && now.Sub(*br.LinkAt) <= MoveTimeout
}

// BridgeLocation says which node has a bridge's session.
type BridgeLocation struct {
	Node   string // empty: the bridge has no session
	Moving bool   // it has none and should soon have one
}

// LocateBridge finds the node that has a bridge's session now.
func LocateBridge(ctx context.Context, c *ent.Client, propertyID, bridgeID string, now time.Time) (BridgeLocation, error) {
	br, err := GetBridge(ctx, c, propertyID, bridgeID)
	if err != nil {
		return BridgeLocation{}, err
	}
	if IsBridgeOnline(br, now) {
		return BridgeLocation{Node: br.Node}, nil
	}
	return BridgeLocation{Moving: isMoving(br, now)}, nil
}

// ReleaseCommand takes back the claim that was stored with a command, so that another session may claim it. Only the caller that stored
// the command, and knows that nothing was sent, may call it.
func ReleaseCommand(tx *db.Tx, propertyID, actID string) error {
	return tx.Act.Update().Where(entact.ID(actID), entact.PropertyID(propertyID), entact.State(CommandClaimed)).
		SetState(CommandStored).Exec(tx.Context())
}
