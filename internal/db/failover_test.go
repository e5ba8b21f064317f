package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/pgtemp"
)

// A primary that hangs answers nothing and closes no connection. Waiting changes fail with an error that says so, and later
// changes are stored by the promoted standby.
func TestFailoverFromAHungPrimary(t *testing.T) {
	primary, err := pgtemp.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []*pgtemp.Cluster{primary, standby} {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	d, err := db.Open(t.Context(), db.Config{URL: primary.URL("postgres", standby), CheckEvery: 250 * time.Millisecond, WriteTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(primary.Thaw(), d.Close()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, d, put("a"))

	hangs := make(chan struct{})
	waits := make(chan error, 1)
	go func() {
		waits <- d.Write(t.Context(), func(tx *db.Tx) error {
			if err := primary.Freeze(); err != nil {
				t.Error(err)
			}
			close(hangs)
			return put("b")(tx)
		})
	}()
	<-hangs
	wantUnavailable(t, "a change that waits for a hung server", <-waits, "cannot be reached")
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := d.Check(ctx); err != nil; err = d.Check(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("the promoted server is not used: %v", err)
		}
	}
	mustWrite(t, d, put("c"))
	if ids := stored(t, d); len(ids) != 2 || ids[0] != "a" || ids[1] != "c" {
		t.Errorf("the promoted server has %v, want a and c", ids)
	}
}
