package db_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/db/dbtest"
)

func TestPartFailsAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var told []string
		wrong := errors.New("wrong")
		part := func(tx *db.Tx, id string, fail error) error {
			return tx.Part(func() error {
				tx.After(func() { told = append(told, id) })
				return errors.Join(put(id)(tx), fail)
			})
		}
		mustWrite(t, d, func(tx *db.Tx) error {
			tx.After(func() { told = append(told, "whole") })
			if err := part(tx, "a", nil); err != nil {
				return err
			}
			if err := part(tx, "b", wrong); !errors.Is(err, wrong) {
				t.Errorf("a part that failed says %v", err)
			}
			return part(tx, "c", nil)
		})
		if diff := cmp.Diff([]string{"a", "c"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(told, []string{"whole", "a", "c"}) {
			t.Errorf("After ran for %v, want not for the part that failed", told)
		}
	})
}

// A statement that the database refuses spoils only its part, also where PostgreSQL would refuse the rest of the
// transaction.
func TestPartOutlivesARefusedStatement(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		mustWrite(t, d, put("a"))
		mustWrite(t, d, func(tx *db.Tx) error {
			if err := tx.Part(func() error { return put("a")(tx) }); err == nil {
				t.Error("a second row with the same id was stored")
			}
			return put("b")(tx)
		})
		if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPartsGoWithTheWhole(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		wrong := errors.New("wrong")
		var told []string
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			err := tx.Part(func() error {
				tx.After(func() { told = append(told, "a") })
				return put("a")(tx)
			})
			return errors.Join(err, wrong)
		})
		if !errors.Is(err, wrong) || len(stored(t, d)) != 0 || told != nil {
			t.Errorf("%v: stored %v, told %v", err, stored(t, d), told)
		}
	})
}

// A panic in a part undoes the whole change and reaches the caller; the database goes on.
func TestPartPanics(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not reach the caller")
				}
			}()
			_ = d.Write(context.WithoutCancel(t.Context()), func(tx *db.Tx) error {
				if err := put("a")(tx); err != nil {
					return err
				}
				return tx.Part(func() error { panic("in a part") })
			})
		}()
		mustWrite(t, d, put("b"))
		if diff := cmp.Diff([]string{"b"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}
