package audit_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
)

// Old entries are deleted from the beginning, and the rest still verifies.
func TestOldEntriesAreDeleted(t *testing.T) {
	each(t, func(x *fixture) {
		remove := func(before time.Time, most int) (n int) {
			x.write(func(tx *db.Tx) (err error) {
				n, err = audit.DeleteOld(tx, x.keys, before, most)
				return err
			})
			return n
		}
		x.append(hotel, 5)
		x.clock.Advance(24 * time.Hour)
		x.append(hotel, 3)
		day := noon.Add(12 * time.Hour)
		for _, want := range []int{3, 2, 0} {
			if n := remove(day, 3); n != want {
				x.Errorf("deleted %d, want %d", n, want)
			}
		}
		if r := x.verify(hotel, 2); r != (audit.Report{First: 6, Last: 8, Verified: 3}) {
			x.Errorf("the rest: %+v", r)
		}
		if n := remove(day.Add(48*time.Hour), 100); n != 3 {
			x.Errorf("deleted %d of the rest", n)
		}
		if r := x.verify(hotel, 2); r != (audit.Report{Last: 8}) {
			x.Errorf("nothing left: %+v", r)
		}
		x.append(hotel, 1)
		if r := x.verify(hotel, 2); r != (audit.Report{First: 9, Last: 9, Verified: 1}) {
			x.Errorf("after it: %+v", r)
		}
	})
}

// A chain that begins with an entry of a clock that was ahead waits until that entry is old. The entries of other chains do not wait for it.
func TestEntryOfTheFutureHoldsBackItsOwnChainOnly(t *testing.T) {
	each(t, func(x *fixture) {
		remove := func(before time.Time) (n int) {
			x.write(func(tx *db.Tx) (err error) {
				n, err = audit.DeleteOld(tx, x.keys, before, 100)
				return err
			})
			return n
		}
		x.clock.Advance(24 * time.Hour)
		x.append(hotel, 1)
		x.clock.Advance(-24 * time.Hour)
		x.append(hotel, 2)
		x.clock.Advance(time.Hour)
		x.append(hostel, 3)
		for i, want := range []int{3, 0} {
			if n := remove(noon.Add(12 * time.Hour)); n != want {
				x.Errorf("call %d deleted %d, want %d", i, n, want)
			}
		}
		if n := remove(noon.Add(25 * time.Hour)); n != 3 {
			x.Errorf("deleted %d of the chain once its first entry is old", n)
		}
	})
}

// Repeated calls delete from all chains. An entry that cannot be decoded holds back its own chain only.
func TestOldEntriesOfAllChainsAreDeleted(t *testing.T) {
	each(t, func(x *fixture) {
		remove := func(most int) (n int) {
			x.write(func(tx *db.Tx) (err error) {
				n, err = audit.DeleteOld(tx, x.keys, noon.Add(12*time.Hour), most)
				return err
			})
			return n
		}
		x.append(hotel, 4)
		x.append(hostel, 3)
		x.write(func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), `UPDATE audit_entries SET subjects = '{"a":1}' WHERE property_id = $1 AND seq = 3`, hotel)
			return err
		})
		for i, want := range []int{2, 3, 0} {
			if n := remove(4); n != want {
				x.Errorf("call %d deleted %d, want %d", i, n, want)
			}
		}
		if r := x.verify(hostel, 100); r != (audit.Report{Last: 3}) {
			x.Errorf("the chain without damage: %+v", r)
		}
		if r := x.verify(hotel, 100); r.Problem != audit.Changed || r.At != 3 {
			x.Errorf("the damaged chain: %+v", r)
		}
	})
}

// A gap does not disappear when the entries around it are deleted because of their age.
func TestDeletionKeepsDamageVisible(t *testing.T) {
	each(t, func(x *fixture) {
		x.append(hotel, 4)
		x.write(func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), "DELETE FROM audit_entries WHERE property_id = $1 AND seq = 2", hotel)
			return err
		})
		x.write(func(tx *db.Tx) error { _, err := audit.DeleteOld(tx, x.keys, noon.Add(time.Hour), 3); return err })
		if r := x.verify(hotel, 100); r.Problem != audit.HeadLost {
			x.Errorf("%+v", r)
		}
	})
}
