package reservation_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// counting counts the statements of a transaction.
type counting struct {
	entsql.ExecQuerier
	n *atomic.Int64
}

func (c counting) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.n.Add(1)
	return c.ExecQuerier.ExecContext(ctx, query, args...)
}

func (c counting) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n.Add(1)
	return c.ExecQuerier.QueryContext(ctx, query, args...)
}

type counted struct {
	entsql.Conn
	name string
}

func (d counted) Dialect() string                        { return d.name }
func (d counted) Close() error                           { return nil }
func (d counted) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

// statements counts what one change asks of the database.
func (h *testProperty) statements(f func(tx *db.Tx) error) int64 {
	h.t.Helper()
	var n atomic.Int64
	h.write(func(tx *db.Tx) error {
		tx.Client = ent.NewClient(ent.Driver(counted{entsql.Conn{ExecQuerier: counting{tx.SQL(), &n}}, h.db.Dialect()}))
		return f(tx)
	})
	return n.Load()
}

func (h *testProperty) cost(p reservation.Patch) int64 {
	h.t.Helper()
	return h.statements(func(tx *db.Tx) error {
		_, err := h.service().Upsert(tx, h.scope, p, nil)
		return err
	})
}

// BenchmarkUpsert stores confirmed stays of a room with a lock and a gate, half of them new, half changed.
func BenchmarkUpsert(b *testing.B) {
	h := open(b, "sqlite")
	fresh := h.cost(booking("first", "r1"))
	change := h.cost(with(booking("first", "r1"), reservation.Adults, 2))
	i := 0
	for b.Loop() {
		i++
		p := booking("b"+number(i/2), "r1")
		if i%2 == 1 {
			p[reservation.Adults] = i
		}
		if _, err := h.try(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(fresh), "statements/new")
	b.ReportMetric(float64(change), "statements/change")
}

// BenchmarkUpsertShared is the same from 64 callers, whose changes share commits.
func BenchmarkUpsertShared(b *testing.B) {
	h := open(b, "sqlite")
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(n.Add(1))
			p := booking("b"+number(i/2), "r1")
			p[reservation.Adults] = i
			if _, err := h.try(p); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// A change of a stay that is not checked in asks the database for little: the property with the reservation, the place,
// its doors, the row to store and its place in lists; where the guest comes within a day, also when to look at the arrival. More is a decision
// to be made, not to happen.
func TestStatements(t *testing.T) {
	later := func(changes ...any) reservation.Patch {
		return with(booking("A", "r1"), append(changes, reservation.From, "2027-01-21T15:00:00+01:00", reservation.To, "2027-01-24T11:00:00+01:00")...)
	}
	each(t, func(t *testing.T, h *testProperty) {
		for _, c := range []struct {
			name  string
			patch reservation.Patch
			most  int64
		}{
			{"new", later(), 6}, // the last: its name is indexed
			{"changed", later(reservation.Adults, 2), 5},
			{"the same again", later(reservation.Adults, 2), 3},
			{"to an unmapped space", later(reservation.SpaceID, theirs("r9")), 5},
			{"new for today", booking("B", "r1"), 7},
			{"checked in", with(booking("A", "r1"), reservation.State, "started"), 40},
			{"dates moved", reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-26T11:00:00+01:00"}, 40},
		} {
			n := h.cost(c.patch)
			t.Logf("%s: %d statements", c.name, n)
			if n > c.most {
				t.Errorf("%s: %d statements, want at most %d", c.name, n, c.most)
			}
		}
	})
}
