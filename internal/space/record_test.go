package space_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/conflict"
	"latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

func TestConflictLife(t *testing.T) {
	each(t, func(h house) {
		room := h.create(space.Draft{Type: space.Room, Name: "101"})
		one, two := listed("r", space.Room, "101", ""), listed("s", space.Room, "102", "")
		h.read(one)
		h.bind("r", room.ID)
		h.read(one, two)
		h.read(one, two)
		same(t, "open", []string{"newUnmapped s"}, h.open())

		h.read(two) // r is gone
		for range 2 {
			h.read(two)
		}
		same(t, "open", []string{"missing r", "newUnmapped s"}, h.open())
		if p, reason := h.resolve(space.Request{ExternalID: "r"}); id(p.Space) != room.ID || reason != "" {
			t.Errorf("a space that the partner stopped listing lost its mapping: %v, %s", p.Space, reason)
		}
		c := h.d.View(h.ctx()).Conflict.Query().Where(conflict.Kind("missing")).OnlyX(h.ctx())
		same(t, "affected", []string{"rsv_r"}, c.ReservationIds)

		h.read(one, two)
		same(t, "open", []string{"newUnmapped s"}, h.open())
		renamed := one
		renamed.Name = "201"
		h.read(renamed, two)
		same(t, "open", []string{"renamed r", "newUnmapped s"}, h.open())
		h.bind("r", room.ID) // accepts the name
		same(t, "open", []string{"newUnmapped s"}, h.open())
		h.read(two) // and gone for the second time
		same(t, "open", []string{"missing r", "newUnmapped s"}, h.open())
		h.write(func(tx *db.Tx) error { _, _, err := h.m.Unmap(tx, prp, itg, "r"); return err })
		same(t, "open", []string{"newUnmapped s"}, h.open())

		same(t, "events", []string{
			"mapping.conflictOpened newUnmapped s", "mapping.conflictOpened missing r", "mapping.conflictClosed missing r",
			"mapping.conflictOpened renamed r", "mapping.conflictClosed renamed r", "mapping.conflictOpened missing r", "mapping.conflictClosed missing r",
		}, h.events())
		notices := h.d.View(h.ctx()).Notice.Query().Where(notice.PropertyID(prp)).Order(notice.ByID()).AllX(h.ctx())
		var kinds []string
		for _, n := range notices {
			kinds = append(kinds, n.Kind)
		}
		same(t, "notices", []string{"mappingNewUnmapped", "mappingMissing", "mappingRenamed", "mappingMissing"}, kinds)
		for _, n := range notices {
			if text := textOf(n); strings.Contains(text, "..") || strings.Contains(text, "  ") || !strings.Contains(text, ". ") {
				t.Errorf("not sentences: %q", text)
			}
		}
		if !strings.Contains(textOf(notices[1]), "Reservations affected: 1.") {
			t.Errorf("notice names no reservations: %q", textOf(notices[1]))
		}
		_, total, err := space.ListConflicts(h.d.View(h.ctx()), prp, space.ConflictFilter{Closed: true, Kind: space.Missing, IntegrationID: itg})
		if err != nil || total != 2 {
			t.Errorf("%d conflicts of the past, %v, want 2", total, err)
		}
		if _, total, _ := space.ListConflicts(h.d.View(h.ctx()), other, space.ConflictFilter{Closed: true}); total != 0 {
			t.Error("another tenant sees conflicts")
		}
	})
}

