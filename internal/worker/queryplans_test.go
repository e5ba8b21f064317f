package worker

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// grownTables are the tables that have a row for each stay. They may not be read as a whole every few seconds, nor for each search.
var grownTables = []string{"reservations", "stays", "guests", "mails", "invitations", "guest_links", "guest_sessions", "messages"}

// fill adds stays of years, each with a guest, a check-in and a mail, and some with a message. Most are over.
func (p *post) fill(n int) {
	p.Helper()
	at := func(days string) string {
		if p.d.SQLite() {
			return "strftime('%Y-%m-%d %H:%M:%S+00:00', '2026-11-01 12:00:00', (" + days + ") || ' days')"
		}
		return "timestamptz '2026-11-01 12:00:00Z' + make_interval(days => " + days + ")"
	}
	from := p.clock.Now().Add(-400 * day)
	dbtest.Insert(p, p.d, "reservations", dbtest.Values{
		"id": "rsv_0", "property_id": "prp_one", "integration_id": "int_one", "pms_id": "0", "pms_number": "F0", "state": "processed", "from_at": from, "to_at": from.Add(2 * day),
		"created_at": from, "updated_at": from,
	})
	dbtest.Insert(p, p.d, "stays", dbtest.Values{"id": "sty_0", "property_id": "prp_one", "reservation_id": "rsv_0", "ended_at": from.Add(2 * day), "evaluated_at": from, "next_ask_at": nil})
	dbtest.Insert(p, p.d, "guests", dbtest.Values{"id": "gst_0", "property_id": "prp_one", "reservation_id": "rsv_0"})
	dbtest.Insert(p, p.d, "mails", dbtest.Values{"id": "mai_0", "property_id": "prp_one", "reservation_id": "rsv_0", "kind": "invitation", "state": "sent", "created_at": from})
	dbtest.Insert(p, p.d, "invitations", dbtest.Values{"id": "rsv_0", "property_id": "prp_one", "reservation_id": "rsv_0", "seen_at": from})
	dbtest.Insert(p, p.d, "messages", dbtest.Values{
		"id": "msg_0", "property_id": "prp_one", "reservation_id": "rsv_0", "guest_id": "gst_0", "number": 1, "sender": "property", "created_at": from,
	})
	n++
	dbtest.Multiply(p, p.d, "reservations", n, map[string]string{
		"id": "'rsv_' || n", "pms_id": "'F' || n", "pms_number": "'F' || n", "from_at": at("n % 430 - 420"), "to_at": at("n % 430 - 418"),
	})
	dbtest.Multiply(p, p.d, "stays", n, map[string]string{"id": "'sty_' || n", "reservation_id": "'rsv_' || n"})
	dbtest.Multiply(p, p.d, "guests", n, map[string]string{"id": "'gst_' || n", "reservation_id": "'rsv_' || n"})
	dbtest.Multiply(p, p.d, "messages", min(n, 200), map[string]string{"id": "'msg_' || n", "reservation_id": "'rsv_' || n", "guest_id": "'gst_' || n"})
	mac := map[bool]string{true: "CAST('mac' || n AS BLOB)", false: "convert_to('mac' || n, 'UTF8')"}[p.d.SQLite()]
	dbtest.Multiply(p, p.d, "mails", n, map[string]string{"id": "'mai_' || n", "reservation_id": "'rsv_' || n", "address_mac": mac})
	dbtest.Multiply(p, p.d, "invitations", n, map[string]string{"id": "'rsv_' || n", "reservation_id": "'rsv_' || n", "mail_id": "'mai_' || n", "reminder_id": "'mar_' || n"})
	keep := 30
	write(p.T, p.d, func(tx *db.Tx) error {
		_, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{KeepStayDays: &keep, MessageDays: &keep})
		return err
	})
	write(p.T, p.d, func(tx *db.Tx) error { _, err := tx.SQL().ExecContext(p.Context(), "ANALYZE"); return err })
}

