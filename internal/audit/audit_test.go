package audit_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/dbtest"
)

const hotel, hostel = "prp_1", "prp_2"

type fixture struct {
	*testing.T
	d     *db.DB
	keys  *keyring.Ring
	clock *clock.Fixed
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func each(t *testing.T, f func(x *fixture)) {
	t.Helper()
	at := clock.At(noon)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		at.Set(noon)
		for _, p := range []string{hotel, hostel} {
			dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": p})
		}
		x := &fixture{t, d, dbtest.Keys(t, d, hotel, hostel), at}
		x.write(func(tx *db.Tx) error {
			return errors.Join(audit.Begin(tx, x.keys, hotel), audit.Begin(tx, x.keys, hostel))
		})
		f(x)
	}, dbtest.Clock(at))
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) write(f func(tx *db.Tx) error) {
	x.Helper()
	x.must(x.d.Write(x.Context(), f))
}

// append adds n entries to the log of a property.
func (x *fixture) append(propertyID string, n int) {
	x.Helper()
	for i := range n {
		x.clock.Advance(time.Second)
		x.write(func(tx *db.Tx) error {
			return audit.Append(tx, x.keys, audit.Record{
				PropertyID: propertyID, Actor: "staff:prs_1", Action: "latchkey.property.v1.LockService/UnlockLock", Subjects: []string{fmt.Sprintf("lck_%d", i)},
				From: "192.0.2.7", Reason: "guest at the door", Outcome: audit.Done,
			})
		})
	}
}

// verify verifies a whole chain in parts.
func (x *fixture) verify(propertyID string, part int) (r audit.Report) {
	x.Helper()
	total := 0
	for from := int64(0); ; from = r.Next {
		var err error
		r, err = audit.Verify(x.d.View(x.Context()), x.keys, propertyID, from, part)
		x.must(err)
		total += r.Verified
		if r.Next == 0 {
			r.Verified = total
			return r
		}
	}
}

func TestChainVerifies(t *testing.T) {
	each(t, func(x *fixture) {
		if r := x.verify(hotel, 3); r != (audit.Report{}) {
			x.Errorf("an empty log: %+v", r)
		}
		x.append(hotel, 7)
		x.append(hostel, 2)
		x.append(hotel, 1)
		for _, part := range []int{1, 3, 8, 100} {
			if r := x.verify(hotel, part); r != (audit.Report{First: 1, Last: 8, Verified: 8}) {
				x.Errorf("in parts of %d: %+v", part, r)
			}
		}
		if r := x.verify(hostel, 100); r != (audit.Report{First: 1, Last: 2, Verified: 2}) {
			x.Errorf("the other property: %+v", r)
		}
		list, err := audit.List(x.d.View(x.Context()), hotel, audit.Filter{}, 8, 3)
		x.must(err)
		if len(list) != 3 || list[0].Seq != 7 || list[2].Seq != 5 || list[0].Subjects[0] != "lck_6" || list[0].Actor != "staff:prs_1" || list[0].Outcome != audit.Done {
			x.Errorf("listed %+v", list)
		}
	})
}

