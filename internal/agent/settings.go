package agent

import (
	"bytes"
	"encoding/json"
	"errors"

	"go.etcd.io/bbolt"
)

var settingsKey = []byte("settings")

// saveSettings stores the driver's settings if they have changed. nil keeps the stored ones.
func (s *store) saveSettings(settings []byte) error {
	if settings == nil {
		return nil
	}
	stored, err := s.settings()
	if err == nil && bytes.Equal(stored, settings) {
		return nil
	}
	return s.db.Update(func(tx *bbolt.Tx) error { return s.putSealed(tx, metaBucket, settingsKey, json.RawMessage(settings)) })
}

// settings returns the stored settings of the driver; nil if there are none.
func (s *store) settings() (settings json.RawMessage, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		sealed := tx.Bucket(metaBucket).Get(settingsKey)
		if sealed == nil {
			return nil
		}
		return s.openSealed(metaBucket, settingsKey, sealed, &settings)
	})
	return settings, err
}

// LastSettings returns the driver settings of the last run on a directory; nil if none are stored. It fails if the directory has no store,
// or with [ErrInUse] if a bridge runs.
func LastSettings(dir string) (settings []byte, err error) {
	if err := CheckStored(dir); err != nil {
		return nil, err
	}
	st, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return st.settings()
}
