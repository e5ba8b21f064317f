package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/sandbox"
)

// push sends a reservation for today as the PMS does.
func push(t *testing.T, w *sandbox.World, id, number, first, last, state, room string, nights int) {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	today := time.Now().In(zone)
	fields := map[string]any{
		"pmsNumber": number, "booker": map[string]any{"firstName": first, "lastName": last}, "state": state,
		"fromDate": today.Format(time.DateOnly), "toDate": today.AddDate(0, 0, nights).Format(time.DateOnly),
	}
	if room != "" {
		fields["roomId"] = room
	}
	answer, err := w.PMS.Push(t.Context(), id, fields)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("push %s: %v, %v", id, answer, err)
	}
}

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

// Who is in a room now, and who opened its door since yesterday.
func TestSpaceShow(t *testing.T) {
	s, w := newWorld(t)
	s.ok("space show 'Room 101'", "Room 101", "No guest is checked in here", "No use of a code and no remote unlock is recorded")
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "started", "R101", 2)
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(s.ok("reservation show 4711"), "verified") {
		if time.Now().After(deadline) {
			t.Fatal("the code does not become verified")
		}
	}
	answer, err := w.PMS.Do(t.Context(), http.MethodGet, "/v1/reservations/find?pmsId=B-1&extend=pin", nil)
	if err != nil {
		t.Fatal(err)
	}
	pin, _ := answer.Data()["pin"].(string)
	press, err := w.TypePIN(t.Context(), w.Spaces["Room 101"], pin)
	if err != nil || !press.Opened {
		t.Fatalf("%q does not open: %+v, %v", pin, press, err)
	}
	for !strings.Contains(s.ok("space show 'Room 101'"), "The guest's code opened Room 101.") {
		if time.Now().After(deadline) {
			t.Fatal("the opening is not shown")
		}
	}
	out := s.ok("space show 'Room 101'", "4711", "Ada Lovelace", "guest")
	if strings.Contains(out, pin) {
		t.Error("the PIN is shown")
	}
	s.ok("space show 'Room 102'", "No guest is checked in here")

	shown := showJSON(t, s, "Room 101")
	if shown.Space.Name != "Room 101" || len(shown.Guests) != 1 || shown.Guests[0].PmsNumber != "4711" || len(shown.Openings) == 0 || *shown.Truncated {
		t.Fatalf("space show --json: %+v", shown)
	}
	if o := shown.Openings[0]; o.PmsNumber != "4711" || o.Step.Kind == "" || o.Step.At.IsZero() {
		t.Errorf("space show --json: opening %+v", o)
	}
	if empty := showJSON(t, s, "Room 102"); empty.Guests == nil || empty.Openings == nil {
		t.Errorf("space show --json of an empty room has no empty lists: %+v", empty)
	}

	code := id(s.json("code create Ana --door 'Room 101'"))
	for !strings.Contains(s.ok("code show "+code), "verified") {
		if time.Now().After(deadline) {
			t.Fatal("the staff code does not become verified")
		}
	}
	press, err = w.TypePIN(t.Context(), w.Spaces["Room 101"], s.json("code reveal " + code)["pin"].(string))
	if err != nil || !press.Opened {
		t.Fatalf("the staff code does not open: %+v, %v", press, err)
	}
	for !strings.Contains(s.ok("space show 'Room 101'", "The guest's code opened Room 101."), `Room 101 was opened with the staff code of "Ana".`) {
		if time.Now().After(deadline) {
			t.Fatal("the opening with the staff code is not shown")
		}
	}
	if shown := showJSON(t, s, "Room 101"); len(shown.CodeUses) != 1 || shown.CodeUses[0].Holder != "Ana" || !shown.CodeUses[0].Opened {
		t.Errorf("space show --json: code uses %+v", shown.CodeUses)
	}

	const unlocked = "Staff unlocked Room %d remotely."
	for room, guests := range map[int]string{101: "Ada Lovelace", 102: "No guest is checked in here"} {
		s.ok(fmt.Sprintf("lock unlock 'Room %d'", room))
		out := s.ok(fmt.Sprintf("space show 'Room %d'", room), guests)
		if n := strings.Count(out, fmt.Sprintf(unlocked, room)); n != 1 {
			t.Errorf("%d remote unlocks of Room %d are shown, want 1:\n%s", n, room, out)
		}
	}
	if shown := showJSON(t, s, "Room 102"); len(shown.RemoteUnlocks) != 1 || shown.RemoteUnlocks[0].At.IsZero() || *shown.Truncated {
		t.Errorf("space show --json: remote unlocks %+v", shown.RemoteUnlocks)
	}
}

type shownSpace struct {
	Space    struct{ Name string }
	Guests   []struct{ PmsNumber string }
	Openings []struct {
		PmsNumber string
		Step      struct {
			Kind string
			At   time.Time
		}
	}
	CodeUses []struct {
		Holder string
		Opened bool
	}
	RemoteUnlocks []struct{ At time.Time }
	Truncated     *bool
}

func showJSON(t *testing.T, s *shell, room string) shownSpace {
	t.Helper()
	var answer struct{ Data shownSpace }
	if err := json.Unmarshal([]byte(s.ok("space show '"+room+"' --json")), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Data.Truncated == nil {
		t.Fatalf("space show --json says nothing of truncation: %+v", answer.Data)
	}
	return answer.Data
}

// A room with many stays shows all guests, and reports that not all stays were checked.
func TestSpaceShowOfManyStays(t *testing.T) {
	s, w := newWorld(t)
	const limited = "Only the latest 20 stays of each day were checked."
	for i := range mostChecked + 1 {
		if i == mostChecked {
			if out := s.ok("space show 'Room 101'"); strings.Contains(out, limited) {
				t.Errorf("says that it left out stays:\n%s", out)
			}
		}
		push(t, w, fmt.Sprintf("M-%d", i), fmt.Sprintf("%d", 5000+i), "Ada", "Lovelace", "started", "R101", 2)
	}
	if shown := showJSON(t, s, "Room 101"); len(shown.Guests) != mostChecked+1 || !*shown.Truncated {
		t.Errorf("space show --json: %d guests, truncated %v", len(shown.Guests), *shown.Truncated)
	}
	out := s.ok("space show 'Room 101'", limited)
	for i := range mostChecked + 1 {
		if number := fmt.Sprintf("%d", 5000+i); !strings.Contains(out, number) {
			t.Errorf("the guest of %s is not shown:\n%s", number, out)
		}
	}
}
