package keyring_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place holds the key file and the data of one installation.
type place struct{ key, data string }

func newPlace(t *testing.T) place {
	dir := t.TempDir()
	return place{filepath.Join(dir, "key"), filepath.Join(dir, "data")}
}

func (p place) source() keyring.Source { return keyring.Source{File: p.key, DataDir: p.data} }

func open(t *testing.T, src keyring.Source, store keyring.Store) *keyring.Ring {
	t.Helper()
	r, err := keyring.Open(t.Context(), src, store)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seal(t *testing.T, r *keyring.Ring, property, purpose, text string) []byte {
	t.Helper()
	if err := r.EnsureKey(t.Context(), property); err != nil {
		t.Fatal(err)
	}
	sealed, err := r.Seal(t.Context(), property, purpose, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestSecretsOpenOnlyForTheirPropertyAndPurpose(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store, p := db.KeyStore{DB: d}, newPlace(t)
		r := open(t, p.source(), store)
		sealed := seal(t, r, "prp_a", "pin/slt_1", "004711")
		if err := r.EnsureKey(t.Context(), "prp_b"); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(sealed, []byte("004711")) {
			t.Error("not sealed")
		}
		again := open(t, p.source(), store) // after a restart
		for _, ring := range []*keyring.Ring{r, again} {
			if got, err := ring.Open(t.Context(), "prp_a", "pin/slt_1", sealed); err != nil || string(got) != "004711" {
				t.Errorf("Open = %q, %v", got, err)
			}
		}
		if !bytes.Equal(r.MAC("token", "x"), again.MAC("token", "x")) {
			t.Error("keyed hashes differ after a restart")
		}
		flipped := bytes.Clone(sealed)
		flipped[len(flipped)-1] ^= 1
		for name, try := range map[string]func() ([]byte, error){
			"another purpose":  func() ([]byte, error) { return r.Open(t.Context(), "prp_a", "pin/slt_2", sealed) },
			"another property": func() ([]byte, error) { return r.Open(t.Context(), "prp_b", "pin/slt_1", sealed) },
			"no property":      func() ([]byte, error) { return r.Open(t.Context(), keyring.System, "pin/slt_1", sealed) },
			"a changed bit":    func() ([]byte, error) { return r.Open(t.Context(), "prp_a", "pin/slt_1", flipped) },
			"nothing":          func() ([]byte, error) { return r.Open(t.Context(), "prp_a", "pin/slt_1", nil) },
		} {
			got, err := try()
			if err == nil {
				t.Errorf("%s: opened %q", name, got)
			} else if strings.Contains(err.Error(), "004711") {
				t.Errorf("%s: the error tells the secret", name)
			}
		}
	})
}

func TestSealWithoutAKeyInsideAWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, newPlace(t).source(), db.KeyStore{DB: d})
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			if _, err := r.Seal(tx.Context(), "prp_new", "x", nil); err == nil {
				t.Error("sealed with no data key")
			}
			_, err := r.Seal(tx.Context(), keyring.System, "x", nil)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestConcurrentEnsureKeyCreatesOneKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store, p := db.KeyStore{DB: d}, newPlace(t)
		open(t, p.source(), store)
		rings := make([]*keyring.Ring, 4)
		for i := range rings {
			rings[i] = open(t, p.source(), store)
		}
		sealed := make([][]byte, len(rings))
		var wg sync.WaitGroup
		for i, r := range rings {
			wg.Go(func() {
				if err := r.EnsureKey(t.Context(), "prp_a"); err != nil {
					t.Error(err)
					return
				}
				var err error
				if sealed[i], err = r.Seal(t.Context(), "prp_a", "x", []byte{byte(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range sealed {
			if got, err := rings[(i+1)%len(rings)].Open(t.Context(), "prp_a", "x", sealed[i]); err != nil || got[0] != byte(i) {
				t.Errorf("ring %d sealed with a key of its own: %v", i, err)
			}
		}
	})
}

func TestMACDependsOnKindAndValues(t *testing.T) {
	r := open(t, newPlace(t).source(), memory{})
	seen := map[string]string{}
	for _, in := range [][]string{{"pin", "1234"}, {"token", "1234"}, {"pin", "12", "34"}, {"pin", "1", "234"}, {"pin1", "234"}, {"pin", "1234", ""}} {
		mac := string(r.MAC(in[0], in[1:]...))
		if len(mac) != 32 {
			t.Errorf("%v: %d bytes", in, len(mac))
		}
		if other, ok := seen[mac]; ok {
			t.Errorf("%q and %s have the same hash", in, other)
		}
		seen[mac] = fmt.Sprintf("%q", in)
	}
	other := open(t, newPlace(t).source(), memory{})
	if bytes.Equal(r.MAC("pin", "1234"), other.MAC("pin", "1234")) {
		t.Error("two installations hash alike")
	}
}

func TestRotation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store, p := db.KeyStore{DB: d}, newPlace(t)
		r := open(t, p.source(), store)
		sealed := seal(t, r, "prp_a", "x", "secret")
		mac := r.MAC("x", "y")
		old, err := os.ReadFile(p.key)
		if err != nil {
			t.Fatal(err)
		}
		n, err := keyring.RotateFile(t.Context(), p.key, store)
		if err != nil || n != 3 { // the property's, the system's, the hash key
			t.Fatalf("sealed %d keys again, %v", n, err)
		}
		after := open(t, p.source(), store)
		if got, err := after.Open(t.Context(), "prp_a", "x", sealed); err != nil || string(got) != "secret" {
			t.Errorf("after the rotation: %q, %v", got, err)
		}
		if !bytes.Equal(after.MAC("x", "y"), mac) {
			t.Error("keyed hashes changed")
		}
		oldKeys, err := keyring.ParseKEKs(string(old))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keyring.Open(t.Context(), keyring.Source{Keys: oldKeys}, store); err == nil {
			t.Error("the old key still opens the database")
		}
		if st, err := os.Stat(p.key); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("key file %v, %v", st.Mode(), err)
		}
	})
}

