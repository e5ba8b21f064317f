package audit

import (
	"crypto/hmac"
	"strconv"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// head is the end of a property's chain. Its keyed hash shows whether entries at the end are missing.
type head struct {
	propertyID string
	seq        int64
	hash       []byte
	cut        int64 // the last entry that was deleted because of its age; 0: none
	cutHash    []byte
	damaged    bool // the stored row was changed or deleted by another program, or deleted entries did not verify
}

// Begin stores the head of a new property's log. Without it, a log whose entries were all deleted would look like a new one.
func Begin(tx *db.Tx, keys *keyring.Ring, propertyID string) error {
	return emptyHead(propertyID).store(tx, keys)
}

// emptyHead returns the head of a log without entries.
func emptyHead(propertyID string) head {
	return head{propertyID: propertyID, hash: []byte{}, cutHash: []byte{}}
}

// loadHead returns the head of a property, marked as damaged if its keyed hash is wrong. If none is stored, it returns one that is damaged,
// except for a property from before headsSince without entries: see replaceHead.
func loadHead(tx *db.Tx, keys *keyring.Ring, propertyID string) (head, error) {
	row, found, err := selectHead(tx, propertyID)
	if err != nil {
		return head{}, err
	}
	if !found {
		return replaceHead(tx, propertyID)
	}
	h := head{propertyID: propertyID, seq: row.seq, hash: row.hash, cut: row.cut, cutHash: row.cutHash}
	h.damaged = !hmac.Equal(row.mac, h.mac(keys))
	return h, nil
}

// headsSince is when [Begin] was introduced. An older property has no head before its first entry.
var headsSince = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)

// replaceHead makes, but does not store, a head for a property that has none stored. With entries, it is a damaged head after the last one,
// because the stored head was deleted. Without entries, it is an empty head, which is damaged unless the property is from before
// headsSince.
func replaceHead(tx *db.Tx, propertyID string) (head, error) {
	h := emptyHead(propertyID)
	last, err := List(tx, propertyID, Filter{}, 0, 1)
	if err != nil {
		return h, err
	}
	if len(last) > 0 {
		h.seq, h.hash, h.damaged = last[0].Seq, last[0].hash, true
		return h, nil
	}
	made, known := id.Time(propertyID)
	h.damaged = !known || !made.Before(headsSince)
	return h, nil
}

// mac returns the keyed hash that proves that this server stored the head.
func (h head) mac(keys *keyring.Ring) []byte {
	return keys.MAC("auditHead", h.propertyID, strconv.FormatInt(h.seq, 10), string(h.hash), strconv.FormatInt(h.cut, 10), string(h.cutHash))
}

// store inserts or replaces the stored head. A damaged head is stored without a valid keyed hash, so that it stays damaged: entries are
// still appended, and [Verify] reports the damage.
func (h head) store(tx *db.Tx, keys *keyring.Ring) error {
	mac := h.mac(keys)
	if h.damaged {
		mac = []byte{}
	}
	return storeHead(tx, h.propertyID, headRow{seq: h.seq, hash: h.hash, cut: h.cut, cutHash: h.cutHash, mac: mac})
}
