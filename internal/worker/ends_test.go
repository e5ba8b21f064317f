package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// longAgo is a moment after which every retention is over.
var longAgo = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// today is the time of the test's clock.
var today = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// end names the sweep that deletes a row, and the row.
type end struct {
	table, sweep string
	row          dbtest.Values
	canceled     bool // the reservation was canceled, and would begin in the future
}

// The rows of a stay or a code refer to the reservation, the grant or the code with these ids in their own property.
const theStay, theGrant, theCode = "theStay", "theGrant", "theCode"

// ends has at least one row of each table that holds data of guests or names of codes, with the sweep that ends it. A row has a second end if it ends in
// another way too.
var ends = []end{
	{table: "reservations", sweep: "stays"},
	{table: "reservation_names", sweep: "stays", row: dbtest.Values{"reservation_id": theStay}},
	{table: "reservation_changes", sweep: "stays", row: dbtest.Values{"reservation_id": theStay, "changed_at": longAgo}},
	{table: "stays", sweep: "stays", row: dbtest.Values{"reservation_id": theStay}},
	{table: "stays", sweep: "guests of canceled stays", row: dbtest.Values{"reservation_id": theStay}, canceled: true},
	{table: "guests", sweep: "stays", row: dbtest.Values{"reservation_id": theStay}},
	{table: "guests", sweep: "guests of canceled stays", row: dbtest.Values{"reservation_id": theStay}, canceled: true},
	{table: "disclosures", sweep: "stays", row: dbtest.Values{"reservation_id": theStay}},
	{table: "disclosures", sweep: "guests of canceled stays", row: dbtest.Values{"reservation_id": theStay}, canceled: true},
	{table: "messages", sweep: "stays", row: dbtest.Values{"reservation_id": theStay, "created_at": longAgo}},
	{table: "messages", sweep: "guests of canceled stays", row: dbtest.Values{"reservation_id": theStay, "created_at": longAgo}, canceled: true},
	{table: "mails", sweep: "stays", row: dbtest.Values{"reservation_id": theStay, "created_at": longAgo}},
	{table: "mails", sweep: "guests of canceled stays", row: dbtest.Values{"reservation_id": theStay, "created_at": longAgo}, canceled: true},
	{table: "mails", sweep: "mails without a stay", row: dbtest.Values{"reservation_id": "", "created_at": longAgo}},
	{table: "invitations", sweep: "stays", row: dbtest.Values{"reservation_id": theStay}},
	{table: "guest_links", sweep: "guests' links and sessions", row: dbtest.Values{"expires_at": longAgo}},
	{table: "guest_sessions", sweep: "guests' links and sessions", row: dbtest.Values{"expires_at": longAgo}},
	{table: "profile_links", sweep: "guests' links and sessions", row: dbtest.Values{"expires_at": longAgo}},
	{table: "attempts", sweep: "guests' links and sessions", row: dbtest.Values{"began_at": longAgo, "last_at": longAgo}},
	{table: "guest_profiles", sweep: "guests' profiles", row: dbtest.Values{"updated_at": longAgo}},
	{table: "register_entries", sweep: "guest register", row: dbtest.Values{"erase_at": longAgo}},
	{table: "erasures", sweep: "proofs of erasures", row: dbtest.Values{"finished_at": longAgo}},
	{table: "arrivals", sweep: "stays", row: dbtest.Values{"id": theStay}},
	{table: "grants", sweep: "stays", row: dbtest.Values{"reservation_id": theStay, "ended_at": longAgo}},
	{table: "pins", sweep: "stays", row: dbtest.Values{"grant_id": theGrant}},
	{table: "pins", sweep: "ended codes", row: dbtest.Values{"code_id": theCode}},
	{table: "acts", sweep: "stays", row: dbtest.Values{"grant_id": theGrant}},
	{table: "acts", sweep: "commands of staff", row: dbtest.Values{"created_at": longAgo}},
	{table: "codes", sweep: "ended codes", row: dbtest.Values{"ended_at": longAgo, "released_at": longAgo, "doors": "[]", "hours": "[]"}},
	{table: "phones", sweep: "stays", row: dbtest.Values{"reservation_id": theStay}},
	{table: "phone_links", sweep: "stays", row: dbtest.Values{"reservation_id": theStay}},
	{table: "key_statuses", sweep: "numbers of SmartKeys", row: dbtest.Values{"ends_at": longAgo, "lock_ids": "[]"}},
	{table: "events", sweep: "stays", row: dbtest.Values{"subject": theStay, "body": "{}", "created_at": longAgo, "position": int64(1)}},
	{table: "notices", sweep: "stays", row: dbtest.Values{"subject": theStay, "created_at": today}},
	{table: "notices", sweep: "notices", row: dbtest.Values{"created_at": longAgo}},
	{table: "conflicts", sweep: "conflicts", row: dbtest.Values{"closed_at": longAgo, "opened_at": longAgo, "reservation_ids": "[]"}},
	{table: "idempotency_keys", sweep: "idempotency keys", row: dbtest.Values{"expires_at": longAgo}},
	{table: "tombstones", sweep: "tombstones", row: dbtest.Values{"created_at": longAgo}},
}

