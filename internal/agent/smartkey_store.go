package agent

import (
	"go.etcd.io/bbolt"

	"latchkey.dev/internal/agent/doorkeeper"
)

var (
	keysBucket = []byte("smartkey")
	heldKey    = []byte("held")
)

func (s *store) keys() (h doorkeeper.Held, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error { return s.loadKeys(tx, &h) })
	return h, err
}

func (s *store) loadKeys(tx *bbolt.Tx, h *doorkeeper.Held) error {
	sealed := tx.Bucket(keysBucket).Get(heldKey)
	if sealed == nil {
		return nil
	}
	return s.open(keysBucket, heldKey, sealed, h)
}

// setKeys changes what is kept. It is on the disk when setKeys returns.
func (s *store) setKeys(change func(*doorkeeper.Held)) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		var h doorkeeper.Held
		if err := s.loadKeys(tx, &h); err != nil {
			return err
		}
		change(&h)
		return s.put(tx, keysBucket, heldKey, h)
	})
}
