package space_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/watch"
)

const (
	prp, other = "prp_one", "prp_two"
	itg        = "int_one"
)

// house is a property with an integration, on one database.
type house struct {
	t *testing.T
	d *db.DB
	m space.Mappings
}

func each(t *testing.T, f func(h house)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := house{t: t, d: d, m: space.Mappings{Affected: func(_ *db.Tx, _, _ string, ids []string) ([]string, error) {
			return []string{"rsv_" + ids[0]}, nil
		}}}
		h.write(func(tx *db.Tx) error {
			for p, i := range map[string]string{prp: itg, other: "int_two"} {
				if err := tx.Property.Create().SetID(p).SetName(p).SetTimeZone("UTC").Exec(tx.Context()); err != nil {
					return err
				}
				if err := tx.Integration.Create().SetID(i).SetPropertyID(p).SetName("PMS").SetScopes([]string{}).Exec(tx.Context()); err != nil {
					return err
				}
			}
			return nil
		})
		f(h)
	})
}

func (h house) ctx() context.Context { return h.t.Context() }

func (h house) write(f func(tx *db.Tx) error) {
	h.t.Helper()
	if err := h.d.Write(h.ctx(), f); err != nil {
		h.t.Fatal(err)
	}
}

func textOf(n *ent.Notice) string { return notice.Text(n, message.Reader{}) }

// refuse runs a change that must fail with a reason.
func (h house) refuse(reason fault.Reason, f func(tx *db.Tx) error) {
	h.t.Helper()
	if err := h.d.Write(h.ctx(), f); !fault.Has(err, reason) {
		h.t.Errorf("got %v, want the reason %s", err, reason)
	}
}

func (h house) create(d space.Draft) (s *ent.Space) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) { s, err = space.Create(tx, prp, d); return })
	return s
}

func (h house) read(spaces ...space.Listed) (r space.Recorded) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		r, err = h.m.Record(tx, prp, itg, space.Reading{Spaces: spaces})
		return
	})
	return r
}

func (h house) bind(external, own string) (touched space.AffectedStays) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) { _, touched, err = h.m.Map(tx, prp, itg, external, own); return })
	return touched
}

func (h house) resolve(r space.Request) (space.Place, string) {
	h.t.Helper()
	if r.PropertyID == "" {
		r.PropertyID, r.IntegrationID = prp, itg
	}
	p, reason, err := space.Resolve(h.d.View(h.ctx()), r)
	if err != nil {
		h.t.Fatal(err)
	}
	h.resolvesAmongOthers(r, space.Resolution{Place: p, Reason: reason})
	return p, reason
}

// resolvesAmongOthers checks that a request resolves alike together with requests for each space of the property and of its PMSs.
func (h house) resolvesAmongOthers(r space.Request, want space.Resolution) {
	h.t.Helper()
	all := []space.Request{{PropertyID: r.PropertyID, IntegrationID: r.IntegrationID}, r}
	for _, s := range h.d.View(h.ctx()).Space.Query().AllX(h.ctx()) {
		all = append(all, space.Request{PropertyID: r.PropertyID, OwnID: s.ID})
	}
	for _, s := range h.d.View(h.ctx()).PartnerSpace.Query().AllX(h.ctx()) {
		all = append(all, space.Request{PropertyID: r.PropertyID, IntegrationID: s.IntegrationID, ExternalID: s.ExternalID, ExternalParentID: s.ParentExternalID})
	}
	got, err := space.ResolveAll(h.d.View(h.ctx()), all)
	if err != nil {
		h.t.Fatal(err)
	}
	if d := cmp.Diff(want, got[1], cmpopts.IgnoreUnexported(ent.Space{})); d != "" || got[0].Reason != space.RoomNotAssigned {
		h.t.Errorf("%+v among others: %s; no room: %q", r, d, got[0].Reason)
	}
}

func (h house) open() []string {
	h.t.Helper()
	list, total, err := space.ListConflicts(h.d.View(h.ctx()), prp, space.ConflictFilter{})
	if err != nil || total != len(list) {
		h.t.Fatal(err, total)
	}
	var all []string
	for _, c := range list {
		all = append(all, c.Kind+" "+c.ExternalID)
	}
	return all
}

