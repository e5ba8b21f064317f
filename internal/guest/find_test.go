package guest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/guestsession"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

// find searches on the kiosk in the lobby, or by a QR code if the search says an address.
func (h *fixture) find(q guest.Search) (found guest.Found, refused error) {
	h.t.Helper()
	if q.PropertyID == "" {
		q.PropertyID = hotel
	}
	if q.Address == "" && q.KioskID == "" {
		q.KioskID = "ksk_lobby"
	}
	q.Place = "Lobby"
	matches := h.match(q)
	h.write(func(tx *db.Tx) (err error) { found, refused, err = guest.Find(tx, h.keys, q, matches); return err })
	return found, refused
}

func (h *fixture) match(q guest.Search) guest.Matches {
	h.t.Helper()
	m, err := q.Match(h.db.View(h.t.Context()), h.keys)
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

// The database changes between the match and the count: the count decides by what is stored then.
func TestFindAfterAChange(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		q := guest.Search{PropertyID: hotel, Number: "N-A", FamilyName: "Silva", Address: "192.0.2.1"}
		find := func(m guest.Matches) (found guest.Found, refused error) {
			h.write(func(tx *db.Tx) (err error) { found, refused, err = guest.Find(tx, h.keys, q, m); return err })
			return found, refused
		}
		early := h.match(q)
		h.guess(5, q)
		if found, refused := find(early); found.Session != nil || !fault.Has(refused, fault.TooManyAttempts) {
			t.Errorf("after five guesses at the same time: %+v, %v", found, refused)
		}
		late := h.match(q)
		h.clock.Advance(15 * time.Minute)
		if found, refused := find(late); found.Session != nil || !fault.Has(refused, fault.TooManyAttempts) {
			t.Errorf("a search that compared nothing: %+v, %v", found, refused)
		}
		matched := h.match(q)
		h.book(hotel, "A", "Silva", reservation.State, "canceled")
		if found, refused := find(matched); found.Session != nil || !fault.Has(refused, fault.StayNotFound) {
			t.Errorf("a stay that was canceled meanwhile: %+v, %v", found, refused)
		}
	})
}

func TestFindByNumberAndName(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for i, name := range []string{"Müller", "Groß", "Sørensen", "Łukasz", "García-López", "O'Neil", "de la Cruz", "李"} {
			h.book(hotel, fmt.Sprint(i), name, reservation.ChannelNumber, fmt.Sprintf("BK-%d", i))
		}
		h.book(hotel, "gone", "Silva", reservation.State, "processed")
		h.book(hotel, "optional", "Silva", reservation.State, "optional")
		h.book(hostel, "other", "Silva")
		for _, c := range []struct {
			number, name string
			found        bool
		}{
			{"N-0", "müller", true}, {"n-0", "Mueller", true}, {" N -0 ", "MULLER", true}, {"BK-0", "Mu\u0308ller", true}, {"bk-0", "Mueller", true},
			{"N-1", "gross", true}, {"N-2", "Sorensen", true}, {"N-2", "Soerensen", true}, {"N-3", "lukasz", true},
			{"N-4", "Garcia Lopez", true}, {"N-4", "garcialopez", true}, {"N-5", "oneil", true}, {"N-6", "De La Cruz", true}, {"N-7", "李", true},
			{"N-4", "Lopez", true}, {"N-4", "garcia", true}, {"N-6", "Cruz", true}, {"N-3", "Łukasz Nowak", true}, {"N-4", "García López Pérez", true}, {"N-4", "Pérez García", false},
			{"N-6", "la", false}, {"N-6", "de", false},
			{"N-0", "Muller-Groß", false}, {"N-0", "Groß", false}, {"N-0", "---", false}, {"N-0", "%", false}, {"N-", "Müller", false},
			{"N-gone", "Silva", false}, {"N-optional", "Silva", false}, {"N-other", "Silva", false}, {"", "Müller", false},
		} {
			h.clock.Advance(16 * time.Minute) // beyond the limits of the kiosk
			found, refused := h.find(guest.Search{Number: c.number, FamilyName: c.name})
			if (found.Session != nil) != c.found || (refused == nil) != c.found || !c.found && !fault.Has(refused, fault.StayNotFound) {
				t.Errorf("%q, %q: %+v, %v", c.number, c.name, found, refused)
			}
		}
	})
}

