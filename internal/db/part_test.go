package db_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/db/dbtest"
)

func TestAPartFailsAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		wrong := errors.New("wrong")
		var told []string
		tell := func(tx *db.Tx, id string) func() error {
			return func() error {
				tx.After(func() { told = append(told, id) })
				return put(id)(tx)
			}
		}
		mustWrite(t, d, func(tx *db.Tx) error {
			told = nil
			if err := tx.Part(tell(tx, "a")); err != nil {
				t.Error(err)
			}
			if err := tx.Part(func() error { return errors.Join(tell(tx, "lost")(), wrong) }); !errors.Is(err, wrong) {
				t.Errorf("error = %v, want the part's own", err)
			}
			if err := tx.Part(tell(tx, "a")); !ent.IsConstraintError(err) {
				t.Errorf("error = %v, want a duplicate", err)
			}
			return tx.Part(tell(tx, "b"))
		})
		if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(told, []string{"a", "b"}) {
			t.Errorf("After ran for %v", told)
		}
	})
}
