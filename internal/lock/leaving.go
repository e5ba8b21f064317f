package lock

import (
	"context"
	"time"

	"latchkey.dev/ent"
	entact "latchkey.dev/ent/act"
	"latchkey.dev/internal/db"
)

// Moving is for how long a bridge that its node asked to leave is expected to be with another soon, so that acts wait
// for it. It leaves time to carry one out before MaxDeadline.
const MoveTimeout = 8 * time.Second

// moving says whether a bridge has no session because its node asked it to leave, a short while ago.
func isMoving(br *ent.Bridge, now time.Time) bool {
	return !br.Online && br.RevokedAt == nil && br.OfflineReason == string(ShuttingDown) && br.LinkAt != nil && now.Sub(*br.LinkAt) <= MoveTimeout
}

// Whereabouts is where a bridge has its session.
type BridgeLocation struct {
	Node   string // empty: it has none
	Moving bool   // it has none and is expected to have one soon
}

// FindBridge tells where a bridge has its session now.
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

// ReturnAct takes back the claim that was stored with an act, so that another session may claim it. Only who holds the
// act's one order, and knows that nothing was sent, may call it.
func ReleaseCommand(tx *db.Tx, propertyID, actID string) error {
	return tx.Act.Update().Where(entact.ID(actID), entact.PropertyID(propertyID), entact.State(CommandClaimed)).
		SetState(CommandStored).Exec(tx.Context())
}
