package mobilekey_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

const propertyID = "prp_one"

// fixture is one property with its issuer, and a clock that tests set.
type fixture struct {
	t     *testing.T
	db    *db.DB
	keys  *keyring.Ring
	clock *clock.Fixed
}

func each(t *testing.T, f func(t *testing.T, d *fixture)) {
	t.Helper()
	c := clock.At(start)
	dbtest.Each(t, func(t *testing.T, base *db.DB) {
		c.Set(start)
		d := &fixture{t: t, db: base, clock: c}
		dbtest.Insert(t, base, "properties", dbtest.Values{"id": propertyID})
		d.keys = dbtest.Keys(t, base, propertyID)
		d.change(func(tx *db.Tx) error { return mobilekey.EnsureIssuer(tx, d.keys, propertyID) })
		f(t, d)
	}, dbtest.Clock(c))
}

func (d *fixture) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) change(fn func(tx *db.Tx) error) {
	d.t.Helper()
	d.must(d.db.Write(d.t.Context(), fn))
}

func (d *fixture) pass(by time.Duration) { d.clock.Set(d.clock.Now().Add(by)) }

// reconcile does what the periodic job does, and reports whether it notified the bridges.
func (d *fixture) reconcile() (notified bool) {
	d.t.Helper()
	d.change(func(tx *db.Tx) (err error) {
		notified, err = mobilekey.Reconcile(tx, d.keys, propertyID)
		return err
	})
	return notified
}