func TestRotationRefusesTheKeyOfAnotherDatabase(t *testing.T) {
	store, p := memory{}, newPlace(t)
	open(t, newPlace(t).source(), store)
	if _, err := keyring.CreateFile(p.key, ""); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(p.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.RotateFile(t.Context(), p.key, store); err == nil {
		t.Error("rotated")
	}
	if after, err := os.ReadFile(p.key); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed, %v", err)
	}
}

func TestInterruptedRotationIsFinished(t *testing.T) {
	store, p := memory{}, newPlace(t)
	r := open(t, p.source(), store)
	sealed := map[string][]byte{}
	for i := range 5 {
		id := fmt.Sprintf("prp_%d", i)
		sealed[id] = seal(t, r, id, "x", id)
	}
	broken := failing{store, 3}
	if _, err := keyring.RotateFile(t.Context(), p.key, &broken); err == nil {
		t.Fatal("the failure went unnoticed")
	}
	check := func(when string) {
		t.Helper()
		now := open(t, p.source(), store)
		for id, s := range sealed {
			if got, err := now.Open(t.Context(), id, "x", s); err != nil || string(got) != id {
				t.Errorf("%s: %s: %q, %v", when, id, got, err)
			}
		}
	}
	check("half way")
	if n, err := keyring.RotateFile(t.Context(), p.key, store); err != nil || n != 4 {
		t.Errorf("the second run sealed %d, %v; want the 4 that were left", n, err)
	}
	check("finished")
}

// memory is a Store in memory.
type memory map[string][]byte

func (m memory) LoadKey(_ context.Context, id string) ([]byte, error) { return m[id], nil }

func (m memory) CreateKey(_ context.Context, id string, sealed []byte) ([]byte, error) {
	if m[id] == nil {
		m[id] = sealed
	}
	return m[id], nil
}

func (m memory) KeyIDs(context.Context) ([]string, error) {
	var ids []string
	for id := range m {
		ids = append(ids, id)
	}
	return ids, nil
}

func (m memory) ReplaceKey(_ context.Context, id string, old, sealed []byte) error {
	if !bytes.Equal(m[id], old) {
		return fmt.Errorf("changed")
	}
	m[id] = sealed
	return nil
}

// failing is a Store that fails after some replacements.
type failing struct {
	memory
	left int
}

func (f *failing) ReplaceKey(ctx context.Context, id string, old, sealed []byte) error {
	if f.left--; f.left < 0 {
		return fmt.Errorf("disk full")
	}
	return f.memory.ReplaceKey(ctx, id, old, sealed)
}
