package bridge

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// Hello is what a bridge says about itself at the start of a session, with the node that received it.
type Hello struct {
	Node     string
	BootID   string
	Software string
	Clock    time.Time // the bridge's; zero: not reported
	Keys     InstalledKeys
}

// ErrSuperseded is the error of every write of a session whose epoch is no longer the bridge's. The write had no effect.
var ErrSuperseded = errors.New("another session of this bridge has begun, or the bridge was revoked")

// Advance authenticates a bridge at the start of a session and gives it the next epoch by compare-and-set. It returns the bridge before
// and after. From the commit on, writes of every older session of the bridge have no effect.
func Advance(tx *db.Tx, who Identity, shown []byte, h Hello) (before, now *ent.Bridge, err error) {
	ctx := tx.Context()
	br, err := authenticate(ctx, tx.Client, who, shown)
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
	now, err = Get(ctx, tx.Client, br.PropertyID, br.ID)
	return br, now, err
}

func orSuperseded(err error) error {
	if err != nil {
		return err
	}
	return ErrSuperseded
}

// InSession loads a bridge if epoch is the epoch of its current session, and returns ErrSuperseded otherwise.
func InSession(tx *db.Tx, bridgeID string, epoch int64) (*ent.Bridge, error) {
	br, err := tx.Bridge.Query().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.RevokedAtIsNil()).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, ErrSuperseded
	}
	return br, err
}

// RevokedSince lists the bridges that were revoked after a time.
func RevokedSince(ctx context.Context, c *ent.Client, since time.Time) ([]string, error) {
	return c.Bridge.Query().Where(entbridge.RevokedAtGT(since)).IDs(ctx)
}

// CurrentEpoch returns the present epoch of a bridge, and whether the bridge is revoked.
func CurrentEpoch(ctx context.Context, c *ent.Client, bridgeID string) (epoch int64, revoked bool, err error) {
	br, err := c.Bridge.Get(ctx, bridgeID)
	if err != nil {
		return 0, false, err
	}
	return br.Epoch, br.RevokedAt != nil, nil
}

// A bridge generates a boot id at each start, so a boot id that another one has replaced does not appear again. If two machines have
// one identity, because a disk was copied, they supersede each other in turns, and the replaced id appears again.

// maxBootID is how many bytes of a boot id are stored.
const maxBootID = 31

// updateBootHistory adds the boot id of a new session to the record: the present id, a space, and the different one before it. back: the
// id before the present one has appeared again.
func updateBootHistory(record, boot string) (next string, back bool) {
	boot = strings.ReplaceAll(boot, " ", "_")
	boot = boot[:min(len(boot), maxBootID)]
	present, before, _ := strings.Cut(record, " ")
	if boot == present || boot == "" {
		return record, false
	}
	return strings.TrimSpace(boot + " " + present), boot == before
}

// detectClonedBridge notifies staff if a bridge runs twice, and ends the problem when a third boot id appears. before is the bridge
// before this session.
func detectClonedBridge(tx *db.Tx, before *ent.Bridge, record string, back bool) error {
	key := before.ID + "/bridgeDoubled"
	switch {
	case back && before.Online:
		return notice.Add(tx, notice.Notice{
			PropertyID: before.PropertyID, Kind: "bridgeDoubled", Subject: before.ID, OnceKey: key,
			Params: message.Params{"bridge": before.Name},
		})
	case !back && record != before.BootID: // a start of neither of the two
		return notice.Settle(tx, key)
	}
	return nil
}
