// Package bridge stores the bridges of a property: their enrolment, their certificates, and the epoch of their sessions. Package lock
// stores the locks of a bridge.
package bridge

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

// OfflineReason is why a bridge has no session.
type OfflineReason string

const (
	NeverConnected OfflineReason = "neverConnected"
	Disconnected   OfflineReason = "disconnected" // the stream between bridge and server broke
	NoHeartbeat    OfflineReason = "noHeartbeat"  // the bridge sent no heartbeat in time
	TooSlow        OfflineReason = "tooSlow"      // the first message of the bridge, or a message to it, took too long
	OutOfOrder     OfflineReason = "outOfOrder"   // the bridge broke the protocol
	ShuttingDown   OfflineReason = "shuttingDown" // the node with the bridge's session is shutting down
	NodeLost       OfflineReason = "nodeLost"     // the node with the bridge's session sends no heartbeat
	Revoked        OfflineReason = "revoked"
	Reenrolled     OfflineReason = "enrolled" // the bridge was enrolled again, perhaps on another machine: its former certificate ended
)

// Row is a row of the table of bridges.
type Row = ent.Bridge

// Create creates a bridge of a property and its first join code, with which a machine can be enrolled as this bridge, and returns both. The
// code is valid for an hour. It is returned only here, because the database stores only its MAC. Create does not check the name.
func Create(tx *db.Tx, keys *keyring.Ring, ca *CA, propertyID, name string) (*ent.Bridge, string, error) {
	code, mac, err := newJoinCode(keys, ca)
	if err != nil {
		return nil, "", err
	}
	br, err := tx.Bridge.Create().SetID(id.New(id.Bridge)).SetPropertyID(propertyID).SetName(name).
		SetJoinMAC(mac).SetJoinExpiresAt(tx.Now().Add(joinLife)).SetCreatedAt(tx.Now()).Save(tx.Context())
	watch.Notify(tx, propertyID, watch.Bridges)
	return br, code, err
}

// ReplaceJoinCode returns a new join code, valid for an hour, with which a machine can be enrolled as the bridge again, even if the bridge
// is revoked. The previous join code becomes invalid. The bridge itself does not change until the new code is used. It returns the fault
// BridgeNotFound if the property has no such bridge.
func ReplaceJoinCode(tx *db.Tx, keys *keyring.Ring, ca *CA, propertyID, bridgeID string) (*ent.Bridge, string, error) {
	br, err := Get(tx, propertyID, bridgeID)
	if err != nil {
		return nil, "", err
	}
	code, mac, err := newJoinCode(keys, ca)
	if err != nil {
		return nil, "", err
	}
	watch.Notify(tx, propertyID, watch.Bridges, bridgeID)
	br, err = tx.Bridge.UpdateOne(br).SetJoinMAC(mac).SetJoinExpiresAt(tx.Now().Add(joinLife)).Save(tx.Context())
	return br, code, err
}

// Get loads a bridge of a property. It returns the fault BridgeNotFound if the property has no such bridge.
func Get(tx *db.Tx, propertyID, bridgeID string) (*ent.Bridge, error) {
	br, err := tx.Bridge.Query().Where(entbridge.ID(bridgeID), entbridge.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.BridgeNotFound, "no bridge %s at this property", bridgeID)
	}
	return br, err
}

// List loads all bridges of the property, also revoked and never enrolled ones, oldest first.
func List(tx *db.Tx, propertyID string) ([]*ent.Bridge, error) {
	return tx.Bridge.Query().Where(entbridge.PropertyID(propertyID)).Order(entbridge.ByID()).All(tx.Context())
}

// Count has the number of enrolled bridges of a property that are not revoked (All), and how many of them are online.
type Count struct{ All, Online int }

// CountByProperty counts, by the id of the property, the enrolled bridges that are not revoked, and how many of them are online. Properties
// without such bridges have no entry.
func CountByProperty(view *db.Tx, propertyIDs ...string) (map[string]Count, error) {
	rows, err := view.Bridge.Query().Where(entbridge.PropertyIDIn(propertyIDs...), entbridge.EpochGT(0), entbridge.RevokedAtIsNil()).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("count bridges: %w", err)
	}
	counts, now := map[string]Count{}, view.Now()
	for _, row := range rows {
		c := counts[row.PropertyID]
		if c.All++; IsOnline(row, now) {
			c.Online++
		}
		counts[row.PropertyID] = c
	}
	return counts, nil
}

// OnLinkLost is called when a bridge and its locks become unreachable: lock.MarkLinksLost, which this package cannot import.
type OnLinkLost func(tx *db.Tx, bridgeID string, reason OfflineReason) error

