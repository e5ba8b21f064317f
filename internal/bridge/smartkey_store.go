package bridge

import (
	"time"

	"go.etcd.io/bbolt"
)

var (
	keysBucket = []byte("smartkey")
	heldKey    = []byte("held")
)

// heldKeys is what a bridge keeps of SmartKeys, docs/smartkey.md section 15. Nonces are not among it: they do not outlive
// the process that drew them.
type heldKeys struct {
	KeySet []byte                   `json:"keySet,omitempty"` // signed
	List   []byte                   `json:"list,omitempty"`   // signed
	Rules  map[string]time.Duration `json:"rules,omitempty"`  // the age a list may have, by address
	Anchor anchor                   `json:"anchor,omitzero"`
}

func (s *store) keys() (h heldKeys, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error { return s.loadKeys(tx, &h) })
	return h, err
}

func (s *store) loadKeys(tx *bbolt.Tx, h *heldKeys) error {
	sealed := tx.Bucket(keysBucket).Get(heldKey)
	if sealed == nil {
		return nil
	}
	return s.open(keysBucket, heldKey, sealed, h)
}

// setKeys changes what is kept. It is on the disk when setKeys returns.
func (s *store) setKeys(change func(*heldKeys)) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		var h heldKeys
		if err := s.loadKeys(tx, &h); err != nil {
			return err
		}
		change(&h)
		return s.put(tx, keysBucket, heldKey, h)
	})
}
