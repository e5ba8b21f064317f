package reservation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/privacy"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/watch"
)

const day = 24 * time.Hour

// retire removes the stays that are due, and returns how many, and the reasons of the blocked ones.
func (h *testProperty) retire() (removed int, blocked []reservation.Block) {
	h.t.Helper()
	periods, err := h.service().Retentions(h.db.View(h.ctx()))
	h.must(err)
	for _, period := range periods {
		n, reasons := h.retireAfter(period)
		removed, blocked = removed+n, append(blocked, reasons...)
	}
	return removed, blocked
}

func (h *testProperty) retireAfter(period reservation.Retention) (removed int, blocked []reservation.Block) {
	h.t.Helper()
	for after := (*reservation.DueStay)(nil); ; {
		due, err := h.service().DueStays(h.db.View(h.ctx()), period, after, 1)
		h.must(err)
		if len(due) == 0 {
			return removed, blocked
		}
		after = &due[0]
		var n int
		var reasons map[reservation.Block]int
		h.write(func(tx *db.Tx) (err error) {
			n, reasons, err = h.service().Remove(tx, due[0].PropertyID, []string{due[0].ID})
			return err
		})
		removed, blocked = removed+n, append(blocked, slices.Collect(maps.Keys(reasons))...)
	}
}

// dump returns the rows of all tables.
func dump(ctx context.Context, t *testing.T, d *db.DB) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, m := range tables.Tables {
		rows, err := d.View(ctx).QueryContext(ctx, "SELECT * FROM "+m.Name)
		if err != nil {
			t.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, v := range values {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				text += fmt.Sprint(v) + " "
			}
			out[m.Name] = append(out[m.Name], text)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(out[m.Name])
	}
	return out
}

// holding lists the tables that contain a text.
func holding(all map[string][]string, text string) (found []string) {
	for name, rows := range all {
		if slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, text) }) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// pastStay is a stay that was checked in to r1 and out again, with a phone and whatever else a stay has, and the ids of its rows.
func (h *testProperty) pastStay(id string) (ids []string) {
	h.t.Helper()
	h.put(with(booking(id, "r1"), reservation.State, "started", reservation.CompanionIDs, []string{"companion-" + id}, reservation.GroupID, "group-"+id,
		reservation.ChannelNumber, "channel-"+id, reservation.PMSUpdatedAt, morning))
	h.verify("r1", "g1")
	row := h.read(id)
	grant, err := h.db.View(h.ctx()).Grant.Query().Only(h.ctx())
	h.must(err)
	phone := "phn_" + id
	insert := func(table string, values dbtest.Values) {
		values["property_id"] = h.id
		dbtest.Insert(h.t, h.db, table, values)
	}
	insert("phones", dbtest.Values{"id": phone, "reservation_id": row.ID})
	insert("phone_links", dbtest.Values{"id": "link_" + id, "reservation_id": row.ID})
	insert("acts", dbtest.Values{"id": "act_" + id, "grant_id": grant.ID, "actor": "phone:" + phone})
	insert("acts", dbtest.Values{"id": "act_staff", "actor": "staff"})
	insert("notices", dbtest.Values{"id": "ntc_" + id, "subject": row.ID, "text": "N-" + id + " arrives"})
	h.put(state(id, "processed"))
	return []string{row.ID, grant.ID, phone, "link_" + id, "act_" + id, "ntc_" + id, "N-" + id, "companion-" + id, "group-" + id, "channel-" + id, id + " "}
}

// nothingOf checks that no row contains a text of a removed stay. Only events of locks may name its grant, until they expire.
func (h *testProperty) nothingOf(all map[string][]string, ids []string) {
	h.t.Helper()
	for _, text := range ids {
		found := holding(all, text)
		if strings.HasPrefix(text, "grt_") {
			found = slices.DeleteFunc(found, func(table string) bool { return table == "events" })
		}
		if len(found) > 0 {
			h.t.Errorf("%s is still in %v", text, found)
		}
	}
}

func TestStaysAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		ids := h.pastStay("pmsid-A")
		h.verify("r1", "g1")
		h.put(with(booking("pmsid-B", "r2"), reservation.From, "2026-12-01T15:00:00Z", reservation.To, "2026-12-03T11:00:00Z"))
		h.clock.Set(time.Date(2026, 12, 24, 9, 59, 59, 0, time.UTC))
		if n, blocked := h.retire(); n != 0 || len(blocked) > 0 {
			t.Fatalf("before its time: %d removed, %v", n, blocked)
		}
		for _, text := range ids {
			if len(holding(dump(h.ctx(), t, h.db), text)) == 0 {
				t.Errorf("%s is not stored: the test searches for nothing", text)
			}
		}
		slots := len(h.slots())
		h.clock.Set(time.Date(2026, 12, 24, 10, 0, 0, 0, time.UTC))
		notified := dbtest.Notified(h.db, func() {
			if n, blocked := h.retire(); n != 1 || len(blocked) > 0 {
				t.Fatalf("%d removed, %v", n, blocked)
			}
		})
		for _, topic := range []watch.Topic{watch.Reservations, watch.Messages, watch.Notices} {
			if !slices.ContainsFunc(notified, func(k watch.Key) bool { return k.Topic == topic }) {
				t.Errorf("streams of %s are not notified: %v", topic, notified)
			}
		}
		all := dump(h.ctx(), t, h.db)
		h.nothingOf(all, ids)
		if len(holding(all, "act_staff")) != 1 || len(h.slots()) != slots || h.read("pmsid-B") == nil {
			t.Error("other rows were removed")
		}
		_, err := reservation.Find(h.db.View(h.ctx()), h.scope, nil, "pmsid-A")
		refuse(t, err, fault.ReservationNotFound)

		// The locks still work.
		h.put(with(booking("pmsid-C", "r1"), reservation.State, "started", reservation.From, "2026-12-24T01:00:00Z", reservation.To, "2026-12-30T11:00:00Z"))
		h.verify("r1", "g1")
		same(t, "doors of the next stay", []string{"g1", "r1"}, h.present(h.read("pmsid-C").ID))
	})
}

// A property may keep its stays for a shorter time than the installation, and not for a longer one.
func TestRetentionOfAProperty(t *testing.T) {
	for name, tt := range map[string]struct {
		days  int
		after time.Duration
	}{"shorter": {40, 40 * day}, "longer": {400, 60 * day}, "none": {0, 60 * day}} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				h.keep = 60 * day
				h.write(func(tx *db.Tx) error {
					_, err := property.UpdateCheckInSettings(tx, h.id, property.CheckInChange{KeepStayDays: &tt.days})
					return err
				})
				h.pastStay("pmsid-A")
				h.verify("r1", "g1")
				end := h.read("pmsid-A").ToAt
				h.clock.Set(end.Add(tt.after - time.Second))
				if n, blocked := h.retire(); n != 0 || len(blocked) > 0 {
					t.Fatalf("before its time: %d removed, %v", n, blocked)
				}
				h.clock.Set(end.Add(tt.after))
				if n, blocked := h.retire(); n != 1 || len(blocked) > 0 {
					t.Fatalf("%d removed, %v", n, blocked)
				}
				// A late change of another stay that is as old creates none.
				if !h.put(with(booking("pmsid-B", "r2"), reservation.State, "processed", reservation.From, end.Add(-day).Format(time.RFC3339), reservation.To, end.Format(time.RFC3339))).Stale {
					t.Error("a stay is stored whose retention is over")
				}
			})
		})
	}
}

