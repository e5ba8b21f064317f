package mobilekey_test

import (
	"slices"
	"testing"
	"time"

	entkeystatus "latchkey.dev/ent/keystatus"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/smartkey"
	"latchkey.dev/internal/test/dbtest"
)

// verifier follows key sets and lists as a bridge does.
type verifier struct {
	d    *fixture
	keys smartkey.KeySet
	list smartkey.List
}

func (d *fixture) verifier() *verifier {
	d.t.Helper()
	p, err := mobilekey.PublishedSince(d.db.View(d.t.Context()), propertyID, 0, 0)
	d.must(err)
	if len(p.KeySets) != 1 {
		d.t.Fatalf("a verifier without a key set gets %d", len(p.KeySets))
	}
	v := &verifier{d: d}
	v.keys, err = smartkey.PinKeySet(p.KeySets[0], propertyID)
	d.must(err)
	v.list, err = v.keys.OpenList(p.List)
	d.must(err)
	return v
}

// follow takes everything that was published since.
func (v *verifier) follow() {
	v.d.t.Helper()
	p, err := mobilekey.PublishedSince(v.d.db.View(v.d.t.Context()), propertyID, v.keys.Version(), v.list.Number())
	v.d.must(err)
	for _, raw := range p.KeySets {
		v.keys, err = v.keys.Advance(raw)
		v.d.must(err)
	}
	if len(p.List) > 0 {
		v.list, err = v.keys.AdvanceList(v.list, p.List)
		v.d.must(err)
	}
}

func (v *verifier) currentKey() string {
	k, err := v.keys.Current()
	v.d.must(err)
	return k.Key.KeyID().String()
}

func TestRotateAtOnce(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		v := d.verifier()
		first := v.currentKey()
		for range 12 { // more than one answer contains
			d.change(func(tx *db.Tx) error {
				_, err := mobilekey.Rotate(tx, d.keys, propertyID, true)
				return err
			})
		}
		p, err := mobilekey.PublishedSince(d.db.View(t.Context()), propertyID, v.keys.Version(), v.list.Number())
		d.must(err)
		if len(p.KeySets) != 8 || p.Version != 13 {
			t.Errorf("%d key sets at once, up to %d", len(p.KeySets), p.Version)
		}
		for _, raw := range p.KeySets {
			v.keys, err = v.keys.Advance(raw)
			d.must(err)
		}
		v.follow()
		if n := len(v.keys.Keys()); n != 1 || v.currentKey() == first || v.keys.Version() != 13 {
			t.Errorf("%d keys, version %d", n, v.keys.Version())
		}
	})
}

func TestUnchangedListsAreRenewed(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		v := d.verifier()
		if v.list.Number() == 0 || v.list.Size() < 1024 {
			t.Fatalf("the first list: number %d, %d indexes", v.list.Number(), v.list.Size())
		}
		if d.reconcile() {
			t.Error("a new list although nothing changed")
		}
		before := v.list.Number()
		for range 5 {
			d.pass(61 * time.Minute)
			due, _, err := mobilekey.Inspect(d.db.View(t.Context()), propertyID)
			d.must(err)
			if !due || !d.reconcile() {
				t.Error("no new list although the list is old")
			}
		}
		v.follow()
		if v.list.Number() != before+5 || !v.list.IssuedAt().Equal(d.clock.Now()) {
			t.Errorf("list %d of %v", v.list.Number(), v.list.IssuedAt())
		}
	})
}

// TestListNumbersSkipThoseOfABridge: the database was restored and is at list 1, while a bridge holds list 600. The bridge would
// refuse every list up to 600.
func TestListNumbersSkipThoseOfABridge(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		v := d.verifier()
		own := int64(v.list.Number())
		holds := func(id string, number, listed, revoked int64) {
			d.change(func(tx *db.Tx) error {
				return tx.KeyStatus.Create().SetID(id).SetPropertyID(propertyID).SetNumber(number).SetPhoneID("phn_1").SetGrantID("grt_1").SetKeyGeneration(1).
					SetLockIds([]string{"lck_1"}).SetSince(start).SetEndsAt(start.Add(time.Hour)).SetListNumber(listed).SetRevokedList(revoked).Exec(tx.Context())
			})
		}
		dbtest.Insert(t, d.db, "phones", dbtest.Values{"id": "phn_1", "property_id": propertyID})
		dbtest.Insert(t, d.db, "grants", dbtest.Values{"id": "grt_1", "property_id": propertyID})
		holds("kst_good", 1, own, 0)
		holds("kst_gone", 2, own, own)
		holds("kst_new", 3, 0, 0)
		report := func(held int64) {
			d.change(func(tx *db.Tx) error { return mobilekey.SkipListNumbers(tx, d.keys, propertyID, held) })
			v.follow()
		}
		for _, held := range []int64{own - 1, 1 << 53} { // the last one is implausible
			if report(held); int64(v.list.Number()) != own {
				t.Fatalf("a bridge holds %d: list %d", held, v.list.Number())
			}
		}
		if report(own); int64(v.list.Number()) != own+1 {
			t.Errorf("a bridge holds another list %d: list %d", own, v.list.Number())
		}
		if report(600); v.list.Number() != 601 {
			t.Errorf("list %d", v.list.Number())
		}
		var got [][2]int64
		for _, s := range d.db.View(t.Context()).KeyStatus.Query().Order(entkeystatus.ByID()).AllX(t.Context()) {
			got = append(got, [2]int64{s.ListNumber, s.RevokedList})
		}
		if want := [][2]int64{{601, 601}, {601, 0}, {0, 0}}; !slices.Equal(got, want) {
			t.Errorf("waits for %v, want %v", got, want)
		}
		d.pass(61 * time.Minute)
		d.reconcile()
		if v.follow(); v.list.Number() != 602 {
			t.Errorf("the next list: %d", v.list.Number())
		}
	})
}
