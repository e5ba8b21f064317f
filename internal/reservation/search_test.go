package reservation_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	entreservation "latchkey.dev/ent/reservation"
	entname "latchkey.dev/ent/reservationname"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

// booker opens who booked a reservation.
func (h *testProperty) booker(id string) reservation.Booker {
	h.t.Helper()
	b, err := h.service().Booker(h.ctx(), h.read(id))
	h.must(err)
	return b
}

// search gives the PMS's ids of what is found, page by page.
func (h *testProperty) search(text string, size int) []string {
	h.t.Helper()
	return h.searched(reservation.Search{Text: text}, size)
}

func (h *testProperty) searched(s reservation.Search, size int) []string {
	h.t.Helper()
	var ids []string
	for s.Size = size; ; {
		found, next, err := h.service().Search(h.db.View(h.ctx()), h.id, s)
		h.must(err)
		if len(found) > size {
			h.t.Errorf("a page of %d", len(found))
		}
		for _, f := range found {
			ids = append(ids, f.Row.PmsID)
		}
		if next == "" {
			return ids
		}
		s.Token = next
	}
}

// names counts what is indexed of a reservation.
func (h *testProperty) names(rsv string) int {
	h.t.Helper()
	n, err := h.db.View(h.ctx()).ReservationName.Query().Where(entname.ReservationID(rsv)).Count(h.ctx())
	h.must(err)
	return n
}

// named is a booking of a day in December.
func named(id, first, last, day string) reservation.Patch {
	return with(booking(id, "r1"), reservation.FirstName, first, reservation.LastName, last,
		reservation.From, "2026-12-"+day+"T15:00:00+01:00", reservation.To, "2026-12-30T11:00:00+01:00")
}

func TestSearch(t *testing.T) {
	neighbours(t, func(t *testing.T, h, other *testProperty) {
		h.put(named("A", "Jürgen", "Müller-Lüdenscheidt", "01"))
		h.put(named("B", "Anna", "Mulligan", "02"))
		h.put(named("C", "Bo", "Li", "03"))
		h.put(named("D", "Lisa", "O'Neil", "04"))
		h.put(named("E", "雷", "李小龙", "05"))
		h.put(named("F", "Anna", "Mulligan", "06"))
		other.put(named("X", "Anna", "Mulligan", "07"))
		for text, want := range map[string]string{
			"müller":         "A",
			"MULLER":         "A",
			"mul":            "F B A", // the last to arrive first
			"mull":           "F B A",
			"mulli":          "F B",
			"anna mulligan":  "F B",
			"mulligan, anna": "F B",
			"anna müller":    "",
			"lüd jür":        "A",
			"li":             "C", // too short for a beginning: the word itself
			"lis":            "D",
			"oneil":          "D",
			"O’Neil":         "D",
			"李":              "E",
			"小龙":             "",
			"mulligans":      "",
			"ligan":          "",
			"--":             "",
			"":               "F E D C B A",
			"  ":             "F E D C B A",
			"%":              "",
		} {
			for _, size := range []int{1, 2, 50} {
				if got := strings.Join(h.search(text, size), " "); got != want {
					t.Errorf("%q in pages of %d: %q, want %q", text, size, got, want)
				}
			}
		}
		same(t, "another property", []string{"X"}, other.search("mulligan", 10))
	})
}

// A number or an id finds its reservation, and no name is looked for then.
func TestSearchByNumber(t *testing.T) {
	neighbours(t, func(t *testing.T, h, other *testProperty) {
		a := h.put(named("A", "Ada", "Lovelace", "01")).Row.ID
		h.put(with(named("B", "Bo", "Lovelace", "02"), reservation.Number, "4711"))
		h.put(with(named("C", "Cy", "Lovelace", "03"), reservation.Number, "4711"))
		h.put(with(named("D", "Di", "A", "04"), reservation.Number, "Lovelace 5"))
		x := other.put(with(named("X", "Bo", "Lovelace", "02"), reservation.Number, "4711")).Row.ID
		for text, want := range map[string]string{
			"A": "A", "4711": "C B", " 4711 ": "C B", "N-A": "A", a: "A", x: "", "X": "", "Lovelace 5": "D", "lovelace": "C B A", "471": "", "n-a": "",
		} {
			for _, size := range []int{1, 50} {
				if got := strings.Join(h.search(text, size), " "); got != want {
					t.Errorf("%q in pages of %d: %q, want %q", text, size, got, want)
				}
			}
		}
		same(t, "a number in another state", []string(nil), h.searched(reservation.Search{Text: "4711", State: "started"}, 10))
	})
}

