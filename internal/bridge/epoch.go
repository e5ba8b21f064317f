package bridge

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/text"
)

// Hello is what a bridge reports at the start of a session, and the node that received it.
type Hello struct {
	Node     string    // Node is the name of the server's node that holds the session
	BootID   string    // BootID is the random id of the bridge's start; may be empty
	Software string    // Software is the name and version of the bridge's software
	Clock    time.Time // Clock is the bridge's clock; zero if the bridge did not report it
	Keys     InstalledKeys
}

// ErrSuperseded is the error of a write in a session whose epoch is no longer the bridge's current epoch. The write had no effect.
// [EndSession] and [MarkOnline] return false instead.
var ErrSuperseded = errors.New("another session of this bridge has begun, or the bridge was revoked")

// AdvanceEpoch authenticates a bridge by its certificate at the start of a session, gives it the next epoch, and marks it online. It
// notifies staff if two machines use the bridge's identity. who and shown are the identity and the key hash in the certificate. A bridge
// that uses its new key loses the old one. AdvanceEpoch returns the bridge's row before and after. After the commit, writes of older
// sessions of the bridge fail with ErrSuperseded. For a bridge that is revoked, not enrolled or shows another key, AdvanceEpoch returns
// errNotAuthenticated. It returns ErrSuperseded itself only if the row changes meanwhile.
func AdvanceEpoch(tx *db.Tx, who Identity, shown []byte, h Hello) (before, now *ent.Bridge, err error) {
	ctx := tx.Context()
	br, err := authenticate(tx, who, shown)
	if err != nil {
		return nil, nil, err
	}
	record, back := updateBootHistory(br.BootID, h.BootID)
	if err := detectClonedBridge(tx, br, record, back); err != nil {
		return nil, nil, err
	}
	update := tx.Bridge.Update().
		Where(entbridge.ID(br.ID), entbridge.PropertyID(br.PropertyID), entbridge.Epoch(br.Epoch), entbridge.RevokedAtIsNil()).
		AddEpoch(1).SetOnline(true).SetOfflineReason("").SetNode(h.Node).SetLastSeenAt(tx.Now()).SetLinkAt(tx.Now()).
		SetBootID(record).SetSoftware(h.Software).SetKeySetVersion(h.Keys.Version).SetKeyListNumber(h.Keys.List)
	if !h.Clock.IsZero() {
		update.SetClockOffsetMs(h.Clock.Sub(tx.Now()).Milliseconds())
	}
	if bytes.Equal(shown, br.CertificateKey) {
		update.ClearPreviousKey()
	}
	if n, err := update.Save(ctx); err != nil || n == 0 {
		return nil, nil, orSuperseded(err)
	}
	NotifyLink(tx, br)
	now, err = Get(tx, br.PropertyID, br.ID)
	return br, now, err
}

// orSuperseded returns the error of a conditional update that changed no row: err, or ErrSuperseded if err is nil.
func orSuperseded(err error) error {
	if err != nil {
		return err
	}
	return ErrSuperseded
}

// InSession loads a bridge for a write in the session that epoch identifies. It returns ErrSuperseded if the bridge has a newer session or
// was enrolled again since, or if it is revoked. A session that has ended still counts until then.
func InSession(tx *db.Tx, bridgeID string, epoch int64) (*ent.Bridge, error) {
	br, err := tx.Bridge.Query().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.RevokedAtIsNil()).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, ErrSuperseded
	}
	return br, err
}

// RevokedSince returns the ids of all bridges that were revoked after a time. Nodes use it to end sessions whose notification was lost.
func RevokedSince(tx *db.Tx, since time.Time) ([]string, error) {
	return tx.Bridge.Query().Where(entbridge.RevokedAtGT(since)).IDs(tx.Context())
}

// Missing returns those of the given bridges that have no row any more, because their property was deleted.
func Missing(tx *db.Tx, bridgeIDs []string) ([]string, error) {
	found, err := tx.Bridge.Query().Where(entbridge.IDIn(bridgeIDs...)).IDs(tx.Context())
	return slices.DeleteFunc(slices.Clone(bridgeIDs), func(id string) bool { return slices.Contains(found, id) }), err
}

// CurrentEpoch returns the epoch of a bridge: that of its current or last session, or a later one if it was enrolled again since. revoked
// is also true for a bridge that was deleted with its property.
func CurrentEpoch(tx *db.Tx, bridgeID string) (epoch int64, revoked bool, err error) {
	br, err := tx.Bridge.Get(tx.Context(), bridgeID)
	if ent.IsNotFound(err) {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	return br.Epoch, br.RevokedAt != nil, nil
}

// Detection of cloned bridges: a bridge generates a random boot id at each start, so an old boot id normally never comes back. If a disk
// was copied, two machines share one identity and take turns in superseding each other's session, so that an old boot id comes back.

// maxBootID is the length in bytes to which a longer boot id is cut when it is stored.
const maxBootID = 31

// updateBootHistory adds the boot id of a new session to record, which holds the last two boot ids, the newer first, separated by a blank.
// An empty boot, or one equal to the newer id, changes nothing. returned is true if boot equals the older one, which means that two
// machines share one identity.
func updateBootHistory(record, boot string) (next string, returned bool) {
	boot = text.Truncate(strings.ReplaceAll(boot, " ", "_"), maxBootID)
	present, before, _ := strings.Cut(record, " ")
	if boot == present || boot == "" {
		return record, false
	}
	return strings.TrimSpace(boot + " " + present), boot == before
}

// detectClonedBridge notifies staff if an old boot id comes back while the bridge is online, because two machines then use the same bridge
// identity. It clears the notice when a third boot id appears. before is the bridge's row before this session; record and returned are the
// results of updateBootHistory.
func detectClonedBridge(tx *db.Tx, before *ent.Bridge, record string, returned bool) error {
	key := notice.BridgeDoubled.Key(before.ID)
	switch {
	case returned && before.Online:
		return notice.Add(tx, notice.Notice{
			PropertyID: before.PropertyID, Kind: notice.BridgeDoubled, Subject: before.ID, OnceKey: key,
			Params: message.Params{"bridge": before.Name},
		})
	case !returned && record != before.BootID: // a third boot id, so two machines do not take turns any more
		return notice.Resolve(tx, before.PropertyID, key)
	}
	return nil
}