// Revoke revokes a bridge and its join code, and ends its session. It does nothing if the bridge is already revoked, and returns the fault
// BridgeNotFound if the property has no such bridge. The codes remain on its locks, because no bridge can remove them any more. lost is
// called if the bridge had a session or was moving to another node.
func Revoke(tx *db.Tx, propertyID, bridgeID string, lost OnLinkLost) (*ent.Bridge, error) {
	br, err := Get(tx, propertyID, bridgeID)
	if err != nil || br.RevokedAt != nil {
		return br, err
	}
	return markOffline(tx, br, Revoked, lost, tx.Bridge.UpdateOne(br).SetRevokedAt(tx.Now()).ClearJoinMAC().ClearJoinExpiresAt())
}

// RevokeAll revokes the bridges of a property that will be deleted, and ends their sessions. Unlike [Revoke] it does not call OnLinkLost.
func RevokeAll(tx *db.Tx, propertyID string) error {
	valid := []predicate.Bridge{entbridge.PropertyID(propertyID), entbridge.RevokedAtIsNil()}
	ids, err := tx.Bridge.Query().Where(valid...).IDs(tx.Context())
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		tx.Notify(Changed, id)
	}
	watch.Notify(tx, propertyID, watch.Bridges)
	return tx.Bridge.Update().Where(valid...).SetRevokedAt(tx.Now()).SetOnline(false).SetOfflineReason(string(Revoked)).
		ClearJoinMAC().ClearJoinExpiresAt().Exec(tx.Context())
}

// markOffline saves change, an update of the bridge's row that makes its session invalid, and ends the session. was is the row before, why
// the offline reason. It calls lost if the bridge had a session or was moving to another node. It returns the row after the change.
func markOffline(tx *db.Tx, was *ent.Bridge, why OfflineReason, lost OnLinkLost, change *ent.BridgeUpdateOne) (*ent.Bridge, error) {
	if was.Online {
		change.SetLinkAt(tx.Now())
	}
	next, err := change.SetOnline(false).SetOfflineReason(string(why)).Save(tx.Context())
	if err != nil {
		return nil, err
	}
	tx.Notify(Changed, was.ID)
	NotifyLink(tx, was)
	if !was.Online && was.OfflineReason != string(ShuttingDown) {
		return next, nil
	}
	return next, lost(tx, was.ID, why)
}

// MaxSilence is the greatest age of the last heartbeat of an online bridge. With an older heartbeat a bridge counts as offline, even if it
// is online according to its row, because its node may have crashed. It is three heartbeats of 15 s plus 15 s for the write.
const MaxSilence = time.Minute

// Link are the columns of a bridge's row from which follows whether it is online. LinkAt is when the session began or ended.
type Link struct {
	Online                        bool
	OfflineReason                 string
	LastSeenAt, LinkAt, RevokedAt *time.Time
}

// LinkOf returns the columns of a bridge's row that Link has.
func LinkOf(br *ent.Bridge) Link {
	return Link{br.Online, br.OfflineReason, br.LastSeenAt, br.LinkAt, br.RevokedAt}
}

// IsOnline reports whether a bridge has a session, is not revoked, and sent a heartbeat at most MaxSilence before now.
func IsOnline(br *ent.Bridge, now time.Time) bool { return LinkOf(br).IsOnline(now) }

// IsOnline reports whether the bridge has a session, is not revoked, and sent a heartbeat at most MaxSilence before now.
func (l Link) IsOnline(now time.Time) bool {
	return l.Online && l.RevokedAt == nil && l.LastSeenAt != nil && now.Sub(*l.LastSeenAt) <= MaxSilence
}

// MoveTimeout is how long unlock commands wait for a bridge whose node is draining and that should soon connect to another node. It is
// short enough to carry out the command before MaxDeadline.
const MoveTimeout = 8 * time.Second

// IsMoving reports whether the bridge should have a session again soon: its node, which is shutting down, asked it at most MoveTimeout ago
// to move to another node.
func (l Link) IsMoving(now time.Time) bool {
	return !l.Online && l.RevokedAt == nil && l.OfflineReason == string(ShuttingDown) && l.LinkAt != nil && now.Sub(*l.LinkAt) <= MoveTimeout
}

// Location is the node with a bridge's session.
type Location struct {
	Node   string // Node is empty if the bridge has no session
	Moving bool   // Moving means that the draining node asked the bridge at most MoveTimeout ago to connect to another node
}

// Locate returns which node has the session of a bridge at the time now, so that a command for the bridge can be sent there. For a bridge
// that is offline it returns no error but an empty Node, and sets Moving if the bridge should soon connect to another node. A bridge that
// the property does not have is the fault BridgeNotFound.
func Locate(tx *db.Tx, propertyID, bridgeID string, now time.Time) (Location, error) {
	br, err := Get(tx, propertyID, bridgeID)
	if err != nil {
		return Location{}, err
	}
	if IsOnline(br, now) {
		return Location{Node: br.Node}, nil
	}
	return Location{Moving: LinkOf(br).IsMoving(now)}, nil
}
