package mobilekey_test

import (
	"testing"
	"time"

	entissuerkey "latchkey.dev/ent/issuerkey"
	entkeyset "latchkey.dev/ent/keyset"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mobilekey"
)

// bridge makes a bridge that was seen now.
func (d *fixture) bridge(id string) {
	d.t.Helper()
	d.change(func(tx *db.Tx) error {
		return tx.Bridge.Create().SetID(id).SetPropertyID(propertyID).SetName(id).SetLastSeenAt(tx.Now()).SetCreatedAt(tx.Now()).Exec(tx.Context())
	})
}

// says has a bridge say which key set it holds.
func (d *fixture) says(id string, version int64) {
	d.t.Helper()
	d.change(func(tx *db.Tx) error {
		return tx.Bridge.UpdateOneID(id).SetKeySetVersion(version).SetLastSeenAt(tx.Now()).Exec(tx.Context())
	})
}

func TestRotateStepByStep(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		present, away := d.verifier(), d.verifier()
		d.bridge("brg_here")
		d.says("brg_here", 1)
		first := present.currentKey()
		d.change(func(tx *db.Tx) error {
			_, err := mobilekey.Rotate(tx, d.keys, propertyID, false)
			return err
		})
		if err := d.db.Write(t.Context(), func(tx *db.Tx) error { _, err := mobilekey.Rotate(tx, d.keys, propertyID, false); return err }); !fault.Has(err, fault.InUse) {
			t.Errorf("a second replacement meanwhile: %v", err)
		}
		present.follow()
		if n := len(present.keys.Keys()); n != 2 || present.currentKey() != first {
			t.Fatalf("announced: %d keys, %s signs", n, present.currentKey())
		}
		d.pass(11 * time.Minute)
		if d.reconcile() {
			t.Error("the next step comes although the bridge has not confirmed the key")
		}
		d.says("brg_here", int64(present.keys.Version()))
		if due, _, err := mobilekey.Inspect(d.db.View(t.Context()), propertyID); err != nil || !due {
			t.Errorf("the bridge has confirmed it, and nothing is due: %v", err)
		}
		d.reconcile()
		present.follow()
		second := present.currentKey()
		if n := len(present.keys.Keys()); n != 2 || second == first {
			t.Fatalf("in use: %d keys, %s signs", n, second)
		}
		d.pass(23 * time.Hour)
		d.reconcile()
		present.follow()
		if n := len(present.keys.Keys()); n != 2 {
			t.Fatalf("the old key was removed while its tokens are valid: %d keys", n)
		}
		d.pass(2 * time.Hour)
		d.reconcile()
		present.follow()
		if n := len(present.keys.Keys()); n != 1 || present.currentKey() != second {
			t.Fatalf("at the end: %d keys, %s signs", n, present.currentKey())
		}
		away.follow()
		if away.currentKey() != second || away.list.Number() != present.list.Number() {
			t.Errorf("a verifier that was offline: %s signs, list %d", away.currentKey(), away.list.Number())
		}
		left := d.db.View(t.Context()).IssuerKey.Query().Where(entissuerkey.PropertyID(propertyID), entissuerkey.SealedNotNil()).AllX(t.Context())
		if len(left) != 1 || left[0].KeyID != second {
			t.Errorf("%d private keys are kept", len(left))
		}
		if n := d.db.View(t.Context()).KeySet.Query().Where(entkeyset.PropertyID(propertyID)).CountX(t.Context()); n != 4 {
			t.Errorf("%d key sets are kept", n)
		}
	})
}

// TestNewKeyWaitsForBridges announces key set 2 at noon and checks the bridges later.
func TestNewKeyWaitsForBridges(t *testing.T) {
	noon := start
	version := func(v int64) *int64 { return &v }
	seen := func(after time.Duration) *time.Time { at := noon.Add(after); return &at }
	const hour = time.Hour
	for _, tc := range []struct {
		what    string
		bridges []mobilekey.BridgeKeys
		after   time.Duration
		want    bool
	}{
		{"no bridge", nil, 0, true},
		{"all have confirmed", []mobilekey.BridgeKeys{{seen(0), version(2)}, {seen(0), version(2)}}, time.Second, true},
		{"one reports a version that was never issued", []mobilekey.BridgeKeys{{seen(0), version(2)}, {seen(0), version(4)}}, time.Second, false},
		{"one reports such a version for four days", []mobilekey.BridgeKeys{{seen(96 * hour), version(4)}}, 96 * hour, true},
		{"one has not confirmed", []mobilekey.BridgeKeys{{seen(0), version(2)}, {seen(hour), version(1)}}, hour, false},
		{"one has reported no version", []mobilekey.BridgeKeys{{seen(0), nil}}, hour, false},
		{"one has no keys yet", []mobilekey.BridgeKeys{{seen(0), version(0)}}, hour, false},
		{"one does not support SmartKeys", []mobilekey.BridgeKeys{{seen(0), version(-1)}, {seen(0), version(2)}}, 0, true},
		{"one never connected", []mobilekey.BridgeKeys{{nil, nil}}, 0, true},
		{"offline for less than four days", []mobilekey.BridgeKeys{{seen(-48 * hour), version(1)}}, 47 * hour, false},
		{"offline for four days", []mobilekey.BridgeKeys{{seen(-48 * hour), version(1)}}, 48 * hour, true},
		{"online without the key for less than four days", []mobilekey.BridgeKeys{{seen(95 * hour), version(1)}}, 95 * hour, false},
		{"online without the key for four days", []mobilekey.BridgeKeys{{seen(96 * hour), version(1)}}, 96 * hour, true},
	} {
		if got := mobilekey.KeyConfirmed(tc.bridges, 2, noon, noon.Add(tc.after)); got != tc.want {
			t.Errorf("%s: may sign: %v, want %v", tc.what, got, tc.want)
		}
	}
}

func TestRotationWaitsFourDaysForAnOfflineBridge(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.bridge("brg_away")
		d.says("brg_away", 1)
		v := d.verifier()
		first := v.currentKey()
		d.change(func(tx *db.Tx) error {
			_, err := mobilekey.Rotate(tx, d.keys, propertyID, false)
			return err
		})
		d.pass(95 * time.Hour)
		d.reconcile() // a new list, because the list is old
		if v.follow(); v.currentKey() != first {
			t.Error("the new key signs although a bridge does not know it")
		}
		d.pass(time.Hour)
		d.reconcile()
		if v.follow(); v.currentKey() == first {
			t.Error("the new key still does not sign after four days")
		}
	})
}
