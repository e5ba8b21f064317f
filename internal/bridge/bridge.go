// Package bridge stores the bridges of a property: their enrolment, their certificates by the CA of the installation, and the epoch of
// their sessions. Package lock stores what they drive.
package bridge

import (
	"context"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// OfflineReason says why a bridge has no session.
type OfflineReason string

// The reasons.
const (
	NeverConnected OfflineReason = "neverConnected"
	Disconnected   OfflineReason = "disconnected" // the stream broke
	NoHeartbeat    OfflineReason = "noHeartbeat"
	TooSlow        OfflineReason = "tooSlow"
	OutOfOrder     OfflineReason = "outOfOrder"
	ShuttingDown   OfflineReason = "shuttingDown" // the node that had the session is shutting down
	NodeLost       OfflineReason = "nodeLost"     // the node that had the session sends no heartbeat
	Revoked        OfflineReason = "revoked"
	Reenrolled     OfflineReason = "enrolled" // the bridge was enrolled again, perhaps on another machine
)

// Row is a bridge as stored.
type Row = ent.Bridge

// Create creates a bridge of the property and its first join code, which is shown once.
func Create(tx *db.Tx, keys *keyring.Ring, ca *CA, propertyID, name string) (*ent.Bridge, string, error) {
	code, mac, err := newJoinCode(keys, ca)
	if err != nil {
		return nil, "", err
	}
	br, err := tx.Bridge.Create().SetID(id.New(id.Bridge)).SetPropertyID(propertyID).SetName(name).
		SetJoinMAC(mac).SetJoinExpiresAt(tx.Now().Add(joinLife)).SetCreatedAt(tx.Now()).Save(tx.Context())
	return br, code, err
}

// ReplaceJoinCode creates a join code with which a bridge, also a revoked one, can be enrolled again. The bridge's older code stops to
// work. Nothing else changes until the code is used.
func ReplaceJoinCode(tx *db.Tx, keys *keyring.Ring, ca *CA, propertyID, bridgeID string) (*ent.Bridge, string, error) {
	br, err := Get(tx.Context(), tx.Client, propertyID, bridgeID)
	if err != nil {
		return nil, "", err
	}
	code, mac, err := newJoinCode(keys, ca)
	if err != nil {
		return nil, "", err
	}
	br, err = tx.Bridge.UpdateOne(br).SetJoinMAC(mac).SetJoinExpiresAt(tx.Now().Add(joinLife)).Save(tx.Context())
	return br, code, err
}

// Get loads a bridge of the property.
func Get(ctx context.Context, c *ent.Client, propertyID, bridgeID string) (*ent.Bridge, error) {
	br, err := c.Bridge.Query().Where(entbridge.ID(bridgeID), entbridge.PropertyID(propertyID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.BridgeNotFound, "no bridge %s at this property", bridgeID)
	}
	return br, err
}

// List loads every bridge of the property, oldest first.
func List(ctx context.Context, c *ent.Client, propertyID string) ([]*ent.Bridge, error) {
	return c.Bridge.Query().Where(entbridge.PropertyID(propertyID)).Order(entbridge.ByID()).All(ctx)
}

// Lost records that a bridge and the locks behind it cannot be reached. It is lock.MarkLinksLost.
type Lost func(tx *db.Tx, bridgeID, reason string) error

// Revoke revokes a bridge and ends its session. Its codes stay on its locks, because no bridge is left that could remove them.
func Revoke(tx *db.Tx, propertyID, bridgeID string, lost Lost) (*ent.Bridge, error) {
	br, err := Get(tx.Context(), tx.Client, propertyID, bridgeID)
	if err != nil || br.RevokedAt != nil {
		return br, err
	}
	return markOffline(tx, br, Revoked, lost, tx.Bridge.UpdateOne(br).SetRevokedAt(tx.Now()).ClearJoinMAC().ClearJoinExpiresAt())
}

// markOffline stores a change after which a bridge's session must end, and ends the session. If the bridge had one, or was moving from
// a node that stopped to another, the bridge and its locks are recorded as lost.
func markOffline(tx *db.Tx, was *ent.Bridge, why OfflineReason, lost Lost, change *ent.BridgeUpdateOne) (*ent.Bridge, error) {
	if was.Online {
		change.SetLinkAt(tx.Now())
	}
	next, err := change.SetOnline(false).SetOfflineReason(string(why)).Save(tx.Context())
	if err != nil {
		return nil, err
	}
	tx.Notify(Changed, was.ID)
	if !was.Online && was.OfflineReason != string(ShuttingDown) {
		return next, nil
	}
	return next, lost(tx, was.ID, string(why))
}

// MaxSilence is the age of the last heartbeat from which on a bridge counts as offline, whatever its row says, because its node may have
// died. It is three heartbeats of 15 s, and one more for the write.
const MaxSilence = time.Minute

// IsOnline reports whether a bridge has a session with a recent heartbeat.
func IsOnline(br *ent.Bridge, now time.Time) bool {
	return br.Online && br.RevokedAt == nil && br.LastSeenAt != nil && now.Sub(*br.LastSeenAt) <= MaxSilence
}

// MoveTimeout is how long commands wait for a bridge whose node drained it and that should soon connect to another node. It leaves time
// to carry out a command before MaxDeadline.
const MoveTimeout = 8 * time.Second

// IsMoving reports whether a bridge has no session because its node drained it at most MoveTimeout ago.
func IsMoving(br *ent.Bridge, now time.Time) bool {
	return !br.Online && br.RevokedAt == nil && br.OfflineReason == string(ShuttingDown) && br.LinkAt != nil && now.Sub(*br.LinkAt) <= MoveTimeout
}

// Location says which node has a bridge's session.
type Location struct {
	Node   string // empty: the bridge has no session
	Moving bool   // it has none and should soon have one
}

// Locate finds the node that has a bridge's session now.
func Locate(ctx context.Context, c *ent.Client, propertyID, bridgeID string, now time.Time) (Location, error) {
	br, err := Get(ctx, c, propertyID, bridgeID)
	if err != nil {
		return Location{}, err
	}
	if IsOnline(br, now) {
		return Location{Node: br.Node}, nil
	}
	return Location{Moving: IsMoving(br, now)}, nil
}
