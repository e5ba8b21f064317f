package lock

import (
	"bytes"
	"errors"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
)

// Hello is a bridge's first message in a session, with the node that received it.
type Hello struct {
	Node     string
	BootID   string
	Software string
	Clock    time.Time // the bridge's; zero: not reported
	Locks    []LockReport
	Keys     InstalledKeys
}

// Session is what OpenSession returns about a bridge's session.
type Session struct {
	PropertyID    string
	BridgeID      string
	Epoch         int64
	HPKEKey       []byte // PINs are sealed to it
	EventSequence int64  // events are stored up to here
	RenewalDue    bool   // the bridge should renew its certificate
	Locks         []LockRef
	PreviousNode  string   // the node that still has the former session; empty: none
	OutOfSync     []string // ids of the locks whose digest differs between the bridge and the server
	enrolmentID   string
}

// LockRef names a lock that a bridge drives.
type LockRef struct {
	ID         string
	Address    string // on the bridge
	Generation int64  // the latest one when the session was opened
}

// ErrSuperseded is the error of every write of a session whose epoch is no longer the bridge's. The write had no effect.
var ErrSuperseded = errors.New("another session of this bridge has begun, or the bridge was revoked")

// OpenSession authenticates a bridge, gives it the next epoch by compare-and-set, and applies its lock reports. From the commit on, writes
// of every older session of the bridge have no effect.
func OpenSession(tx *db.Tx, who Identity, shown []byte, h Hello) (*Session, error) {
	ctx := tx.Context()
	br, err := AuthenticateBridge(ctx, tx.Client, who, shown)
	if err != nil {
		return nil, err
	}
	before := ""
	if br.Online {
		before = br.Node
	}
	record, back := updateBootHistory(br.BootID, h.BootID)
	if err := detectClonedBridge(tx, br, record, back); err != nil {
		return nil, err
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
		return nil, orSuperseded(err)
	}
	was := br
	if br, err = tx.Bridge.Get(ctx, br.ID); err != nil {
		return nil, err
	}
	if err := markBridgeOnline(tx, was, h.Locks); err != nil {
		return nil, err
	}
	locks, err := applyAllReports(tx, br, h.Locks)
	if err != nil {
		return nil, err
	}
	rows, err := slotsOfLocks(tx.Context(), tx.Client, br.PropertyID, idsOf(locks))
	if err != nil {
		return nil, err
	}
	return &Session{
		PropertyID: br.PropertyID, BridgeID: br.ID, Epoch: br.Epoch, HPKEKey: br.HpkeKey, EventSequence: br.EventSequence,
		RenewalDue: renewalDue(br, tx.Now()), Locks: lockRefs(locks), OutOfSync: outOfSync(locks, rows, h.Locks), PreviousNode: before, enrolmentID: enrolmentID(br),
	}, nil
}

func lockRefs(locks []*ent.Lock) []LockRef {
	out := make([]LockRef, len(locks))
	for i, lk := range locks {
		out[i] = LockRef{ID: lk.ID, Address: lk.Address, Generation: lk.Generation}
	}
	return out
}

func orSuperseded(err error) error {
	if err != nil {
		return err
	}
	return ErrSuperseded
}

// outOfSync returns the locks whose digest differs from the bridge's.
func outOfSync(locks []*ent.Lock, rows map[string][]*ent.Slot, reports []LockReport) []string {
	digests := make(map[string]slot.Digest, len(reports))
	for _, h := range reports {
		digests[h.Address] = h.Digest
	}
	var out []string
	for _, lk := range locks {
		if theirs, driven := digests[lk.Address]; driven && theirs != digestOf(rows[lk.ID]) {
			out = append(out, lk.ID)
		}
	}
	return out
}

func idsOf(locks []*ent.Lock) []string {
	ids := make([]string, len(locks))
	for i, lk := range locks {
		ids[i] = lk.ID
	}
	return ids
}

func digestOf(rows []*ent.Slot) slot.Digest {
	sum := make([]slot.DigestRow, 0, len(rows))
	for _, s := range rows {
		if concernsBridge(s) {
			sum = append(sum, slot.DigestRow{Slot: uint32(s.Number), Generation: uint64(s.Generation), Observed: observedOf(s)})
		}
	}
	return slot.LockDigest(sum)
}

// concernsBridge reports whether a slot is sent to bridges. It is not if its code was cleared before any bridge was sent it.
func concernsBridge(s *ent.Slot) bool {
	return s.Present || s.SeenGeneration > 0 || s.Claimant != "" || s.Inherited
}

// bridgeInSession loads a bridge if epoch is the epoch of its current session, and returns ErrSuperseded otherwise.
func bridgeInSession(tx *db.Tx, bridgeID string, epoch int64) (*ent.Bridge, error) {
	br, err := tx.Bridge.Query().Where(entbridge.ID(bridgeID), entbridge.Epoch(epoch), entbridge.RevokedAtIsNil()).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, ErrSuperseded
	}
	return br, err
}
