package reservation_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// Staff extend the access of a stay in house. The PMS's next change of the dates and the end of the stay end it; other changes keep it.
func TestExtendAccess(t *testing.T) {
	planned := time.Date(2026, 11, 24, 10, 30, 0, 0, time.UTC) // with the late-out minutes
	until := planned.Add(3 * time.Hour)
	for what, c := range map[string]struct {
		change reservation.Patch
		want   time.Time // zero: no access
	}{
		"another number":         {reservation.Patch{reservation.PMSID: "A", reservation.Number: "N-2"}, until},
		"another room":           {reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")}, until},
		"another departure":      {reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-25T11:00:00+01:00"}, planned.Add(24 * time.Hour)},
		"the departure is moved": {reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-24T10:00:00+01:00"}, planned.Add(-time.Hour)},
		"checked out":            {state("A", "processed"), time.Time{}},
		"canceled":               {state("A", "canceled"), time.Time{}},
	} {
		t.Run(what, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				s := h.put(booking("A", "r1"))
				extend := func(id string, until time.Time) (p access.Plan, err error) {
					err = h.db.Write(h.ctx(), func(tx *db.Tx) (err error) {
						p, err = h.service().ExtendAccess(tx, id, s.Row.ID, until, "staff:prs_1")
						return err
					})
					return p, err
				}
				if _, err := extend(h.id, until); !fault.Has(err, fault.NoAccess) {
					t.Errorf("before the check-in: %v", err)
				}
				h.checkIn("A", "r1", "r1", "g1")
				if _, err := extend("prp_other", until); err == nil {
					t.Error("another property extends the access")
				}
				p, err := extend(h.id, until)
				h.must(err)
				if p.Window == nil || !p.Window.To.Equal(until) {
					t.Fatalf("the window is %+v", p.Window)
				}
				same(t, "steps", 1, len(h.steps(s.Row.ID, "accessExtended")))
				plan := h.put(c.change).Plan
				if c.want.IsZero() != (plan.Window == nil) || plan.Window != nil && !plan.Window.To.Equal(c.want) {
					t.Errorf("the window is %+v, want the end %s", plan.Window, c.want)
				}
				if c.want.IsZero() {
					if again := h.put(state("A", "started")).Plan; again.Window == nil || !again.Window.To.Equal(planned) {
						t.Errorf("started again, the window is %+v", again.Window)
					}
				}
			})
		})
	}
}

// A change by the PMS of a stay that it gave by days keeps the extension, although it applies the property's new hours. Other days end it.
func TestExtensionOutlivesNewHours(t *testing.T) {
	for what, c := range map[string]struct {
		change reservation.Patch
		kept   bool
	}{
		"another number": {reservation.Patch{reservation.PMSID: "A", reservation.Number: "N-2"}, true},
		"the same days":  {reservation.Patch{reservation.PMSID: "A", reservation.FromDate: "2026-11-21", reservation.ToDate: "2026-11-24"}, true},
		"another day":    {reservation.Patch{reservation.PMSID: "A", reservation.ToDate: "2026-11-25"}, false},
		"a moment":       {reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-24T09:00:00+01:00"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				h.hours("15:00", "11:00", "Europe/Berlin")
				h.put(byDays("A", "r1", "2026-11-21", "2026-11-24"))
				s := h.put(state("A", "started"))
				until := s.Plan.Window.To.Add(5 * time.Hour)
				h.write(func(tx *db.Tx) error {
					_, err := h.service().ExtendAccess(tx, h.id, s.Row.ID, until, "staff:prs_1")
					return err
				})
				h.hours("15:00", "10:00", "Europe/Berlin")
				if p := h.put(c.change).Plan; p.Window.To.Equal(until) != c.kept {
					t.Errorf("the window ends at %s, the extension at %s", p.Window.To, until)
				}
				h.completeDays()
				if p := h.plan("A"); p.Window.To.Equal(until) != c.kept {
					t.Errorf("with the new hours, the window ends at %s, the extension at %s", p.Window.To, until)
				}
			})
		})
	}
}