// A number that the PMS writes in mixed case or with spaces is found without them, also after the PMS changed it.
func TestFindByMixedNumber(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		search := func(number string, found bool) {
			t.Helper()
			h.clock.Advance(16 * time.Minute)
			if f, _ := h.find(guest.Search{Number: number, FamilyName: "Silva"}); (f.Session != nil) != found {
				t.Errorf("%q: %+v", number, f)
			}
		}
		h.book(hotel, "1", "Silva", reservation.Number, "Ab 12-x", reservation.ChannelNumber, "99 qQ")
		for _, number := range []string{"Ab 12-x", "ab12-X", "AB 12-X", "ab 12-x", "99QQ", "99 qq", "9 9qq"} {
			search(number, true)
		}
		search("Ab 12", false)
		h.book(hotel, "1", "Silva", reservation.Number, "cD3")
		search("CD3", true)
		search("AB12-X", false)
		h.book(hotel, "1", "Silva", reservation.Number, "CD4")
		search("cd4", true)
		search("CD3", false)
	})
}

// A wrong name and an unknown number answer alike, and both count.
func TestWrongAndUnknownAlike(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		h.book(hotel, "B", "Silva", reservation.ChannelNumber, "BK-7")
		_, wrong := h.find(guest.Search{Number: "N-B", FamilyName: "Meyer"})
		_, unknown := h.find(guest.Search{Number: "N-unknown", FamilyName: "Meyer"})
		if wrong == nil || wrong != unknown {
			t.Errorf("wrong: %v; unknown: %v", wrong, unknown)
		}
		counts := h.db.View(t.Context()).Attempts.Query().AllX(t.Context())
		if len(counts) != 8 { // the kiosk, the property, and for each search what is given back and two numbers
			t.Errorf("%d counts", len(counts))
		}
	})
}

// A PMS that sends the same text for every booking without a channel must not make the name the only fact.
func TestNumberOfManyBookersFindsNothing(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		names := []string{"Silva", "Meyer", "Smith", "Wang", "Rossi", "Dupont"}
		for i, name := range names {
			h.book(hotel, fmt.Sprint(i), name, reservation.ChannelNumber, "none")
			h.book(hotel, fmt.Sprint("group", i), "Silva", reservation.ChannelNumber, "BK-7")
		}
		h.book(hotel, "own", "Okafor", reservation.Number, "NONE")
		for _, c := range []struct {
			number, name string
			found        bool
		}{
			{"none", "Silva", false}, {" NONE", "Dupont", false}, {"none", "Okafor", true}, {"N-0", "Silva", true}, {"BK-7", "Silva", true},
		} {
			found, _ := h.find(guest.Search{Number: c.number, FamilyName: c.name})
			if got := found.Session != nil || len(found.Choices) > 0; got != c.found {
				t.Errorf("%q, %q: found %t", c.number, c.name, got)
			}
		}
		h.book(hotel, "5", "Dupont", reservation.ChannelNumber, "BK-8")
		if found, _ := h.find(guest.Search{Number: "none", FamilyName: "Meyer"}); found.Session == nil {
			t.Error("a number of five bookers finds no stay")
		}
	})
}

func TestFindOneOfSeveralRooms(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		one := h.book(hotel, "A", "Silva", reservation.Number, "G-1")
		h.book(hotel, "B", "Silva", reservation.Number, "G-1", reservation.FirstName, "Bruno")
		h.book(hotel, "C", "Meyer", reservation.Number, "G-1")
		other := h.book(hotel, "D", "Silva")
		found, refused := h.find(guest.Search{Number: "G-1", FamilyName: "Silva"})
		if refused != nil || found.Session != nil || len(found.Choices) != 2 || found.Choices[0].Initials != "A. S." || found.Choices[1].Initials != "B. S." {
			t.Fatalf("found %+v, %v", found, refused)
		}
		found, refused = h.find(guest.Search{Number: "G-1", FamilyName: "Silva", Choice: one})
		if refused != nil || found.Session == nil || found.Session.ReservationID != one {
			t.Errorf("chosen: %+v, %v", found, refused)
		}
		if _, refused := h.find(guest.Search{Number: "G-1", FamilyName: "Silva", Choice: other}); !fault.Has(refused, fault.StayNotFound) {
			t.Errorf("a stay that is no choice: %v", refused)
		}
	})
}

