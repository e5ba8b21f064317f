package bridge

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/health"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// notifyAfter is how long a bridge is offline before staff are notified.
const notifyAfter = 5 * time.Minute

// UpdateHealth changes the stored connection state of a bridge by move, which is Lost, Restored or Check of [health.Link]. If move returns
// a notification, it appends an internal event, with the reason of a disconnection, and a recovery ends the notice of a long outage. It
// must not be called with Lost when the bridge's node only shuts down.
func UpdateHealth(tx *db.Tx, br *ent.Bridge, move health.Move, reason OfflineReason) error {
	was := health.Link{LostAt: db.OrZero(br.UnreachedAt), RestoredAt: db.OrZero(br.ReachedAt), NotifiedAt: db.OrZero(br.OfflineNotifiedAt)}
	next, notification := move(was, tx.Now())
	if next != was {
		u := tx.Bridge.UpdateOneID(br.ID).Where(entbridge.PropertyID(br.PropertyID))
		db.SetOrClear(next.LostAt, u.SetUnreachedAt, u.ClearUnreachedAt)
		db.SetOrClear(next.RestoredAt, u.SetReachedAt, u.ClearReachedAt)
		db.SetOrClear(next.NotifiedAt, u.SetOfflineNotifiedAt, u.ClearOfflineNotifiedAt)
		if err := u.Exec(tx.Context()); err != nil {
			return fmt.Errorf("store the link state of a bridge: %w", err)
		}
	}
	e := event.Event{PropertyID: br.PropertyID, Subject: event.InternalSubject(br.ID), Body: map[string]any{"bridgeId": br.ID}}
	switch notification {
	case health.Down:
		e.Kind, e.Body["reason"] = event.BridgeOffline, string(reason)
	case health.Up:
		e.Kind = event.BridgeOnline
		if err := notice.Resolve(tx, br.PropertyID, notice.BridgeUnreachable.Key(br.ID)); err != nil {
			return err
		}
	default:
		return nil
	}
	return event.Append(tx, e)
}

// CheckHealth checks up to limit bridges of all properties that are disconnected or were until recently, and notifies staff of bridges that
// are offline for long. It reads bridges by id after the cursor, and returns the next cursor, which is empty at the end.
func CheckHealth(tx *db.Tx, after string, limit int) (next string, err error) {
	rows, err := tx.Bridge.Query().Where(entbridge.UnreachedAtNotNil(), entbridge.RevokedAtIsNil(), entbridge.IDGT(after)).
		Order(entbridge.ByID()).Limit(limit).All(tx.Context())
	if err != nil {
		return "", fmt.Errorf("load the bridges with a recent loss: %w", err)
	}
	for _, br := range rows {
		if err := UpdateHealth(tx, br, health.Link.Check, OfflineReason(br.OfflineReason)); err != nil {
			return "", err
		}
		if err := notifyLongOffline(tx, br); err != nil {
			return "", err
		}
		next = br.ID
	}
	if len(rows) < limit {
		next = ""
	}
	return next, nil
}

// notifyLongOffline notifies staff once of a bridge that has been offline for notifyAfter or longer, and is not back.
func notifyLongOffline(tx *db.Tx, br *ent.Bridge) error {
	if br.ReachedAt != nil || br.UnreachedAt == nil || tx.Now().Sub(*br.UnreachedAt) < notifyAfter {
		return nil
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: br.PropertyID, Kind: notice.BridgeUnreachable, Subject: br.ID, OnceKey: notice.BridgeUnreachable.Key(br.ID),
		Params: message.Params{"bridge": br.Name},
	})
}