// Words find the stays in rooms with such names, and the code of a group all stays of the group.
func TestSearchByRoomAndGroup(t *testing.T) {
	neighbours(t, func(t *testing.T, h, other *testProperty) {
		rename := func(space, name string) {
			h.write(func(tx *db.Tx) error { return tx.Space.UpdateOneID(h.at(space)).SetName(name).Exec(tx.Context()) })
		}
		rename("r1", "Suite Lovelace")
		rename("r2", "Room 204")
		rename("d1", "Dorm 7")
		rename("b1", "Bed 1")
		rename("b2", "Bed 2")
		for i := range 30 {
			h.write(func(tx *db.Tx) error {
				return tx.Space.Create().SetID("spc_" + number(1000+i)).SetPropertyID(h.id).SetType("Room").SetName("Hall " + number(1000+i)).SetIsPrivate(true).Exec(tx.Context())
			})
		}
		h.put(with(named("A", "Ada", "Lovelace", "01"), reservation.SpaceID, theirs("r2"), reservation.GroupID, "tour-8"))
		h.put(with(named("B", "Bo", "Byron", "02"), reservation.GroupID, "tour-8", reservation.Number, "204"))
		h.put(with(named("C", "Cy", "Hall", "03"), reservation.ParentID, theirs("d1"), reservation.SpaceID, theirs("b1")))
		h.put(with(named("D", "Di", "Byron", "04"), reservation.ParentID, theirs("d1"), reservation.SpaceID, theirs("b2"), reservation.GroupID, "1"))
		other.put(with(named("X", "Xi", "Lovelace", "05"), reservation.SpaceID, theirs("r2"), reservation.GroupID, "tour-8"))
		for text, want := range map[string]string{
			"tour-8": "B A", "tour": "", "TOUR-8": "", "204": "B A", "room 204": "A", "ROOM": "A", "20": "", "dorm 7": "D C", "7, bed 1": "C", "bed": "D C",
			"lovelace": "B A", "suite": "B", "hall": "C", "1": "D C", "byron": "D B", "byron 204": "",
		} {
			for _, size := range []int{1, 50} {
				if got := strings.Join(h.search(text, size), " "); got != want {
					t.Errorf("%q in pages of %d: %q, want %q", text, size, got, want)
				}
			}
		}
		same(t, "a room and a day", []string{"A"}, h.searched(reservation.Search{Text: "204", Day: "2026-12-01"}, 10))
		same(t, "a room in another state", []string(nil), h.searched(reservation.Search{Text: "204", State: "started"}, 10))
	})
}