func TestFailedReadings(t *testing.T) {
	each(t, func(h house) {
		room := h.create(space.Draft{Type: space.Room, Name: "101"})
		h.read(listed("r", space.Room, "101", ""))
		h.bind("r", room.ID)
		fail := func(r space.Reading) (got space.Recorded) {
			h.write(func(tx *db.Tx) (err error) { got, err = h.m.Record(tx, prp, itg, r); return })
			return got
		}
		for i, r := range []space.Reading{{}, {Err: errors.New("status 500")}, {Spaces: []space.Listed{{ExternalID: "a\x00", Type: space.Room}}}, {}} {
			if got := fail(r); got.Failures != i+1 || got.Problem.Kind == "" {
				t.Errorf("reading %d: %+v", i, got)
			}
			if p, reason := h.resolve(space.Request{ExternalID: "r"}); id(p.Space) != room.ID || reason != "" {
				t.Fatalf("a failed reading took the mapping away: %v, %s", p.Space, reason)
			}
			if n := len(h.open()); (n == 1) != (i >= 2) {
				t.Errorf("%d conflicts open after %d failures", n, i+1)
			}
		}
		noticeText := textOf(h.d.View(h.ctx()).Notice.Query().Where(notice.PropertyID(prp)).OnlyX(h.ctx()))
		if !strings.Contains(noticeText, " in a row: entry 0 of the listing has an id with NUL or broken UTF-8. The last good listing ") {
			t.Errorf("the notice: %q", noticeText)
		}
		h.read(listed("r", space.Room, "101", ""))
		same(t, "open", []string(nil), h.open())
		in := h.d.View(h.ctx()).Integration.GetX(h.ctx(), itg)
		if in.SpacesFailures != 0 || in.SpacesReadAt == nil || !in.SpacesReadAt.Equal(*in.SpacesTriedAt) {
			t.Errorf("state of the integration: %+v", in)
		}
		same(t, "events", []string{"mapping.conflictOpened unreadable ", "mapping.conflictClosed unreadable "}, h.events())
		h.refuse(fault.IntegrationNotFound, func(tx *db.Tx) error { _, err := h.m.Record(tx, other, itg, space.Reading{}); return err })
	})
}

// A conflict is stored as parameters, and a conflict that was stored as a sentence keeps it until the next comparison.
func TestConflictText(t *testing.T) {
	each(t, func(h house) {
		room := h.create(space.Draft{Type: space.Room, Name: "101"})
		one := listed("r", space.Room, "101", "")
		h.read(one)
		h.bind("r", room.ID)
		texts := func() (all []string) {
			rows, _, err := space.ListConflicts(h.d.View(h.ctx()), prp, space.ConflictFilter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				all = append(all, row.Detail+space.ConflictText(row, message.Reader{}))
			}
			return all
		}
		one.Name = "201"
		h.read(one)
		same(t, "texts", []string{`“101” is now called “201” by the partner.`}, texts())
		same(t, "parameters of the event", any(map[string]any{"from": "101", "to": "201"}), h.d.View(h.ctx()).Event.Query().OnlyX(h.ctx()).Body["parameters"])
		one.Name = "301"
		h.read(one)
		same(t, "texts after another name", []string{`“101” is now called “301” by the partner.`}, texts())

		h.write(func(tx *db.Tx) error {
			return tx.Conflict.Update().ClearParameters().SetDetail("As stored. ").Exec(tx.Context())
		})
		same(t, "texts of an old row", []string{"As stored. As stored. "}, texts())
		h.read(one)
		same(t, "texts after a comparison", []string{`“101” is now called “301” by the partner.`}, texts())

		h.read(one, listed("b", space.Bed, "A", "nowhere"), listed("b", space.Bed, "B", "nowhere"))
		same(t, "texts of a bed", []string{
			`The partner lists the id “b” more than once.`, `The partner's Bed “A” is new and not mapped.`,
			`The partner's bed “A” is in a room that is not listed (“nowhere”).`, `“101” is now called “301” by the partner.`,
		}, slices.Sorted(slices.Values(texts())))
	})
}

// A listing larger than one statement holds is stored whole.
func TestLargeListing(t *testing.T) {
	each(t, func(h house) {
		var all []space.Listed
		for i := range 901 {
			all = append(all, listed(fmt.Sprint(i), space.Room, strings.Repeat("é", 200), ""))
		}
		h.read(all...)
		r := h.read(all[:450]...)
		if len(r.AffectedStays.Externals) != 0 {
			t.Errorf("nothing was new: %d", len(r.AffectedStays.Externals))
		}
		if _, total, err := space.Entries(h.d.View(h.ctx()), prp, itg, space.EntryFilter{}); total != 450 || err != nil {
			t.Errorf("%d listed, %v, want 450", total, err)
		}
	})
}

