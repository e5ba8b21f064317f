package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

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

// The server returns the latest uses only: where all of them are recent, older recent ones may be missing.
func TestUsesSinceSaysWhenSomeMayBeMissing(t *testing.T) {
	since := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	use := func(at time.Time) *propertyv1.CodeUse { return &propertyv1.CodeUse{At: timestamppb.New(at)} }
	var uses []*propertyv1.CodeUse
	for range maxCodeUses - 1 {
		uses = append(uses, use(since))
	}
	if recent, more := usesSince(append(uses, use(since.Add(-time.Second))), since); len(recent) != maxCodeUses-1 || more {
		t.Errorf("with an older use: %d are recent, more: %v", len(recent), more)
	}
	if recent, more := usesSince(append(uses, use(since)), since); len(recent) != maxCodeUses || !more {
		t.Errorf("with recent uses alone: %d are recent, more: %v", len(recent), more)
	}
}

func TestSpacesAreInNaturalOrder(t *testing.T) {
	space := func(id, kind, name, dorm string) *propertyv1.Space {
		return &propertyv1.Space{Id: id, Type: kind, Name: name, ParentSpaceId: &dorm}
	}
	list := []*propertyv1.Space{
		space("a", "Bed", "1", "d"), space("b", "Room", "101", ""), space("c", "Bed", "10", "d"), space("e", "Room", "12", ""), space("f", "Room", "2", ""),
		space("g", "Bed", "2", "d"), space("h", "Room", "Annex 007", ""), space("d", "Dorm", "Dorm A", ""), space("i", "Room", "annex 10", ""),
		space("j", "Bed", "1", "elsewhere"),
	}
	var got []string
	for _, sp := range sortedSpaces(list) {
		got = append(got, sp.GetId())
	}
	if want := "j f e b h i d a g c"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if list[0].GetId() != "a" {
		t.Error("the answer itself was sorted")
	}
}
