package phone_test

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/phone"
	"latchkey.dev/internal/smartkey"
)

// TestWhatBridgesTellOfPhonesIsNoted has a bridge tell, late, of openings with a phone's key: the phone is known by it, and the
// door noted as opened on what it holds now.
func TestWhatBridgesTellOfPhonesIsNoted(t *testing.T) {
	withStay(t, func(t *testing.T, d *desk) {
		l := d.link()
		look, err := phone.LookAt(d.db.View(t.Context()), d.keys, l)
		d.must(err)
		row, err := d.enrol(l, d.statement(d.phone(), look.Challenge, smartkey.Enrol))
		d.must(err)
		d.bridge("brg_here")
		holds := func(id string, number int64, ends time.Time, locks ...string) {
			d.change(func(tx *db.Tx) error {
				return tx.KeyStatus.Create().SetID(id).SetPropertyID(house).SetNumber(number).SetPhoneID(row.ID).SetGrantID("grt_1").SetKeyGeneration(1).
					SetLockIds(locks).SetEndsAt(ends).Exec(tx.Context())
			})
		}
		d.change(func(tx *db.Tx) error {
			return tx.Lock.Create().SetID("lck_1").SetPropertyID(house).SetBridgeID("brg_here").SetAddress("front").SetName("front").SetKind("lock").
				SetCapabilities(slot.Capabilities{}).SetStatus(lock.Status{}).SetCreatedAt(start).Exec(tx.Context())
		})
		holds("kst_now", 1, start.Add(time.Hour), "lck_1")
		holds("kst_over", 2, start, "lck_1")
		holds("kst_elsewhere", 3, start.Add(time.Hour), "lck_2")
		tell := func(h lock.Happened) lock.Happened {
			batch := []lock.Happened{h}
			d.change(func(tx *db.Tx) error {
				if err := phone.Claim(tx, house, batch); err != nil {
					return err
				}
				return phone.Happened(tx, house, "brg_here", batch)
			})
			return batch[0]
		}
		opened := func() (out []string) {
			for _, s := range d.db.Read().KeyStatus.Query().AllX(t.Context()) {
				if slices.Contains(s.OpenedIds, "lck_1") && slices.Contains(s.CheckedIds, "lck_1") {
					out = append(out, s.ID)
				}
			}
			return out
		}
		for _, h := range []lock.Happened{
			{Address: "front", Kind: "denied", Phone: row.KeyID}, {Address: "front", Kind: "opened", Phone: "0011223344556677"},
			{Address: "front", Kind: "opened"}, {Address: "back", Kind: "opened", Phone: row.KeyID},
		} {
			got := tell(h)
			if known := h.Phone == row.KeyID; (got.Actor == "phone:"+row.ID) != known || !known && got.Actor != "" {
				t.Errorf("%+v is of %q", h, got.Actor)
			}
			if n := opened(); len(n) != 0 {
				t.Errorf("after %+v: %v", h, n)
			}
		}
		for range 2 {
			tell(lock.Happened{Address: "front", Kind: "opened", Phone: row.KeyID})
		}
		if got := opened(); !slices.Equal(got, []string{"kst_now"}) {
			t.Errorf("noted on %v", got)
		}
	})
}
