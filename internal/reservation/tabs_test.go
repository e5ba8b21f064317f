package reservation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// tab lists the PMS's ids of a list of a day, in pages.
func (h *testProperty) tab(day string, tab reservation.Tab, size int) string {
	h.t.Helper()
	view := h.db.View(h.ctx())
	row, err := property.Get(view, h.id)
	h.must(err)
	var ids []string
	for q := (reservation.DayQuery{Day: day, Tab: tab, Size: size}); ; {
		rows, next, err := reservation.ListDay(view, row, q)
		h.must(err)
		for _, r := range rows {
			ids = append(ids, r.PmsID)
		}
		if q.Token = next; next == "" {
			return strings.Join(ids, " ")
		}
	}
}

// inOrder sorts the words of a text.
func inOrder(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func (h *testProperty) stay(id, from, to, state string) {
	h.t.Helper()
	h.put(with(booking(id, "r1"), reservation.From, "2026-11-"+from+":00+01:00", reservation.To, "2026-11-"+to+":00+01:00", reservation.State, state))
}

func TestTabsOfADay(t *testing.T) {
	neighbours(t, func(t *testing.T, h, other *testProperty) {
		h.stay("late", "18T15:00", "20T11:00", "started") // should have left yesterday
		h.stay("left", "18T15:00", "21T11:00", "started")
		h.put(state("left", "processed"))
		h.stay("sooner", "18T17:00", "24T11:00", "started")
		h.put(state("sooner", "processed"))
		h.stay("leaves", "18T16:00", "21T10:00", "started")
		h.stay("stays", "19T15:00", "24T11:00", "started")
		h.stay("came", "21T08:00", "23T11:00", "started")
		h.stay("comes", "21T15:00", "23T11:00", "confirmed")
		h.stay("gone", "21T15:00", "23T11:00", "canceled")
		h.stay("noShow", "20T15:00", "21T11:00", "confirmed")
		h.stay("early", "22T15:00", "23T11:00", "started") // an upgrade of dates: checked in, and of a later day
		h.put(with(booking("years", "r1"), reservation.From, "2026-11-18T15:00:00+01:00", reservation.To, "2028-01-18T11:00:00+01:00", reservation.State, "started"))
		h.put(state("years", "processed")) // it should have ended so much later that no list reads so far
		other.stay("X", "21T15:00", "23T11:00", "confirmed")
		for _, tt := range []struct {
			day  string
			tab  reservation.Tab
			want string
		}{
			{"", reservation.Arrivals, "came comes"},
			{"2026-11-21", reservation.Arrivals, "came comes"},
			{"", reservation.InHouse, "late leaves stays came"},
			{"", reservation.Departures, "leaves left sooner"},
			{"2026-11-20", reservation.InHouse, "late left years leaves sooner stays noShow"},
			{"2026-11-22", reservation.InHouse, "stays came comes early"},
			{"2026-11-23", reservation.Departures, "came early"},
			{"2026-11-24", reservation.Departures, "stays"},
			{"2026-11-25", reservation.Departures, ""},
		} {
			for _, size := range []int{1, 2, 50} {
				got := h.tab(tt.day, tt.tab, size)
				if tt.day == "2026-11-23" { // both end at the same moment: the id decides
					got = inOrder(got)
				}
				if got != tt.want {
					t.Errorf("%s of %q in pages of %d: %q, want %q", tt.tab, tt.day, size, got, tt.want)
				}
			}
		}
		row, err := property.Get(h.db.View(h.ctx()), h.id)
		h.must(err)
		counts, err := reservation.CountDay(h.db.View(h.ctx()), row, "")
		h.must(err)
		want := reservation.DayCounts{Day: "2026-11-21", Arrivals: 2, ArrivalsLeft: 1, InHouse: 4, Departures: 3, DeparturesLeft: 1}
		same(t, "the numbers", fmt.Sprint(want), fmt.Sprint(counts))
		_, _, err = reservation.ListDay(h.db.View(h.ctx()), row, reservation.DayQuery{Day: "21.11.", Size: 1})
		refuse(t, err, fault.InvalidFields)
		h.put(with(booking("nowhere", "unknown"), reservation.From, "2026-11-21T15:00:00+01:00", reservation.To, "2026-11-23T11:00:00+01:00"))
		arrivals, _, err := reservation.CountArrivals(h.db.View(h.ctx()), row, "")
		h.must(err)
		same(t, "the arrivals in each space", fmt.Sprint(map[string]int{h.at("r1"): 2, "": 1}), fmt.Sprint(arrivals))
		for text, reason := range map[string]fault.Reason{"21.11.": fault.BadFormat, "1969-12-31": fault.OutOfRange, "9001-01-01": fault.OutOfRange} {
			_, _, err = reservation.CountArrivals(h.db.View(h.ctx()), row, text)
			if f, ok := fault.Of(err); !ok || len(f.Fields) != 1 || f.Fields[0].Reason != reason {
				t.Errorf("%s: %v", text, err)
			}
		}
		_, date, err := reservation.CountArrivals(h.db.View(h.ctx()), row, "")
		h.must(err)
		same(t, "the day", "2026-11-21", date)
	})
}

// A check-out that was taken back does not count: the guest is in house until the later one.
func TestTabsAfterACheckOutThatWasTakenBack(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.stay("A", "18T15:00", "22T11:00", "started")
		for _, s := range []string{"processed", "started"} {
			h.put(state("A", s))
			h.clock.Advance(time.Minute)
		}
		h.clock.Advance(24 * time.Hour)
		h.put(state("A", "processed")) // on the 22nd
		h.clock.Advance(24 * time.Hour)
		same(t, "in house on the 22nd", "A", h.tab("2026-11-22", reservation.InHouse, 10))
		same(t, "departures of the 21st", "", h.tab("2026-11-21", reservation.Departures, 10))
		same(t, "departures of the 22nd", "A", h.tab("2026-11-22", reservation.Departures, 10))
	})
}