// Stays are found by state, day and the space that they lead to, as the mapping is now.
func TestSearchNarrows(t *testing.T) {
	neighbours(t, func(t *testing.T, h, other *testProperty) {
		stay := func(id, space, state, from, to string) reservation.Patch {
			p := with(booking(id, space), reservation.State, state, reservation.From, from+"T15:00:00+01:00", reservation.To, to+"T11:00:00+01:00")
			return p
		}
		a := h.put(stay("A", "r1", "started", "2026-11-20", "2026-11-24")).Row.ID
		h.put(stay("B", "r1", "confirmed", "2026-11-24", "2026-11-26"))
		c := h.put(stay("C", "b1", "started", "2026-11-20", "2026-11-22")).Row.ID
		h.put(with(stay("D", "b2", "started", "2026-11-21", "2026-11-22"), reservation.ParentID, theirs("d1")))
		h.put(stay("E", "d1", "confirmed", "2026-11-21", "2026-11-23"))
		h.put(stay("F", "NEW", "confirmed", "2026-11-21", "2026-11-23"))
		h.put(with(stay("G", "", "started", "2026-11-21", "2026-11-23"), reservation.OwnSpaceID, h.at("r2")))
		x := other.put(stay("X", "r1", "started", "2026-11-20", "2026-11-24")).Row.ID
		for _, c := range []struct {
			what string
			s    reservation.Search
			want string
		}{
			{"all", reservation.Search{}, "B G F E D C A"},
			{"some", reservation.Search{IDs: []string{a, c, x, "rsv_unknown"}}, "C A"},
			{"some in a state", reservation.Search{IDs: []string{a, c}, State: "confirmed"}, ""},
			{"a state", reservation.Search{State: "started"}, "G D C A"},
			{"a room", reservation.Search{SpaceID: h.at("r1")}, "B A"},
			{"who is in a room", reservation.Search{SpaceID: h.at("r1"), State: "started"}, "A"},
			{"a room by the property's own id", reservation.Search{SpaceID: h.at("r2")}, "G"},
			{"a bed", reservation.Search{SpaceID: h.at("b2")}, "D"},
			{"a dorm with its beds", reservation.Search{SpaceID: h.at("d1")}, "E D C"},
			{"an empty room", reservation.Search{SpaceID: h.at("r3")}, ""},
			{"a day", reservation.Search{Day: "2026-11-24"}, "B A"},
			{"the first day", reservation.Search{Day: "2026-11-20"}, "C A"},
			{"a day and a name", reservation.Search{Day: "2026-11-22", Text: "lovel", State: "confirmed"}, "F E"},
			{"an empty day", reservation.Search{Day: "2026-11-27"}, ""},
		} {
			for _, size := range []int{1, 50} {
				if got := strings.Join(h.searched(c.s, size), " "); got != c.want {
					t.Errorf("%s, in pages of %d: %q, want %q", c.what, size, got, c.want)
				}
			}
		}
		for what, s := range map[string]reservation.Search{"an unknown space": {SpaceID: "spc_none"}, "another's space": {SpaceID: other.at("r1")}, "no day": {Day: "tomorrow"}} {
			if _, _, err := h.service().Search(h.db.View(h.ctx()), h.id, s); err == nil {
				t.Errorf("%s is taken", what)
			}
		}
	})
}

// The index follows the name, and goes with the reservation.
func TestNamesAreIndexedUntilTheyChange(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.put(named("A", "Ada", "Lovelace", "01")).Row.ID
		same(t, "words", 2, h.names(rsv))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.FirstName: nil, reservation.LastName: "Byron"})
		same(t, "renamed", 1, h.names(rsv))
		same(t, "the former name", []string(nil), h.search("lovelace", 10))
		same(t, "the new name", []string{"A"}, h.search("byr", 10))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.Email: "a@example.com"})
		same(t, "another email", 1, h.names(rsv))
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.LastName: strings.Repeat("ab cd ef gh ij kl mn op qr ", 9)})
		same(t, "bounded", 8, h.names(rsv))
		h.write(func(tx *db.Tx) error {
			_, err := tx.Reservation.Delete().Where(entreservation.ID(rsv)).Exec(tx.Context())
			return err
		})
		same(t, "erased", 0, h.names(rsv))
	})
}