func (h house) events() []string {
	h.t.Helper()
	rows, err := h.d.View(h.ctx()).Event.Query().Where(entevent.Subject(itg)).Order(entevent.BySubjectSequence()).All(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	var all []string
	for _, e := range rows {
		all = append(all, fmt.Sprint(e.Kind, " ", e.Body["kind"], " ", e.Body["spaceId"]))
	}
	return all
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func listed(id, kind, name, parent string) space.Listed {
	return space.Listed{ExternalID: id, Type: kind, Name: name, ParentExternalID: parent, IsPrivate: kind == space.Room, IsActive: true}
}

func TestSpaces(t *testing.T) {
	each(t, func(h house) {
		room := h.create(space.Draft{Type: space.Room, Name: " 101 ", Floor: "1"})
		dorm := h.create(space.Draft{Type: space.Dorm, Name: "Dorm"})
		bed := h.create(space.Draft{Type: space.Bed, Name: "1", ParentID: dorm.ID})
		if !room.IsPrivate || dorm.IsPrivate || bed.IsPrivate || room.Name != "101" || !room.IsActive {
			t.Errorf("room %v, dorm %v, bed %v", room, dorm, bed)
		}
		for reason, d := range map[fault.Reason]space.Draft{
			fault.AlreadyExists: {Type: space.Room, Name: "101"},
			fault.InvalidFields: {Type: space.Bed, Name: "2", ParentID: room.ID},
		} {
			h.refuse(reason, func(tx *db.Tx) error { _, err := space.Create(tx, prp, d); return err })
		}
		err := h.d.Write(h.ctx(), func(tx *db.Tx) error {
			_, err := space.Create(tx, prp, space.Draft{Type: "Suite", Name: "a\x00", Floor: strings.Repeat("x", 65), ParentID: dorm.ID})
			return err
		})
		if f, ok := fault.Of(err); !ok || len(f.Fields) != 4 {
			t.Errorf("got %v, want every wrong field named: type, name, floor, parentSpaceId", err)
		}
		h.refuse(fault.InvalidFields, func(tx *db.Tx) error {
			_, err := space.Create(tx, other, space.Draft{Type: space.Bed, Name: "1", ParentID: dorm.ID})
			return err
		})
		h.refuse(fault.SpaceNotFound, func(tx *db.Tx) error { _, _, err := space.Update(tx, other, room.ID, space.Change{}); return err })
		h.refuse(fault.SpaceNotFound, func(tx *db.Tx) error { _, err := space.Delete(tx, other, room.ID); return err })
		h.refuse(fault.InUse, func(tx *db.Tx) error { _, err := space.Delete(tx, prp, dorm.ID); return err })
		asRoom := space.Room
		h.refuse(fault.InUse, func(tx *db.Tx) error {
			_, _, err := space.Update(tx, prp, dorm.ID, space.Change{Type: &asRoom})
			return err
		})
		h.refuse(fault.InvalidFields, func(tx *db.Tx) error {
			_, _, err := space.Update(tx, prp, bed.ID, space.Change{Type: &asRoom})
			return err
		})

		off := false
		h.write(func(tx *db.Tx) error {
			_, touched, err := space.Update(tx, prp, dorm.ID, space.Change{IsActive: &off})
			same(t, "a dorm touches its beds", space.AffectedStays{SpaceIDs: []string{dorm.ID, bed.ID}}, touched)
			return err
		})
		list, total, err := space.List(h.d.View(h.ctx()), prp, space.Filter{Page: space.Page{Limit: 2, Number: 1}})
		if err != nil || total != 3 || len(list) != 1 || list[0].ID != dorm.ID {
			t.Errorf("second page: %v, %d, %v", list, total, err)
		}
		for name, f := range map[string]space.Filter{"type": {Type: space.Bed}, "parent": {ParentID: dorm.ID}} {
			list, total, err := space.List(h.d.View(h.ctx()), prp, f)
			if err != nil || total != 1 || list[0].ID != bed.ID {
				t.Errorf("filter %s: %v, %d, %v", name, list, total, err)
			}
		}
		h.write(func(tx *db.Tx) error {
			_, err := space.Delete(tx, prp, bed.ID)
			if err == nil {
				_, err = space.Delete(tx, prp, dorm.ID)
			}
			return err
		})
		if _, total, _ := space.List(h.d.View(h.ctx()), prp, space.Filter{}); total != 1 {
			t.Errorf("%d spaces left, want 1", total)
		}
	})
}

func TestGates(t *testing.T) {
	each(t, func(h house) {
		a, b := h.create(space.Draft{Type: space.Room, Name: "a"}), h.create(space.Draft{Type: space.Room, Name: "b"})
		var all, some *ent.Gate
		h.write(func(tx *db.Tx) (err error) {
			var touched space.AffectedStays
			if all, touched, err = space.CreateGate(tx, prp, space.GateDraft{Name: "Front"}); !touched.All {
				t.Error("a gate for all touches all")
			}
			if err == nil {
				some, touched, err = space.CreateGate(tx, prp, space.GateDraft{Name: "Back", SpaceIDs: []string{a.ID, a.ID}})
				same(t, "touched", space.AffectedStays{SpaceIDs: []string{a.ID}}, touched)
			}
			return err
		})
		spaces := func() map[string][]string {
			list, _, err := space.ListGates(h.d.View(h.ctx()), prp, space.GateFilter{})
			if err != nil {
				t.Fatal(err)
			}
			names := map[string][]string{}
			for _, g := range list {
				names[g.Name] = g.SpaceIds
			}
			return names
		}
		same(t, "spaces", map[string][]string{"Front": {}, "Back": {a.ID}}, spaces())
		h.refuse(fault.AlreadyExists, func(tx *db.Tx) error {
			_, _, err := space.CreateGate(tx, prp, space.GateDraft{Name: "Front"})
			return err
		})
		h.refuse(fault.InvalidFields, func(tx *db.Tx) error {
			_, _, err := space.CreateGate(tx, other, space.GateDraft{Name: "x", SpaceIDs: []string{a.ID}})
			return err
		})
		h.refuse(fault.GateNotFound, func(tx *db.Tx) error { _, err := space.DeleteGate(tx, other, all.ID); return err })
		h.refuse(fault.InUse, func(tx *db.Tx) error { _, err := space.Delete(tx, prp, a.ID); return err })
		h.write(func(tx *db.Tx) error {
			_, touched, err := space.UpdateGate(tx, prp, some.ID, space.GateChange{SpaceIDs: &[]string{b.ID}})
			same(t, "touched", space.AffectedStays{SpaceIDs: []string{a.ID, b.ID}}, touched)
			return err
		})
		same(t, "spaces", map[string][]string{"Front": {}, "Back": {b.ID}}, spaces())
		atGate, err := space.StaysAtDoors(h.d.View(h.ctx()), prp, some.ID)
		if err != nil || !slices.Equal(atGate.SpaceIDs, []string{b.ID, some.ID}) { // the gate: a guest who leaves a may have its code still
			t.Errorf("stays at a gate: %v, %v", atGate, err)
		}
		h.write(func(tx *db.Tx) error { _, err := space.DeleteGate(tx, prp, all.ID); return err })
		list, total, err := space.ListGates(h.d.View(h.ctx()), prp, space.GateFilter{})
		if err != nil || total != 1 || list[0].ID != some.ID {
			t.Errorf("%v, %d, %v", list, total, err)
		}
	})
}

func TestManyNewSpacesMakeOneNotice(t *testing.T) {
	each(t, func(h house) {
		h.read(space.Listed{ExternalID: "old", Type: space.Room, Name: "Old", IsActive: true})
		all := []space.Listed{{ExternalID: "old", Type: space.Room, Name: "Old", IsActive: true}}
		for i := range 41 {
			all = append(all, space.Listed{ExternalID: fmt.Sprintf("R%02d", i), Type: space.Room, Name: fmt.Sprintf("Room %02d", i), IsActive: true})
		}
		h.read(all...)
		h.read(all...)
		rows := h.d.View(h.ctx()).Notice.Query().AllX(h.ctx())
		if len(rows) != 1 {
			h.t.Fatalf("%d notices of 41 new spaces, want 1", len(rows))
		}
		for _, want := range []string{"41 new conflicts", "Room 00", "And 38 more.", "Reservations affected: 41."} {
			if !strings.Contains(textOf(rows[0]), want) {
				h.t.Errorf("the notice lacks %q: %s", want, textOf(rows[0]))
			}
		}
		if n := h.d.View(h.ctx()).Conflict.Query().CountX(h.ctx()); n != 41 {
			h.t.Errorf("%d conflicts, want 41", n)
		}
		isOpen := func() bool { return h.d.View(h.ctx()).Notice.Query().OnlyX(h.ctx()).OnceKey != nil }
		h.read(append(all[:1:1], all[2:]...)...) // the first of the new spaces is gone
		if !isOpen() {
			h.t.Error("the notice is resolved while 40 conflicts are open")
		}
		h.read(all[0])
		if isOpen() {
			h.t.Error("the notice is open after the last conflict closed")
		}
	})
}

// The notice about several new spaces is resolved when staff have dismissed all of them.
func TestDismissedSpacesResolveTheirNotice(t *testing.T) {
	each(t, func(h house) {
		old, a, b := listed("old", space.Room, "Old", ""), listed("a", space.Room, "A", ""), listed("b", space.Room, "B", "")
		h.read(old)
		h.read(old, a, b)
		rows := h.d.View(h.ctx()).Conflict.Query().AllX(h.ctx())
		if len(rows) != 2 {
			h.t.Fatalf("%d conflicts, want 2", len(rows))
		}
		for i, row := range rows {
			notified := dbtest.Notified(h.d, func() {
				h.write(func(tx *db.Tx) error {
					_, err := h.m.ApplyCure(tx, row, space.Cure{Kind: space.CureNotOurs})
					return err
				})
			})
			if n := h.d.View(h.ctx()).Notice.Query().OnlyX(h.ctx()); (n.OnceKey != nil) != (i == 0) {
				h.t.Errorf("after %d of 2: the notice is open: %v", i+1, n.OnceKey != nil)
			}
			if !slices.Contains(notified, watch.Key{PropertyID: prp, Topic: watch.Spaces, ID: itg}) {
				h.t.Errorf("notified: %v", notified)
			}
		}
	})
}
