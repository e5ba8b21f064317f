package partner

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// testKeys is a keyring over the database with a key-encryption key of its own.
func testKeys(t *testing.T, d *db.DB) *keyring.Ring {
	t.Helper()
	kek, err := keyring.NewKEK()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.Open(t.Context(), keyring.Source{Keys: keyring.KEKs{kek}}, db.KeyStore{DB: d})
	if err != nil {
		t.Fatal(err)
	}
	return ring
}