// Who booked is sealed for the one reservation, once: what does not change is not sealed again. A new key-encryption key
// opens it as the old one did.
func TestBookersAreSealed(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(named("A", "Ada", "Lovelace", "01"))
		h.put(named("B", "Ada", "Lovelace", "01"))
		a, b := h.read("A"), h.read("B")
		if bytes.Contains(a.Booker, []byte("Lovelace")) || bytes.Equal(a.Booker, b.Booker) {
			t.Error("bookers are not sealed")
		}
		moved := *a
		moved.Booker = b.Booker
		if got, err := h.service().Booker(h.ctx(), &moved); err == nil {
			t.Errorf("what was sealed for another reservation opens: %+v", got)
		}
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.Adults: 3})
		if !bytes.Equal(a.Booker, h.read("A").Booker) {
			t.Error("sealed again though nothing changed")
		}
		tokens := func() (out []string) {
			rows, err := h.db.View(h.ctx()).ReservationName.Query().All(h.ctx())
			h.must(err)
			for _, r := range rows {
				out = append(out, string(r.Token))
			}
			slices.Sort(out)
			return slices.Compact(out)
		}
		if all := tokens(); len(all) != 2 || strings.Contains(strings.Join(all, ""), "lov") {
			t.Errorf("tokens %q", all)
		}
		kek, err := keyring.NewKEK()
		h.must(err)
		_, err = h.keys.Rotate(h.ctx(), kek)
		h.must(err)
		h.keys, err = keyring.Open(h.ctx(), keyring.Source{Keys: keyring.KEKs{kek}}, db.KeyStore{DB: h.db})
		h.must(err)
		same(t, "after a rotation", "Lovelace", h.booker("A").LastName)
		same(t, "found after a rotation", 2, len(h.search("lovelace", 10)))
	})
}

// A search opens a bounded number of reservations, and goes on where it stopped.
func TestSearchIsBounded(t *testing.T) {
	h := open(t, "sqlite")
	const many = 2100
	first := h.put(named("A", "Ada", "Lovell", "01")).Row
	names, err := h.db.View(h.ctx()).ReservationName.Query().Where(entname.ReservationID(first.ID)).All(h.ctx())
	h.must(err)
	h.write(func(tx *db.Tx) error {
		for i := range many {
			at := first.FromAt.Add(time.Duration(i+1) * time.Minute)
			row := *first
			row.ID = "rsv_" + strings.Repeat("0", 22) + number(1000+i)
			if err := tx.Reservation.Create().SetID(row.ID).SetPropertyID(h.id).SetIntegrationID(h.scope.IntegrationID).SetPmsID(row.ID).SetPmsNumber("1").
				SetBooker(h.sealed(row.ID, reservation.Booker{LastName: "Lovelace"})).SetState("confirmed").SetFromAt(at).SetToAt(at).SetUpdatedAt(at).Exec(tx.Context()); err != nil {
				return err
			}
			for _, n := range names {
				if err := tx.ReservationName.Create().SetPropertyID(h.id).SetReservationID(row.ID).SetToken(n.Token).Exec(tx.Context()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	found, next, err := h.service().Search(h.db.View(h.ctx()), h.id, reservation.Search{Text: "lovell", Size: 10})
	h.must(err)
	if len(found) != 0 || next == "" {
		t.Errorf("%d found, next %q: all were opened in one call", len(found), next)
	}
	same(t, "in the end", []string{"A"}, h.search("lovell", 10))
}

// sealed returns a booker sealed as in the database.
func (h *testProperty) sealed(rsv string, b reservation.Booker) []byte {
	h.t.Helper()
	raw, err := h.keys.Seal(h.ctx(), h.id, "booker/"+rsv, []byte(`{"lastName":"`+b.LastName+`"}`))
	h.must(err)
	return raw
}

// A day is searched among the stays that began at most 400 days before, not in all of the past.
func TestSearchOfADayIsBounded(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		for id, from := range map[string]string{"A": "2025-10-20", "B": "2025-10-18"} { // 399 and 401 days before
			h.put(with(booking(id, "r1"), reservation.From, from+"T15:00:00+02:00", reservation.State, "started"))
		}
		if got := strings.Join(h.searched(reservation.Search{Day: "2026-11-23"}, 10), " "); got != "A" {
			t.Errorf("the day has %q, want A", got)
		}
		if got := strings.Join(h.searched(reservation.Search{State: "started"}, 10), " "); got != "A B" {
			t.Errorf("the state has %q, want A B", got)
		}
	})
}
