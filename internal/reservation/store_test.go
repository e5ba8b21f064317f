package reservation

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"latchkey.dev/ent"
	"latchkey.dev/ent/migrate/tables"
	entproperty "latchkey.dev/ent/property"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// full is a record with every field set.
func full() Record {
	at := time.Date(2026, 7, 1, 12, 0, 0, 123456000, time.UTC)
	text := func(s string) *string { return &s }
	adults, children, price, owing := 2, 0, int64(42050), int64(1)
	return Record{
		PMSID: "p1", GroupID: text("g"), SpaceID: text("s"), ParentID: text("r"), CompanionIDs: []string{"c1", "c2"}, PMSUpdatedAt: &at,
		Number: "42", Booker: Booker{FirstName: text("Ada"), LastName: "Lovelace", Email: text("ada@example.com"), Mobile: text("+351")},
		State: access.Confirmed, FromDate: text("2026-07-01"), ToDate: text("2026-07-03"), From: at, To: at.AddDate(0, 0, 2),
		Adults: &adults, Children: &children, Price: &price, Owing: &owing, Currency: text("EUR"),
		SourceName: text("b"), ChannelManager: text("m"), ChannelNumber: text("n"), OwnSpaceID: text("spc_1"),
	}
}

func TestStoreAgreesWithEnt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := Scope{PropertyID: "prp_1", IntegrationID: "int_1"}
		keys := dbtest.Keys(t, d, s.PropertyID)
		k := Service{Keys: keys}
		service := k
		dbtest.Insert(t, d, "integrations", dbtest.Values{"id": s.IntegrationID, "property_id": s.PropertyID})
		write := func(f func(tx *db.Tx) error) {
			t.Helper()
			if err := d.Write(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx *db.Tx) error {
			return tx.Property.UpdateOneID(s.PropertyID).SetName("M").SetTimeZone("Europe/Lisbon").SetCheckInTime("14:00").SetCheckOutTime("10:00").
				SetEarlyInMinutes(1).SetLateOutMinutes(2).SetPinLength(7).SetGatesAlone(true).SetOwingPolicy("allow").SetOwingThresholdMinor(3).Exec(tx.Context())
		})
		same := func(step string, want *ent.Reservation) {
			t.Helper()
			ctx := t.Context()
			k, err := service.loadCurrent(d.View(ctx), s, "p1")
			if err != nil {
				t.Fatal(err)
			}
			options := []cmp.Option{cmpopts.IgnoreUnexported(ent.Reservation{}, ent.Property{}), cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)}
			if diff := cmp.Diff(want, k.row, options...); diff != "" {
				t.Errorf("%s: as returned and as loaded:\n%s", step, diff)
			}
			if diff := cmp.Diff(d.View(ctx).Reservation.Query().OnlyX(ctx), k.row, options...); diff != "" {
				t.Errorf("%s: as ent reads it and as loaded:\n%s", step, diff)
			}
			house := Settings{access.Settings{PropertyID: s.PropertyID, TimeZone: "Europe/Lisbon", EarlyInMinutes: 1, LateOutMinutes: 2, PINLength: 7, GatesAlone: true}, "14:00", "10:00"}
			if diff := cmp.Diff(house, k.settings); diff != "" || settingsOf(d.View(ctx).Property.Query().OnlyX(ctx)) != house {
				t.Errorf("the property:\n%s", diff)
			}
		}
		if k, err := service.loadCurrent(d.View(t.Context()), s, "p1"); err != nil || k.row != nil || k.granted {
			t.Fatalf("nothing is stored yet: %+v, %v", k, err)
		}
		var row *ent.Reservation
		write(func(tx *db.Tx) (err error) { row, err = k.create(tx, s, full()); return err })
		same("created", row)
		bare := Record{PMSID: "p1", Number: "43", Booker: Booker{LastName: "L"}, State: access.Canceled, From: full().To, To: full().To.AddDate(0, 0, 1)}
		write(func(tx *db.Tx) (err error) { row, err = k.update(tx, row, full(), bare); return err })
		same("everything optional cleared", row)
		write(func(tx *db.Tx) (err error) { row, err = k.update(tx, row, bare, full()); return err })
		same("everything set again", row)
		write(func(tx *db.Tx) error {
			return tx.Reservation.UpdateOneID(row.ID).SetPlanDueAt(tx.Now()).SetErasedAt(tx.Now()).Exec(tx.Context())
		})
		row = d.View(t.Context()).Reservation.Query().OnlyX(t.Context())
		same("with its marks", row)
		write(func(tx *db.Tx) (err error) { row, err = k.update(tx, row, recordOf(row), full()); return err })
		same("planned again, after an erasure", row)
		other := "other 7"
		for _, change := range []func(r *Record){
			func(r *Record) { r.Number = "44" }, func(r *Record) { r.From = r.From.Add(time.Hour) }, func(r *Record) { r.State = access.Started },
			func(r *Record) { r.GroupID = &other }, func(r *Record) { r.GroupID = nil }, func(r *Record) { r.ChannelNumber = &other }, func(r *Record) { r.ChannelNumber = nil },
		} {
			changed := full()
			change(&changed)
			write(func(tx *db.Tx) (err error) { row, err = k.update(tx, row, full(), changed); return err })
			same("one field changed", row)
			write(func(tx *db.Tx) (err error) { row, err = k.update(tx, row, changed, full()); return err })
		}
		write(func(tx *db.Tx) error {
			_, err := k.update(tx, &ent.Reservation{ID: row.ID, PropertyID: "prp_2", Booker: row.Booker}, bare, bare)
			if err == nil {
				t.Error("a reservation of another property was changed")
			}
			return nil
		})
		for _, other := range []Scope{{"prp_1", "int_2"}, {"prp_1", ""}} {
			if k, err := service.loadCurrent(d.View(t.Context()), other, "p1"); err != nil || k.row != nil {
				t.Errorf("%+v sees what is not its own: %+v, %v", other, k.row, err)
			}
		}
		if _, err := service.loadCurrent(d.View(t.Context()), Scope{"prp_2", "int_1"}, "p1"); err == nil {
			t.Error("a property that does not exist was loaded")
		}
	})
}

