package readiness_test

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/readiness"
)

// The statuses of many arrivals come from their last checks. Those without a check, or whose check is long due, are judged up to a limit, guests who
// have not checked in first.
func TestStatuses(t *testing.T) {
	each(t, func(h *testProperty) {
		h.at(24 * time.Hour) // stores a check of the first arrival
		h.push(reservation.Patch{reservation.PMSID: "B-2", reservation.OwnSpaceID: "spc_1", reservation.State: "started"})
		h.push(reservation.Patch{reservation.PMSID: "B-3", reservation.State: "confirmed"})
		h.push(reservation.Patch{reservation.PMSID: "B-4", reservation.OwnSpaceID: "spc_1", reservation.State: "started"})
		statuses := func(most int) []readiness.Status {
			t.Helper()
			view := h.db.View(h.Context())
			row, err := property.Get(view, "prp_1")
			if err != nil {
				t.Fatal(err)
			}
			rows, _, err := reservation.ListDay(view, row, reservation.DayQuery{Day: begins.Format(time.DateOnly), Tab: reservation.Arrivals, Size: 10})
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(rows, func(a, b *reservation.Row) int { return int(a.PmsID[2]) - int(b.PmsID[2]) })
			out, err := readiness.Statuses(view, reservation.Service{Keys: h.keys}, row, rows, most)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		all := statuses(10)
		for _, c := range []struct {
			what string
			most int
			want []readiness.Status
		}{
			{"none is judged", 0, []readiness.Status{all[0], "", "", ""}},
			{"the stay that has not checked in is first", 1, []readiness.Status{all[0], "", readiness.AtRisk, ""}},
			{"then in their order", 2, []readiness.Status{all[0], all[1], readiness.AtRisk, ""}},
		} {
			if got := statuses(c.most); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.what, got, c.want)
			}
		}
		if slices.Contains(all, "") {
			t.Errorf("not all are judged: %v", all)
		}
		h.clock.Set(h.clock.Now().Add(time.Hour)) // no check was made for long
		if got := statuses(0); got[0] != "" {
			t.Errorf("an old check counts: %v", got)
		}
	})
}

func TestListOfADay(t *testing.T) {
	each(t, func(h *testProperty) {
		row, err := property.Get(h.db.View(h.Context()), "prp_1")
		if err != nil {
			h.Fatal(err)
		}
		for _, tt := range []struct {
			day  string
			want int
		}{{"2026-11-22", 1}, {"2026-11-21", 0}, {"", 0}} {
			list, next, err := readiness.List(h.db.View(h.Context()), reservation.Service{}, row, reservation.DayQuery{Day: tt.day, Size: 5})
			if err != nil || len(list) != tt.want || next != "" {
				h.Errorf("%q: %v %q %v", tt.day, list, next, err)
			}
		}
		for _, q := range []reservation.DayQuery{{Day: "22.11.2026", Size: 5}, {Day: "2026-11-22", Size: 5, Token: "nonsense"}} {
			if _, _, err := readiness.List(h.db.View(h.Context()), reservation.Service{}, row, q); err == nil {
				h.Errorf("%+v is taken", q)
			}
		}
	})
}