// withoutGuests are the tables that hold nothing of guests, with what they hold.
var withoutGuests = map[string]string{
	"apps": "partners", "bridges": "devices", "check_in_settings": "settings", "door_rules": "devices",
	"endpoints": "addresses of the PMS", "event_cursors": "positions, which go when the subscriber has received the events", "gates": "doors",
	"guesses": "counts by lock", "integrations": "partners", "issuers": "keys of a property", "issuer_keys": "keys of a property",
	"key_sets": "keys of a property", "kiosks": "tablets", "locks": "devices", "mail_settings": "settings", "mappings": "rooms", "nodes": "servers",
	"partner_spaces": "rooms", "properties": "settings", "property_keys": "keys of a property", "secrets": "keys of the installation",
	"slots": "the slots of a lock: the removal of a stay waits until they hold nothing of it", "spaces": "rooms", "tokens": "credentials of staff and partners",
	"people": "staff", "audit_entries": "ids and acts of staff", "audit_heads": "hashes", "memberships": "staff", "former_people": "staff", "person_sessions": "staff", "person_invitations": "staff", "recovery_codes": "staff", "sign_in_attempts": "counts of staff", "passkeys": "staff", "used_challenges": "staff",
	"webhooks": "addresses of partners", "lock_samples": "devices", "mapping_changes": "rooms, and ids of staff",
}

// Each table that holds data of guests has an end, and the sweep that the end names deletes its rows.
func TestGuestDataEnds(t *testing.T) {
	for _, m := range tables.Tables {
		ended := slices.ContainsFunc(ends, func(e end) bool { return e.table == m.Name })
		if _, none := withoutGuests[m.Name]; ended == none {
			t.Errorf("%s: list it either with the sweep that deletes its rows, or as a table that holds nothing of guests", m.Name)
		}
	}
	names := slices.Collect(maps.Keys(withoutGuests))
	for _, e := range ends {
		names = append(names, e.table)
	}
	for _, name := range names {
		if !slices.ContainsFunc(tableNames(), func(n string) bool { return n == name }) {
			t.Errorf("%s is no table", name)
		}
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var properties []string
		for i := range ends {
			properties = append(properties, propertyOf(i))
		}
		keys := dbtest.Keys(t, d, properties...)
		sweeps := Maintenance{Keys: keys, Log: quiet, KeepEvents: 365 * 24 * time.Hour}.Sweeps()
		sweeps = append(sweeps, Retention{Log: slog.New(slog.DiscardHandler), Reservations: reservation.Service{Keys: keys, Keep: 400 * 24 * time.Hour}}.Sweep(),
			Sweep{Name: "numbers of SmartKeys", Run: func(ctx context.Context, d *db.DB) error {
				return d.Write(ctx, func(tx *db.Tx) error { return mobilekey.Sweep(tx, 100) })
			}})
		for i, e := range ends {
			e.insert(t, d, propertyOf(i))
		}
		for _, s := range sweeps {
			for i, e := range ends {
				if e.sweep == s.Name && e.count(t, d, propertyOf(i)) != 1 {
					t.Errorf("%s: the row is gone before the sweep %q", e.table, s.Name)
				}
			}
			if !slices.ContainsFunc(ends, func(e end) bool { return e.sweep == s.Name }) {
				continue
			}
			if err := s.Run(t.Context(), d); err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			for i, e := range ends {
				if n := e.count(t, d, propertyOf(i)); e.sweep == s.Name && n != 0 {
					t.Errorf("%s: %d rows are left after the sweep %q", e.table, n, s.Name)
				}
			}
		}
		for _, e := range ends {
			if !slices.ContainsFunc(sweeps, func(s Sweep) bool { return s.Name == e.sweep }) {
				t.Errorf("%s: there is no sweep %q", e.table, e.sweep)
			}
		}
	}, dbtest.Clock(clock.At(today)))
}

