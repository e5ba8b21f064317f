package phone_test

import (
	"testing"
	"time"

	entissuerkey "latchkey.dev/ent/issuerkey"
	entkeyset "latchkey.dev/ent/keyset"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/phone"
)

// bridge makes a bridge that was seen now.
func (d *desk) bridge(id string) {
	d.t.Helper()
	d.change(func(tx *db.Tx) error {
		return tx.Bridge.Create().SetID(id).SetPropertyID(house).SetName(id).SetLastSeenAt(tx.Now()).SetCreatedAt(tx.Now()).Exec(tx.Context())
	})
}

// says has a bridge say which key set it holds.
func (d *desk) says(id string, version int64) {
	d.t.Helper()
	d.change(func(tx *db.Tx) error {
		return tx.Bridge.UpdateOneID(id).SetKeySetVersion(version).SetLastSeenAt(tx.Now()).Exec(tx.Context())
	})
}

func TestAnIssuerKeyIsReplacedStepByStep(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		present, away := d.verifier(), d.verifier()
		d.bridge("brg_here")
		d.says("brg_here", 1)
		first := present.currentKey()
		d.change(func(tx *db.Tx) error {
			_, err := phone.Rotate(tx, d.keys, house, false)
			return err
		})
		if err := d.db.Write(t.Context(), func(tx *db.Tx) error { _, err := phone.Rotate(tx, d.keys, house, false); return err }); !fault.Has(err, fault.InUse) {
			t.Errorf("a second replacement meanwhile: %v", err)
		}
		present.follow()
		if n := len(present.keys.Keys()); n != 2 || present.currentKey() != first {
			t.Fatalf("announced: %d keys, %s signs", n, present.currentKey())
		}
		d.pass(11 * time.Minute)
		if d.reconcile() {
			t.Error("the next step comes although the bridge has not said that it has the key")
		}
		d.says("brg_here", int64(present.keys.Version()))
		if due, _, err := phone.Inspect(d.db.View(t.Context()), house); err != nil || !due {
			t.Errorf("the bridge has said it, and nothing is due: %v", err)
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
			t.Fatalf("the old key has left while its tokens serve: %d keys", n)
		}
		d.pass(2 * time.Hour)
		d.reconcile()
		present.follow()
		if n := len(present.keys.Keys()); n != 1 || present.currentKey() != second {
			t.Fatalf("at the end: %d keys, %s signs", n, present.currentKey())
		}
		away.follow()
		if away.currentKey() != second || away.list.Number() != present.list.Number() {
			t.Errorf("a verifier that was away: %s signs, list %d", away.currentKey(), away.list.Number())
		}
		left := d.db.Read().IssuerKey.Query().Where(entissuerkey.PropertyID(house), entissuerkey.SealedNotNil()).AllX(t.Context())
		if len(left) != 1 || left[0].KeyID != second {
			t.Errorf("%d private keys are kept", len(left))
		}
		if n := d.db.Read().KeySet.Query().Where(entkeyset.PropertyID(house)).CountX(t.Context()); n != 4 {
			t.Errorf("%d key sets are kept", n)
		}
	})
}

// TestANewKeyWaitsForBridges announces key set 2 at noon and looks at the bridges later.
func TestANewKeyWaitsForBridges(t *testing.T) {
	noon := start
	version := func(v int64) *int64 { return &v }
	seen := func(after time.Duration) *time.Time { at := noon.Add(after); return &at }
	const hour = time.Hour
	for _, tc := range []struct {
		what    string
		bridges []phone.Follower
		after   time.Duration
		want    bool
	}{
		{"no bridge", nil, 0, true},
		{"all have said so", []phone.Follower{{seen(0), version(2)}, {seen(0), version(2)}}, time.Second, true},
		{"one holds more than was ever made", []phone.Follower{{seen(0), version(2)}, {seen(0), version(4)}}, time.Second, false},
		{"one holds more, for four days", []phone.Follower{{seen(96 * hour), version(4)}}, 96 * hour, true},
		{"one has not", []phone.Follower{{seen(0), version(2)}, {seen(hour), version(1)}}, hour, false},
		{"one has said nothing", []phone.Follower{{seen(0), nil}}, hour, false},
		{"one has no keys yet", []phone.Follower{{seen(0), version(0)}}, hour, false},
		{"one knows no SmartKeys", []phone.Follower{{seen(0), version(-1)}, {seen(0), version(2)}}, 0, true},
		{"one never connected", []phone.Follower{{nil, nil}}, 0, true},
		{"away for less than four days", []phone.Follower{{seen(-48 * hour), version(1)}}, 47 * hour, false},
		{"away for four days", []phone.Follower{{seen(-48 * hour), version(1)}}, 48 * hour, true},
		{"here, and refusing, for less than four days", []phone.Follower{{seen(95 * hour), version(1)}}, 95 * hour, false},
		{"here, and refusing, for four days", []phone.Follower{{seen(96 * hour), version(1)}}, 96 * hour, true},
	} {
		if got := phone.Followed(tc.bridges, 2, noon, noon.Add(tc.after)); got != tc.want {
			t.Errorf("%s: may sign: %v, want %v", tc.what, got, tc.want)
		}
	}
}

func TestABridgeThatIsAwayHoldsARotationUpForFourDays(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		d.bridge("brg_away")
		d.says("brg_away", 1)
		v := d.verifier()
		first := v.currentKey()
		d.change(func(tx *db.Tx) error {
			_, err := phone.Rotate(tx, d.keys, house, false)
			return err
		})
		d.pass(95 * time.Hour)
		d.reconcile() // a new list, as it is old
		if v.follow(); v.currentKey() != first {
			t.Error("the new key signs although a bridge does not know it")
		}
		d.pass(time.Hour)
		d.reconcile()
		if v.follow(); v.currentKey() == first {
			t.Error("the new key waits for ever")
		}
	})
}