// The PMS has moved a bed to another room. A reservation of the bed there has no space until the reading that shows the move, which must
// plan it again, so that the guest gets in.
func TestReadingMovesBed(t *testing.T) {
	each(t, func(h house) {
		from, to := h.create(space.Draft{Type: space.Room, Name: "101"}), h.create(space.Draft{Type: space.Room, Name: "102"})
		rooms := []space.Listed{listed("r1", space.Room, "101", ""), listed("r2", space.Room, "102", "")}
		h.read(append(rooms, listed("b", space.Bed, "A", "r1"))...)
		h.bind("r1", from.ID)
		h.bind("r2", to.ID)
		stay := space.Request{ExternalID: "b", ExternalParentID: "r2"}
		if p, _ := h.resolve(stay); p.Space != nil || p.Doubt != space.SpacesDisagree {
			t.Fatalf("before the reading: %v, %s", p.Space, p.Doubt)
		}
		r := h.read(append(rooms, listed("b", space.Bed, "A", "r2"))...)
		if p, _ := h.resolve(stay); id(p.Space) != to.ID {
			t.Fatalf("after the reading: %v", p.Space)
		}
		same(t, "affected", []space.External{{IntegrationID: itg, ID: "b"}}, r.AffectedStays.Externals)
	})
}

func BenchmarkResolve(b *testing.B) {
	d := dbtest.Open(b, "sqlite")
	err := d.Write(b.Context(), func(tx *db.Tx) error {
		if err := tx.Integration.Create().SetID(itg).SetPropertyID(prp).SetName("PMS").SetScopes([]string{}).Exec(tx.Context()); err != nil {
			return err
		}
		s, err := space.Create(tx, prp, space.Draft{Type: space.Room, Name: "101"})
		if err != nil {
			return err
		}
		if _, err := (space.Mappings{}).Record(tx, prp, itg, space.Reading{Spaces: []space.Listed{listed("r", space.Room, "101", "")}}); err != nil {
			return err
		}
		_, _, err = space.Mappings{}.Map(tx, prp, itg, "r", s.ID)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, reason, err := space.Resolve(d.View(b.Context()), space.Request{PropertyID: prp, IntegrationID: itg, ExternalID: "r"}); reason != "" || err != nil {
			b.Fatal(reason, err)
		}
	}
}

func TestClosedConflictsAreForgotten(t *testing.T) {
	each(t, func(h house) {
		h.write(func(tx *db.Tx) error {
			for id, closed := range map[string]time.Duration{"cfl_1": -time.Hour, "cfl_2": -time.Hour, "cfl_3": -time.Hour, "cfl_4": time.Hour, "cfl_open": 0} {
				create := tx.Conflict.Create().SetID(id).SetPropertyID(prp).SetIntegrationID(itg).SetKind(string(space.Missing)).SetExternalID(id).
					SetReservationIds([]string{}).SetOpenedAt(tx.Now().Add(-2 * time.Hour))
				if closed != 0 {
					create.SetClosedAt(tx.Now().Add(closed))
				}
				if err := create.Exec(tx.Context()); err != nil {
					return err
				}
			}
			for _, want := range []int{2, 1, 0} {
				if n, err := space.ForgetConflicts(tx, tx.Now(), 2); err != nil || n != want {
					h.t.Errorf("forgot %d, %v, want %d", n, err, want)
				}
			}
			if left, err := tx.Conflict.Query().Count(tx.Context()); err != nil || left != 2 {
				h.t.Errorf("%d left, %v: want the open one and the one closed since", left, err)
			}
			return nil
		})
	})
}