// A filter selects by caller, by call or service, and by time.
func TestFilter(t *testing.T) {
	each(t, func(x *fixture) {
		begin := x.clock.Now()
		for _, r := range []audit.Record{
			{Actor: "staff:prs_1", Action: "latchkey.property.v1.LockService/UnlockLock"},
			{Actor: "staff:prs_2", Action: "latchkey.property.v1.LockService/UpdateLock"},
			{Actor: "staff:prs_1", Action: "latchkey.property.v1.SmartLockService/UnlockLock"},
			{Actor: "operator:socket", Action: "latchkey.admin.v1.OwnerService/CreateOwnerLink"},
		} {
			x.clock.Advance(time.Hour)
			r.PropertyID, r.Outcome = hotel, audit.Done
			x.write(func(tx *db.Tx) error { return audit.Append(tx, x.keys, r) })
		}
		at := func(hours int) time.Time { return begin.Add(time.Duration(hours) * time.Hour) }
		for _, c := range []struct {
			filter audit.Filter
			want   []int64
		}{
			{audit.Filter{}, []int64{4, 3, 2, 1}},
			{audit.Filter{Actor: "staff:prs_1"}, []int64{3, 1}},
			{audit.Filter{Actor: "staff:prs"}, nil},
			{audit.Filter{Action: "LockService/UnlockLock"}, []int64{1}},
			{audit.Filter{Action: "LockService"}, []int64{2, 1}},
			{audit.Filter{Action: "%"}, nil},
			{audit.Filter{Action: "OwnerService/CreateOwnerLink"}, []int64{4}},
			{audit.Filter{From: at(2), To: at(4)}, []int64{3, 2}},
			{audit.Filter{Actor: "staff:prs_1", Action: "LockService", From: at(1), To: at(2)}, []int64{1}},
		} {
			list, err := audit.List(x.d.View(x.Context()), hotel, c.filter, 0, 10)
			x.must(err)
			var got []int64
			for _, e := range list {
				got = append(got, e.Seq)
			}
			if !slices.Equal(got, c.want) {
				x.Errorf("%+v selects %v, want %v", c.filter, got, c.want)
			}
		}
	})
}

// A change whose transaction fails leaves no entry and no gap.
func TestFailedChangeLeavesNoEntry(t *testing.T) {
	each(t, func(x *fixture) {
		x.append(hotel, 1)
		err := x.d.Write(x.Context(), func(tx *db.Tx) error {
			if err := audit.Append(tx, x.keys, audit.Record{PropertyID: hotel, Outcome: audit.Done}); err != nil {
				return err
			}
			return fmt.Errorf("the disk is full")
		})
		if err == nil {
			x.Fatal("stored")
		}
		x.append(hotel, 1)
		if r := x.verify(hotel, 100); r != (audit.Report{First: 1, Last: 2, Verified: 2}) {
			x.Errorf("%+v", r)
		}
	})
}

