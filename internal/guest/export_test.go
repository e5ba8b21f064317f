package guest

import (
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// WorkOf returns how many persons a search decrypts and compares.
func WorkOf(tx *db.Tx, keys *keyring.Ring, q Search) (int, error) {
	rows, err := q.withNumber(tx)
	if err != nil {
		return 0, err
	}
	_, work, err := q.matches(tx, keys, rows)
	return work, err
}