// A column that is added to the models has to be added to the statements.
func TestStoreNamesEveryColumn(t *testing.T) {
	fixed := []string{entreservation.FieldID, entreservation.FieldPropertyID, entreservation.FieldIntegrationID, entreservation.FieldPmsID, entreservation.FieldCreatedAt,
		entreservation.FieldPlanDueAt, entreservation.FieldErasedAt, entreservation.FieldExtendedTo} // are about the row, and the PMS does not send them
	want := slices.Sorted(slices.Values(entreservation.Columns))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(slices.Concat(fixed, columns)))); diff != "" {
		t.Error(diff)
	}
	for _, m := range regexp.MustCompile(`\bp\.(\w+)`).FindAllStringSubmatch(loadQuery, -1) {
		if !slices.Contains(entproperty.Columns, m[1]) {
			t.Errorf("the property has no column %s", m[1])
		}
	}
}

// An update of a stay that keeps its numbers and its beginning rewrites no index entry, except those of stays that are canceled or in the house.
func TestUpdateInPlaceChangesNoIndex(t *testing.T) {
	few := []string{"state = 'started'", "state = 'started' OR state = 'processed'", "canceled_at IS NOT NULL"}
	for _, index := range tables.ReservationsTable.Indexes {
		if index.Annotation != nil && slices.Contains(few, index.Annotation.Where) {
			continue // SQLite rewrites an entry only if the row has one
		}
		for _, c := range index.Columns {
			if slices.Contains(columns[:len(columns)-indexedColumns], c.Name) {
				t.Errorf("%s is in the index %s: move it to the end of columns", c.Name, index.Name)
			}
		}
	}
}

// Both databases refuse to prepare a statement that names a column they do not have.
func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.PrepareAll(t, d, loadQuery, insertStatement, updateStatement, updateInPlace, insertChange, enqueueArrival, enqueueArrivals, requeueArrival,
			accessEvents, lastOfGrants, lastOfSubject, insertNames(2))
	})
}