// A day whose midnight a clock change skips begins with the change.
func TestDayWithoutMidnight(t *testing.T) {
	property := &ent.Property{ID: "prp_one", TimeZone: "America/Santiago"}
	begins, ends := time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC), time.Date(2026, 9, 7, 3, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		day string
		now time.Time
	}{
		"by its date":  {"2026-09-06", time.Time{}},
		"today, noon":  {"", begins.Add(12 * time.Hour)},
		"today, first": {"", begins},
		"today, last":  {"", ends.Add(-time.Second)},
	} {
		from, to, err := reservation.Day(property, tt.day, tt.now)
		if err != nil || !from.Equal(begins) || !to.Equal(ends) {
			t.Errorf("%s: from %s to %s, %v", name, from, to, err)
		}
	}
	if _, to, err := reservation.Day(property, "2026-09-05", begins); err != nil || !to.Equal(begins) {
		t.Errorf("the day before ends at %s, %v", to, err)
	}
}

// The lists of the current day are read from indexes: no statement reads all reservations.
func TestTabsUseIndexes(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(booking("A", "r1"))
		view := h.db.View(h.ctx())
		row, err := property.Get(view, h.id)
		h.must(err)
		statements := dbtest.Statements(t, nil, func() {
			for _, tab := range []reservation.Tab{reservation.Arrivals, reservation.InHouse, reservation.Departures} {
				_, _, err := reservation.ListDay(view, row, reservation.DayQuery{Tab: tab, Size: 10})
				h.must(err)
			}
			_, err := reservation.CountDay(view, row, "")
			h.must(err)
			_, _, err = reservation.CountArrivals(view, row, "")
			h.must(err)
		})
		if len(statements) < 8 {
			t.Fatalf("%d statements were seen", len(statements))
		}
		for _, scan := range dbtest.FullScans(t, h.db, []string{"reservations"}, statements) {
			t.Error(scan)
		}
	})
}
