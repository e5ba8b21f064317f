package space

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"latchkey.dev/ent"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.PrepareAll(t, d, placesMapped, placesOwn, withMore(placesMapped, 6), dormsOfBeds, countEntries+entriesFrom, entryColumns+entriesFrom)
	})
}

// The rows of a place are complete: they are those that ent loads.
func TestPlaceAgreesWithEnt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Insert(t, d, "properties", dbtest.Values{"id": "prp_1"})
		var dorm, bed *ent.Space
		err := d.Write(t.Context(), func(tx *db.Tx) (err error) {
			if dorm, err = Create(tx, "prp_1", Draft{Type: Dorm, Name: "Dorm", Floor: "2"}); err == nil {
				bed, err = Create(tx, "prp_1", Draft{Type: Bed, Name: "1", ParentID: dorm.ID})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := Resolve(d.View(t.Context()), Request{PropertyID: "prp_1", OwnID: bed.ID})
		if err != nil {
			t.Fatal(err)
		}
		for row, got := range map[*ent.Space]*ent.Space{dorm: p.Parent, bed: p.Space} {
			want := d.View(t.Context()).Space.Query().Where(entspace.PropertyID("prp_1"), entspace.ID(row.ID)).OnlyX(t.Context())
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(ent.Space{})); diff != "" {
				t.Error(diff)
			}
		}
	})
}