// tampering is one way to change a log of eight entries without the key.
var tampering = map[string]func(n int64) []string{
	"delete": func(n int64) []string {
		return []string{fmt.Sprintf("DELETE FROM audit_entries WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"truncate": func(n int64) []string {
		return []string{fmt.Sprintf("DELETE FROM audit_entries WHERE property_id = 'prp_1' AND seq >= %d", n)}
	},
	"truncate with the head": func(n int64) []string {
		return []string{
			fmt.Sprintf("DELETE FROM audit_entries WHERE property_id = 'prp_1' AND seq > %d", n-1),
			fmt.Sprintf("UPDATE audit_heads SET seq = %d, hash = coalesce((SELECT hash FROM audit_entries WHERE property_id = 'prp_1' AND seq = %d), hash) WHERE property_id = 'prp_1'", n-1, n-1),
		}
	},
	"cut the beginning": func(n int64) []string {
		return []string{
			fmt.Sprintf("UPDATE audit_heads SET cut = %d, cut_hash = (SELECT hash FROM audit_entries WHERE property_id = 'prp_1' AND seq = %d) WHERE property_id = 'prp_1'", n, n),
			fmt.Sprintf("DELETE FROM audit_entries WHERE property_id = 'prp_1' AND seq <= %d", n),
		}
	},
	"swap": func(n int64) []string {
		m := n%8 + 1
		return []string{
			fmt.Sprintf("UPDATE audit_entries SET seq = 99 WHERE property_id = 'prp_1' AND seq = %d", n),
			fmt.Sprintf("UPDATE audit_entries SET seq = %d WHERE property_id = 'prp_1' AND seq = %d", n, m),
			fmt.Sprintf("UPDATE audit_entries SET seq = %d WHERE property_id = 'prp_1' AND seq = 99", m),
		}
	},
	"close the gap of a deleted entry": func(n int64) []string {
		return []string{
			fmt.Sprintf("DELETE FROM audit_entries WHERE property_id = 'prp_1' AND seq = %d", n),
			fmt.Sprintf("UPDATE audit_entries SET seq = -(seq - 1) WHERE property_id = 'prp_1' AND seq > %d", n),
			"UPDATE audit_entries SET seq = -seq WHERE property_id = 'prp_1' AND seq < 0",
		}
	},
	"actor": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET actor = 'staff:prs_2' WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"outcome": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET outcome = 'refused' WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"address": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET from_address = '192.0.2.8' WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"reason": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET reason = '' WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"action": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET action = 'x' WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"subjects": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET subjects = '[\"lck_99\"]' WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"hash": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET hash = previous WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"previous": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET previous = hash WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"move to another property": func(n int64) []string {
		return []string{fmt.Sprintf("UPDATE audit_entries SET property_id = 'prp_2' WHERE property_id = 'prp_1' AND seq = %d", n)}
	},
	"delete the head": func(int64) []string { return []string{"DELETE FROM audit_heads WHERE property_id = 'prp_1'"} },
	"delete all": func(int64) []string {
		return []string{"DELETE FROM audit_heads WHERE property_id = 'prp_1'", "DELETE FROM audit_entries WHERE property_id = 'prp_1'"}
	},
}

func TestTamperingIsFound(t *testing.T) {
	each(t, func(x *fixture) {
		rapid.Check(x.T, func(t *rapid.T) {
			x.write(func(tx *db.Tx) error {
				for _, table := range []string{"audit_entries", "audit_heads"} {
					if _, err := tx.ExecContext(tx.Context(), "DELETE FROM "+table); err != nil {
						return err
					}
				}
				return audit.Begin(tx, x.keys, hotel)
			})
			x.append(hotel, 8)
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(tampering))).Draw(t, "tampering")
			n := rapid.Int64Range(1, 8).Draw(t, "entry")
			x.write(func(tx *db.Tx) error {
				for _, s := range tampering[name](n) {
					if _, err := tx.ExecContext(tx.Context(), s); err != nil {
						return fmt.Errorf("%s: %w", s, err)
					}
				}
				return nil
			})
			if r := x.verify(hotel, 3); r.Problem == "" {
				t.Errorf("%s at entry %d is not found: %+v", name, n, r)
			}
			// The log goes on, and the damage stays visible.
			x.append(hotel, 2)
			if r := x.verify(hotel, 100); r.Problem == "" {
				t.Errorf("%s at entry %d is no longer found after two more entries: %+v", name, n, r)
			}
		})
	})
}

// An entry whose list of subjects is not JSON any more is found like any other change.
func TestEntryThatCannotBeReadIsFound(t *testing.T) {
	each(t, func(x *fixture) {
		if !x.d.SQLite() {
			return // PostgreSQL stores no text that is not JSON in a column of JSON
		}
		x.append(hotel, 6)
		x.write(func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), "UPDATE audit_entries SET subjects = '[\"lck_3\"|' WHERE property_id = 'prp_1' AND seq = 4")
			return err
		})
		if r := x.verify(hotel, 100); r.Problem != audit.Changed || r.At != 4 || r.Verified != 3 {
			x.Errorf("%+v", r)
		}
	})
}

// An entry that cannot be decoded is listed with its number. The others are listed unchanged.
func TestDamagedEntryIsListed(t *testing.T) {
	each(t, func(x *fixture) {
		x.append(hotel, 4)
		x.write(func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), `UPDATE audit_entries SET subjects = '{"a":1}' WHERE property_id = 'prp_1' AND seq = 3`)
			return err
		})
		list, err := audit.List(x.d.View(x.Context()), hotel, audit.Filter{}, 0, 3)
		x.must(err)
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprint(e.Seq, " ", e.Damaged, " ", e.Actor))
		}
		if want := []string{"4 false staff:prs_1", "3 true ", "2 false staff:prs_1"}; !slices.Equal(got, want) {
			x.Errorf("listed %q, want %q", got, want)
		}
		if r := x.verify(hotel, 100); r.Problem != audit.Changed || r.At != 3 {
			x.Errorf("verified: %+v", r)
		}
	})
}
