package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Staff find stays by what they know: a name, a number, the PMS's id, a room.
func TestReservationsByName(t *testing.T) {
	s, w := newWorld(t)
	s.ok("reservation list", "No reservation matches")
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "started", "R101", 2)
	push(t, w, "B-2", "4712", "Charles", "Babbage", "confirmed", "R102", 3)
	push(t, w, "B-3", "4713", "Grace", "Lovett", "confirmed", "R999", 3)
	push(t, w, "B-4", "4714", "", "Turing", "confirmed", "", 1)
	has := func(command string, wanted ...string) {
		t.Helper()
		out := s.ok(command)
		for _, number := range []string{"4711", "4712", "4713", "4714"} {
			want := false
			for _, w := range wanted {
				want = want || w == number
			}
			if strings.Contains(out, number) != want {
				t.Errorf("%s: %s must be there: %v\n%s", command, number, want, out)
			}
		}
	}
	has("reservation list", "4711", "4712", "4713", "4714")
	has("reservations list --day today --state started", "4711")
	has("reservation list --day yesterday")
	has("reservation list --space 'room 102'", "4712")
	has("reservation list --limit 2 --state confirmed --space 'Room 102'", "4712")
	has("reservation find ada", "4711")
	has("reservation find LOV", "4711", "4713")
	has("reservation find 4712", "4712")
	has("reservation find B-4", "4714")
	has("reservation find 'Room 101'", "4711")
	s.ok("reservation list --limit 1", "There are more. To see them: --limit 2")
	has("reservation find 102", "4712")
	s.ok("reservation find unknown", "No guest, number, group or room matches")
	s.ok("reservation show 4711", "Ada Lovelace", "Room 101", "started", "B-1", "rsv_", "Front door")
	answer, err := w.PMS.Push(t.Context(), "B-1", map[string]any{"adultCount": 2, "owing": 84.5, "owingCurrency": "EUR", "booker": map[string]any{"mobile": "+351912345678"}})
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("push what is owed: %v, %v", answer, err)
	}
	s.ok("reservation show 4711", "adults", "84.50 EUR", "+351912345678")
	s.ok("reservation show turing", "No room has been assigned")
	s.ok("reservation explain B-1", "The guest was checked in")
	s.ok("reservations explain 4713", "not known to the lock system")
	s.fails(1, "reservation explain lov", "matches more than one reservation", "rsv_", "4711, Ada Lovelace, Room 101", "4713, Grace Lovett, R999")
	s.fails(1, "reservation show unknown", "there is no reservation unknown", "latchkey reservation find")
	s.ok("reservation find 101", "4711")
	s.fails(1, "guest erase 101 --yes", "there is no reservation 101") // a room names no guest
	s.fails(1, "guest erase ' ' --yes", "there is no reservation")
	s.fails(1, "reservation list --space 999", "there is no space 999")
	s.fails(1, "reservation list --day someday", "--day must be a day")
	s.fails(1, "reservation list --limit 0", "--limit")
	s.ok("space create 'Dorm 5' --type Dorm")
	s.ok("space create 'Bed A' --type Bed --dorm 'Dorm 5'")
	has("reservation find 'Bed A'")
	var shown struct {
		Data struct {
			Reservation struct{ LastName string }
			Explanation struct {
				Doors []struct{ Name, Verdict string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.ok("reservation show 4711 --json")), &shown); err != nil {
		t.Fatal(err)
	}
	if d := shown.Data; d.Reservation.LastName != "Lovelace" || len(d.Explanation.Doors) != 2 || d.Explanation.Doors[0].Verdict == "" {
		t.Errorf("reservation show --json: %+v", d)
	}
	s.ok("arrivals", "Grace Lovett", "not ready", "R999", "Charles Babbage", "Room 102", "15:00", "latchkey reservation explain")
	has("arrivals --bad", "4713", "4714")
	s.ok("arrivals --date 2020-01-01", "No arrivals")
}