// No two choices look alike: a bed has the name of its dorm, and equal rooms have their days, or their numbers.
func TestChoicesDiffer(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		place := func(id, parent, kind, name string) {
			h.write(func(tx *db.Tx) error {
				c := tx.Space.Create().SetID(id).SetPropertyID(hotel).SetType(kind).SetName(name).SetIsPrivate(true).SetIsActive(true)
				if parent != "" {
					c.SetParentID(parent)
				}
				return c.Exec(tx.Context())
			})
		}
		for _, dorm := range []string{"6", "8"} {
			place("spc_dorm"+dorm, "", "Room", "Dorm "+dorm)
			place("spc_bed"+dorm, "spc_dorm"+dorm, "Bed", "Bed A")
		}
		book := func(number string, more ...any) {
			h.book(hotel, number, "Silva", append([]any{reservation.Number, number, reservation.ChannelNumber, "G-1"}, more...)...)
		}
		book("1", reservation.OwnSpaceID, "spc_bed6")
		book("2", reservation.OwnSpaceID, "spc_bed8")
		book("3")
		book("4")
		book("5", reservation.To, "2026-11-25T11:00:00Z")
		found, refused := h.find(guest.Search{Number: "G-1", FamilyName: "Silva"})
		h.must(refused)
		var got []string
		for _, c := range found.Choices {
			got = append(got, strings.Join([]string{c.SpaceName, c.FromDate, c.ToDate, c.Number}, "|"))
		}
		slices.Sort(got)
		want := []string{
			"Dorm 6 · Bed A|||", "Dorm 8 · Bed A|||", "|2026-11-21|2026-11-24|3", "|2026-11-21|2026-11-24|4", "|2026-11-21|2026-11-25|",
		}
		if !slices.Equal(got, want) {
			t.Errorf("choices %q, want %q", got, want)
		}
	})
}

func TestFindByAGuestsName(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		s := h.bind(h.link(id, "", "ana@example.com"))
		a := actor.Actor{Kind: actor.Guest, ID: s.ID, PropertyID: hotel, ReservationID: id, Origin: guest.OriginMail}
		h.write(func(tx *db.Tx) error {
			p, err := guest.LoadParty(tx, h.keys, hotel, id)
			if err == nil {
				_, err = guest.SaveStep(tx, h.keys, a, p.Members[1].Row.ID, rule.NameStep, map[string]string{"firstName": "Li", "lastName": "Wang"})
			}
			return err
		})
		if found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "wang"}); refused != nil || found.Session == nil {
			t.Errorf("by a companion's name: %+v, %v", found, refused)
		}
	})
}

func TestSessionsOfTwoFactsAreShort(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		for address, lasts := range map[string]time.Duration{"": 10 * time.Minute, "192.0.2.1": 2 * time.Hour} {
			found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: address})
			if refused != nil || !found.Session.ExpiresAt.Equal(h.clock.Now().Add(lasts)) {
				t.Fatalf("%q: %+v, %v", address, found.Session, refused)
			}
			token := found.Session.Token
			h.clock.Advance(lasts - time.Second)
			if _, err := guest.Authenticate(h.db.View(t.Context()), h.keys, token); err != nil {
				t.Errorf("%q before the end: %v", address, err)
			}
			h.clock.Advance(time.Second)
			if _, err := guest.Authenticate(h.db.View(t.Context()), h.keys, token); !fault.Has(err, fault.InvalidCredentials) {
				t.Errorf("%q at the end: %v", address, err)
			}
		}
		if n := h.db.View(t.Context()).GuestSession.Query().Where(guestsession.RevokedAtNotNil()).CountX(t.Context()); n != 0 {
			t.Errorf("%d sessions were revoked", n)
		}
	})
}

// A search does the same work for an unknown number, a wrong name and a stay with many guests.
func TestWorkOfASearch(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		id := h.book(hotel, "B", "Silva", reservation.Adults, 6)
		h.write(func(tx *db.Tx) error {
			p, err := guest.LoadParty(tx, h.keys, hotel, id)
			for _, m := range p.Members {
				a := actor.Actor{Kind: actor.Guest, ID: "ses_1", PropertyID: hotel, ReservationID: id, Origin: guest.OriginMail}
				_, err = guest.SaveStep(tx, h.keys, a, m.Row.ID, rule.NameStep, map[string]string{"firstName": "Li", "lastName": "Wang"})
				if err != nil {
					return err
				}
			}
			return err
		})
		for _, q := range []guest.Search{{Number: "N-unknown", FamilyName: "Silva"}, {Number: "N-A", FamilyName: "Meyer"}, {Number: "N-B", FamilyName: "Meyer"}, {Number: "N-B", FamilyName: "Wang"}} {
			q.PropertyID = hotel
			if work, err := guest.WorkOf(h.db.View(t.Context()), h.keys, q); err != nil || work != 16 {
				t.Errorf("%s, %s: %d persons, %v", q.Number, q.FamilyName, work, err)
			}
		}
	})
}