func tableNames() (names []string) {
	for _, m := range tables.Tables {
		names = append(names, m.Name)
	}
	return names
}

// propertyOf returns the property of a row of ends. Each row has its own, so that no other row keeps it.
func propertyOf(i int) string { return fmt.Sprintf("prp_%02d", i) }

// insert stores the row, and its stay, grant and code if it refers to them.
func (e end) insert(t *testing.T, d *db.DB, propertyID string) {
	t.Helper()
	own := func(v any) any {
		if v == theStay || v == theGrant || v == theCode {
			return fmt.Sprintf("%v/%s", v, propertyID)
		}
		return v
	}
	stay := dbtest.Values{"id": own(theStay), "property_id": propertyID, "from_at": longAgo.Add(-time.Hour), "to_at": longAgo, "updated_at": longAgo, "state": "processed"}
	if e.canceled {
		next := today.AddDate(0, 1, 0)
		stay["from_at"], stay["to_at"], stay["state"], stay["canceled_at"] = next, next.Add(time.Hour), "canceled", longAgo
	}
	dbtest.Insert(t, d, "reservations", stay)
	if e.table == "reservations" {
		return
	}
	if e.row["grant_id"] == theGrant {
		dbtest.Insert(t, d, "grants", dbtest.Values{"id": own(theGrant), "property_id": propertyID, "reservation_id": own(theStay), "ended_at": longAgo})
	}
	if e.row["code_id"] == theCode {
		dbtest.Insert(t, d, "codes", dbtest.Values{"id": own(theCode), "property_id": propertyID, "ended_at": longAgo, "released_at": longAgo, "doors": "[]", "hours": "[]"})
	}
	if e.table == "disclosures" || e.table == "messages" {
		dbtest.Insert(t, d, "guests", dbtest.Values{"id": "guestOf/" + propertyID, "property_id": propertyID, "reservation_id": own(theStay)})
	}
	if e.table == "profile_links" {
		dbtest.Insert(t, d, "guest_profiles", dbtest.Values{"id": "profile of " + propertyID, "property_id": propertyID, "updated_at": today})
	}
	row := dbtest.Values{"property_id": propertyID}
	for name, v := range e.row {
		row[name] = own(v)
	}
	if e.table == "disclosures" || e.table == "messages" {
		row["guest_id"] = "guestOf/" + propertyID
	}
	if e.table == "profile_links" {
		row["profile_id"] = "profile of " + propertyID
	}
	dbtest.Insert(t, d, e.table, row)
}

func (e end) count(t *testing.T, d *db.DB, propertyID string) (n int) {
	t.Helper()
	if _, err := d.View(t.Context()).ReadOne("SELECT COUNT(*) FROM "+e.table+" WHERE property_id = $1", []any{propertyID}, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
