package db_test

import (
	"context"
	"errors"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func isStored(t *testing.T, view *db.Tx, id string) bool {
	t.Helper()
	found, err := view.ReadOne("SELECT id FROM secrets WHERE id = $1", []any{id}, new(string))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestViewShared(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		mustWrite(t, d, put("before"))
		var kept *db.Tx
		err := d.ViewShared(t.Context(), func(view *db.Tx) error {
			kept = view
			if !isStored(t, view, "before") {
				t.Error("the view does not show a change that returned before it began")
			}
			mustWrite(t, d, put("meanwhile"))
			if d.SQLite() && isStored(t, view, "meanwhile") {
				t.Error("the view shows a change that came after its first statement")
			}
			if _, err := view.ExecContext(t.Context(), "DELETE FROM secrets"); err == nil {
				t.Error("the view changed a row")
			}
			if err := d.ViewShared(view.Context(), func(*db.Tx) error { return nil }); err == nil {
				t.Error("a nested view was not refused")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kept.ReadOne("SELECT id FROM secrets WHERE id = $1", []any{"before"}, new(string)); d.SQLite() && err == nil {
			t.Error("the view works after its closure has returned")
		}
		failure := errors.New("some failure")
		for range 20 { // more than there are connections
			err := d.ViewShared(t.Context(), func(view *db.Tx) error {
				if !isStored(t, view, "meanwhile") {
					t.Error("a view shows an old state")
				}
				return failure
			})
			if !errors.Is(err, failure) {
				t.Fatal(err)
			}
		}
	})
}

func TestViewSharedEndsWithItsContext(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := d.ViewShared(ctx, func(view *db.Tx) error {
			cancel()
			_, err := view.ReadOne("SELECT id FROM secrets WHERE id = $1", []any{"a"}, new(string))
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a statement after the end of the context: %v", err)
		}
	})
}