// No periodic work and no search of a guest reads all stays.
func TestPeriodicWorkUsesIndexes(t *testing.T) {
	rows := 5000
	if given := os.Getenv("LATCHKEY_PLANS_ROWS"); given != "" { // for the figures of docs/performance.md
		rows, _ = strconv.Atoi(given)
	}
	eachPost(t, func(p *post) {
		p.fill(rows)
		p.room("spc_one", "Room 204")
		p.book("1", "ana@example.com", 5*day, inGroup("G"))
		p.book("2", "ana@example.com", 5*day, inGroup("G"))
		p.book("3", "bea@example.com", -time.Hour, started("spc_one"))
		p.book("4", "cora@example.com", 6*day)
		room := p.book("5", "dora@example.com", 6*day, inGroup("G"), func(patch reservation.Patch) { patch[reservation.ChannelNumber] = "C5" })
		var statements []string
		run := func(name string, f func()) {
			began := time.Now()
			found := dbtest.Statements(p, nil, f)
			p.Logf("%-32s %4d statements in %v", name, len(found), time.Since(began).Round(100*time.Microsecond))
			statements = append(statements, found...)
		}
		sweeps := slices.Concat([]Sweep{p.sweep, p.mails.Sweep(), p.mails.Departures(), p.mails.Unread()},
			Maintenance{Keys: p.keys, Log: quiet, KeepEvents: 365 * day}.Sweeps())
		for _, round := range []string{"first", "second"} {
			for _, s := range sweeps {
				run(s.Name+", "+round, func() {
					if err := s.Run(context.WithoutCancel(p.Context()), p.d); err != nil {
						p.Errorf("%s: %v", s.Name, err)
					}
				})
			}
			p.clock.Advance(settleAll)
		}
		p.publish()
		p.clock.Advance(keyPatience)
		waiting := slices.DeleteFunc(p.all(), func(row *ent.Mail) bool { return row.State != string(mail.Waiting) })
		if len(waiting) < 2 {
			p.Fatalf("%d mails wait", len(waiting))
		}
		run("mails", func() {
			for _, row := range waiting {
				if _, err := p.mails.attempt(p.Context(), row.PropertyID, row.ID); err != nil {
					p.Error(err)
				}
			}
		})
		run("stays to remove", func() {
			periods, err := p.stays.Retentions(p.d.View(p.Context()))
			if err != nil || len(periods) != 2 || periods[1].PropertyID != "prp_one" {
				p.Fatalf("the retention is %v, %v", periods, err)
			}
			for _, period := range periods {
				due, err := p.stays.DueStays(p.d.View(p.Context()), period, nil, retentionBatch)
				if err != nil || len(due) == 0 {
					p.Fatalf("%d stays, %v", len(due), err)
				}
				write(p.T, p.d, func(tx *db.Tx) error {
					_, _, err := p.stays.Remove(tx, "prp_one", byProperty(due)["prp_one"])
					return err
				})
			}
		})
		run("check-ins that are due", func() {
			if _, _, err := checkin.Due(p.d.View(p.Context()), 500); err != nil {
				p.Error(err)
			}
		})
		run("rooms of a booking", func() {
			write(p.T, p.d, func(tx *db.Tx) error {
				party, err := guest.LoadParty(tx, p.keys, "prp_one", room)
				if err == nil {
					_, err = party.UsesProfile(tx)
				}
				return err
			})
		})
		for _, search := range []guest.Search{{PropertyID: "prp_one", Number: "N1", FamilyName: "Silva", Place: "Lobby"}, {PropertyID: "prp_one", Number: "X9", FamilyName: "Unknown", Place: "Lobby"}} {
			run("search of a guest", func() {
				if _, err := search.Match(p.d.View(p.Context()), p.keys); err != nil {
					p.Log(err)
				}
			})
		}
		// Only the start of a process reads the invitations in pages, to find what changed before. A deletion of no ids reads nothing.
		slices.Sort(statements)
		statements = slices.DeleteFunc(slices.Compact(statements), func(s string) bool {
			return !strings.HasPrefix(s, "SELECT") && !strings.HasPrefix(s, "UPDATE") && !strings.HasPrefix(s, "DELETE") && !strings.Contains(s, "SELECT") ||
				strings.Contains(s, "river_") || s == findMissed || strings.HasSuffix(s, "WHERE FALSE")
		})
		if len(statements) < 30 {
			p.Fatalf("only %d statements", len(statements))
		}
		for _, s := range dbtest.FullScans(p, p.d, grownTables, statements) {
			p.Error(s)
		}
	})
}