// The removal of a stay deletes rows of every table whose model says so.
func TestRemovalReachesEveryTableThatNamesIt(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		h.pastStay("pmsid-A")
		h.verify("r1", "g1")
		h.clock.Set(time.Date(2026, 12, 24, 10, 0, 0, 0, time.UTC))
		reached := dbtest.TablesChangedBy(dbtest.Statements(t, nil, func() {
			if n, blocked := h.retire(); n != 1 || len(blocked) > 0 {
				t.Fatalf("%d removed, %v", n, blocked)
			}
		}))
		for _, table := range dbtest.TablesEndedBy(privacy.Stay) {
			if !slices.Contains(reached, table) {
				t.Errorf("%s says that its rows end with the stay, and only %v are changed", table, reached)
			}
		}
	})
}

func TestLatePatchesOfRemovedStays(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		h.pastStay("pmsid-A")
		h.verify("r1", "g1")
		h.clock.Advance(60 * day)
		if n, blocked := h.retire(); n != 1 {
			t.Fatalf("%d removed, %v", n, blocked)
		}
		before := fmt.Sprint(dump(h.ctx(), t, h.db))
		again := with(booking("pmsid-A", "r1"), reservation.From, "2027-01-10T15:00:00Z", reservation.To, "2027-02-20T11:00:00Z")
		for name, p := range map[string]reservation.Patch{
			"part of it":              state("pmsid-A", "canceled"),
			"a correction":            {reservation.PMSID: "pmsid-A", reservation.Owing: 0.0, reservation.PMSUpdatedAt: h.clock.Now()},
			"all of it":               booking("pmsid-A", "r1"),
			"without a time":          again,
			"not newer":               with(again, reservation.PMSUpdatedAt, morning),
			"of another stay, as old": booking("pmsid-Z", "r1"),
		} {
			s, err := h.try(p)
			if err != nil || !s.Stale || s.Row != nil {
				t.Errorf("%s: %v, stale %v, row %v", name, err, s.Stale, s.Row)
			}
		}
		if after := fmt.Sprint(dump(h.ctx(), t, h.db)); after != before {
			t.Errorf("a late patch changed the database:\n%s\n%s", before, after)
		}
		for _, year := range []string{"0001", "1900", "1999"} { // the empty date of .NET is a mistake, not a stay of the past
			_, err := h.try(with(booking("pmsid-N", "r1"), reservation.From, year+"-01-01T15:00:00Z", reservation.To, year+"-01-02T11:00:00Z"))
			if f, ok := fault.Of(err); !ok || len(f.Fields) != 2 || f.Fields[0].Reason != fault.OutOfRange {
				t.Errorf("a stay in the year %s: %v", year, err)
			}
		}
		err := h.db.Write(h.ctx(), func(tx *db.Tx) error {
			_, err := h.service().Upsert(tx, h.scope, state("pmsid-A", "canceled"), []fault.Field{{Path: "adultCount", Reason: fault.WrongType}})
			return err
		})
		if f, ok := fault.Of(err); !ok || len(f.Fields) != 1 {
			t.Errorf("a late patch with a wrong field: %v", err)
		}
		other := h.scope
		h.scope.IntegrationID = "int_other"
		if _, err := h.try(state("pmsid-A", "canceled")); fault.Has(err, fault.InvalidFields) != true {
			t.Errorf("another integration sees the tombstone: %v", err)
		}
		h.scope = other
		if s := h.put(with(again, reservation.PMSUpdatedAt, h.clock.Now())); s.Stale || s.Row == nil {
			t.Fatal("an id that the PMS uses again is refused")
		}
		if n := h.db.View(h.ctx()).Tombstone.Query().CountX(h.ctx()); n != 0 {
			t.Errorf("%d tombstones remain", n)
		}
		h.clock.Advance(4 * 365 * day)
		if n, _ := h.retire(); n != 1 {
			t.Errorf("%d removed", n)
		}
		h.clock.Advance(reservation.TombstoneRetention + time.Second)
		h.write(func(tx *db.Tx) error {
			n, err := reservation.DeleteTombstones(tx, tx.Now().Add(-reservation.TombstoneRetention), 10)
			if n != 1 {
				t.Errorf("%d tombstones deleted", n)
			}
			return err
		})
	})
}
