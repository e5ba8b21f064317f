package lock

import (
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
)

// Session is a session of a bridge that has just begun, with what the server needs to continue it.
type Session struct {
	PropertyID    string
	BridgeID      string
	Epoch         int64
	HPKEKey       []byte // HPKEKey is the bridge's public key, to which PINs are encrypted
	EventSequence int64  // EventSequence is the last stored sequence number of the bridge's events
	RenewalDue    bool   // RenewalDue means that the bridge should renew its certificate now
	Locks         []LockRef
	PreviousNode  string   // PreviousNode is the node that still has the bridge's former session; empty if none has
	OutOfSync     []string // OutOfSync are the ids of the locks whose slot digest differs between bridge and server
	Doors         []string // Doors are the ids of the doors whose locks have other capabilities than before
	LeftOut       int      // LeftOut is the number of reported locks that were not stored, because the bridge has too many
	enrolmentID   string
}

// LockRef names a lock of a session's bridge.
type LockRef struct {
	ID         string
	Address    string // Address is the lock's address on the bridge
	Generation int64  // Generation is the lock's latest generation when the session was opened
}

// OpenSession begins the session of a bridge that has just connected: it gives the bridge its next epoch, marks it online and applies its
// reports. Locks of the bridge that are not in reports become offline. If the bridge has too many locks, new ones are left out, but the
// session opens, because the other locks need it. shown is the hash of the public key in the bridge's client certificate; a certificate
// that is not the bridge's is refused. After the commit, writes of the bridge's older sessions are rejected.
func OpenSession(tx *db.Tx, who bridge.Identity, shown []byte, h bridge.Hello, reports []LockReport) (*Session, error) {
	was, br, err := bridge.AdvanceEpoch(tx, who, shown, h)
	if err != nil {
		return nil, err
	}
	before := ""
	if was.Online {
		before = was.Node
	}
	if err := markBridgeOnline(tx, was, reports); err != nil {
		return nil, err
	}
	r, err := applyAllReports(tx, br, reports)
	if err != nil {
		return nil, err
	}
	rows, err := slotsOfLocks(tx, br.PropertyID, idsOf(r.named))
	if err != nil {
		return nil, err
	}
	return &Session{
		PropertyID: br.PropertyID, BridgeID: br.ID, Epoch: br.Epoch, HPKEKey: br.HpkeKey, EventSequence: br.EventSequence,
		RenewalDue: bridge.RenewalDue(br, tx.Now()), Locks: lockRefs(r.named), OutOfSync: outOfSync(r.named, rows, reports), LeftOut: r.leftOut, Doors: r.doors, PreviousNode: before, enrolmentID: bridge.EnrolmentID(br),
	}, nil
}

func lockRefs(locks []*ent.Lock) []LockRef {
	out := make([]LockRef, len(locks))
	for i, lk := range locks {
		out[i] = LockRef{ID: lk.ID, Address: lk.Address, Generation: lk.Generation}
	}
	return out
}

// outOfSync returns the ids of the locks whose slots the bridge must be sent again: their digest in the bridge's report differs from that
// of the server's rows, or the bridge must report a removal again that its last report proves only now. It leaves out locks without a
// report.
func outOfSync(locks []*ent.Lock, rows map[string][]*ent.Slot, reports []LockReport) []string {
	digests := make(map[string]slot.Digest, len(reports))
	for _, h := range reports {
		digests[h.Address] = h.Digest
	}
	var out []string
	for _, lk := range locks {
		theirs, driven := digests[lk.Address]
		proven := func(s *ent.Slot) bool { return !s.Present && serverSlotOf(s, lk).IsUnreleased() }
		if driven && (theirs != digestOf(rows[lk.ID]) || slices.ContainsFunc(rows[lk.ID], proven)) {
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

// digestOf returns the server's digest of a lock's slots, to compare with the bridge's.
func digestOf(rows []*ent.Slot) slot.Digest {
	sum := make([]slot.DigestRow, 0, len(rows))
	for _, s := range rows {
		if concernsBridge(s) {
			sum = append(sum, slot.DigestRow{Slot: uint32(s.Number), Generation: uint64(s.Generation), Observed: observedOf(s)})
		}
	}
	return slot.LockDigest(sum)
}

// concernsBridge reports whether the bridge of a lock must know a slot: a code is desired there, or the bridge may have received one. A
// code that was cleared before it was sent concerns no bridge.
func concernsBridge(s *ent.Slot) bool {
	return s.Present || s.SeenGeneration > 0 || s.Claimant != "" || s.Inherited
}
