package main

import (
	"strings"
	"testing"
	"time"
)

// Staff extend the access of a stay, read its PIN and replace it, each with a reason.
func TestAccessOfAStay(t *testing.T) {
	s, w := newWorld(t)
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "confirmed", "R101", 1)
	s.fails(1, "reservation extend 4711 --until 23:59 --reason late", "in house")
	s.fails(1, "reservation reveal-pin 4711 --reason lost", "not in house")
	s.fails(1, "reservation replace-pin 4711 --reason lost", "not in house")
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "started", "R101", 1)
	tomorrow := time.Now().AddDate(0, 0, 1).UTC().Format(time.DateOnly)
	s.fails(2, "reservation extend 4711 --until 14:00", "--reason")
	s.fails(1, "reservation extend 4711 --until noon --reason late", "HH:MM")
	s.fails(1, "reservation extend 4711 --until '2031-01-01 14:00' --reason late", "--until", "24 hours")
	s.ok("reservation extend 4711 --until '"+tomorrow+" 23:00' --reason 'late flight'", "The access of 4711 lasts until", "23:00")
	before := s.first(`PIN +\d+`, s.ok("reservation reveal-pin 4711 --reason 'lost phone'"))
	s.ok("reservation replace-pin 4711 --reason 'showed it'", "4711 has a new PIN", "latchkey reservation explain --data-dir")
	if after := s.first(`PIN +\d+`, s.ok("reservation reveal-pin 4711 --reason 'lost phone'")); after == before {
		t.Errorf("the PIN is still %s", after)
	}
	s.ok("reservation explain 4711", "The access was extended until", "The PIN of the stay was shown.", "The PIN of the stay was replaced.")
	s.ok("audit list", "ExtendAccess", "late flight", "RevealPin", "ReplacePin")
	today := time.Now().UTC().Format(time.DateOnly)
	if list := s.ok("audit list --what ReservationService/RevealPin --from "+today+" --to "+today, "RevealPin"); strings.Contains(list, "ReplacePin") {
		t.Errorf("not filtered: %s", list)
	}
	s.ok("audit list --who staff:prs_0", "The audit log has no such entry.")
	s.fails(1, "audit list --from yesterday", "YYYY-MM-DD")
	s.fails(1, "audit list --limit 0", "--limit must be at least 1")
}

func TestNextTime(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 7, 1, 13, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"14:00": time.Date(2026, 7, 1, 14, 0, 0, 0, zone), "13:00": time.Date(2026, 7, 2, 13, 0, 0, 0, zone), "2026-07-03 09:30": time.Date(2026, 7, 3, 9, 30, 0, 0, zone),
	} {
		if got, err := nextTime(text, zone, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
