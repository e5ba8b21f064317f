package guest_test

import (
	"fmt"
	"testing"
	"time"

	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/notice"
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
		counts := h.db.Read().Attempts.Query().AllX(t.Context())
		if len(counts) != 7 { // the kiosk, and for each search what is given back and two numbers
			t.Errorf("%d counts", len(counts))
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
		if n := h.db.Read().GuestSession.Query().Where(guestsession.RevokedAtNotNil()).CountX(t.Context()); n != 0 {
			t.Errorf("%d sessions were revoked", n)
		}
	})
}

// guess tries wrong names for a number, from a source, and returns how many were compared.
func (h *fixture) guess(n int, q guest.Search) (compared int) {
	h.t.Helper()
	for i := range n {
		q.FamilyName = fmt.Sprintf("Guess%d", i)
		if _, refused := h.find(q); fault.Has(refused, fault.StayNotFound) {
			compared++
		} else if !fault.Has(refused, fault.TooManyAttempts) {
			h.t.Fatalf("guess %d: %v", i, refused)
		}
	}
	return compared
}

// finds reports whether the right name finds a stay, and how long the guest has to wait otherwise.
func (h *fixture) finds(q guest.Search) (found bool, wait time.Duration) {
	h.t.Helper()
	q.FamilyName = "Silva"
	got, refused := h.find(q)
	f, ok := fault.Of(refused)
	if refused != nil && (!ok || f.Reason != fault.TooManyAttempts) {
		h.t.Fatalf("%+v: %v", q, refused)
	}
	if !ok {
		return got.Session != nil, 0
	}
	return false, f.RetryAfter
}

// The right name does not help a source that guessed too often. It helps each other guest: on another phone, at the kiosk.
func TestAGuesserDoesNotLockTheGuestOut(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		h.book(hotel, "B", "Silva")
		from := func(number, address string) guest.Search { return guest.Search{Number: number, Address: address} }
		if n := h.guess(8, from("n-a", "192.0.2.1")); n != 5 {
			t.Errorf("%d guesses were compared", n)
		}
		if found, wait := h.finds(from("N-A", "192.0.2.1")); found || wait != 15*time.Minute {
			t.Errorf("the guesser with the right name: %t, %s", found, wait)
		}
		for what, q := range map[string]guest.Search{
			"the guest on another phone": from("N-A", "192.0.2.9"), "the guest at the kiosk": {Number: "N-A"}, "the guesser's own booking": from("N-B", "192.0.2.1"),
		} {
			if found, wait := h.finds(q); !found {
				t.Errorf("%s waits %s", what, wait)
			}
		}
		if n := h.guess(8, from("N-X", "192.0.2.1")); n != 5 {
			t.Errorf("%d guesses for another number were compared", n)
		}
		if found, wait := h.finds(from("N-B", "192.0.2.1")); found || wait != 5*time.Minute {
			t.Errorf("after ten guesses from one address: %t, %s", found, wait)
		}
		notices := h.db.Read().Notice.Query().Where(notice.Kind("searchesFailed")).AllX(t.Context())
		if len(notices) != 2 || notices[0].PropertyID != hotel { // one for each number: the second used up the address too
			t.Errorf("%d notices", len(notices))
		}
		h.clock.Advance(15 * time.Minute)
		if found, wait := h.finds(from("N-A", "192.0.2.1")); !found {
			t.Errorf("after the time: waits %s", wait)
		}
	})
}

// A guesser in the lobby tries one booking again and again, for hours, and all the kiosks. The guest finds it at a kiosk soon after the
// guesser has left, and at once on a phone.
func TestAGuesserInTheLobbyDoesNotLockTheGuestOut(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva", reservation.ChannelNumber, "BK-7")
		guessAllDay := func(during time.Duration) (compared int) {
			for end := h.clock.Now().Add(during); h.clock.Now().Before(end); h.clock.Advance(time.Minute) {
				for _, kiosk := range []string{"ksk_lobby", "ksk_cellar"} {
					compared += h.guess(1, guest.Search{Number: "N-A", KioskID: kiosk}) + h.guess(1, guest.Search{Number: "BK-7", KioskID: kiosk})
				}
			}
			return compared
		}
		soon := func(longest time.Duration) {
			t.Helper()
			_, wait := h.finds(guest.Search{Number: "N-A"})
			if wait > longest {
				t.Errorf("right after the guesser the guest waits %s", wait)
			}
			if found, wait := h.finds(guest.Search{Number: "N-A", Address: "192.0.2.1"}); !found {
				t.Errorf("on a phone the guest waits %s", wait)
			}
			h.clock.Advance(wait)
			for range 3 {
				if found, wait := h.finds(guest.Search{Number: "N-A"}); !found {
					t.Errorf("after the wait the guest waits %s", wait)
				}
			}
		}
		if n := guessAllDay(time.Hour); n != 10 {
			t.Errorf("%d names were compared in an hour", n)
		}
		soon(10 * time.Minute)
		if n := guessAllDay(12 * time.Hour); n > 40 {
			t.Errorf("%d names were compared in half a day", n)
		}
		soon(30 * time.Minute)
	})
}

// A search that finds the stay gives back what was mistyped for it at this kiosk, and nothing else: a guest with a booking of their own, also one of a
// group, guesses no more with it.
func TestAFoundStayGivesBackItsOwnFailures(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva", reservation.Number, "G-1")
		h.book(hotel, "B", "Meyer", reservation.Number, "G-1")
		h.book(hotel, "C", "Silva")
		compared := 0
		for range 5 { // the names of the group, between searches for the own stay
			compared += h.guess(2, guest.Search{Number: "G-1"})
			h.finds(guest.Search{Number: "G-1"})
		}
		if compared != 5 {
			t.Errorf("%d names of a group were compared", compared)
		}
		for i := range 5 { // one guess each for other bookings, between searches for the own stay
			compared += h.guess(2, guest.Search{Number: fmt.Sprintf("X-%d", i)})
			h.finds(guest.Search{Number: "N-C"})
		}
		if compared != 5+9 { // the fifth of the group was not given back
			t.Errorf("%d guesses were compared at one kiosk", compared)
		}
	})
}

// A booking has one limit, whichever of its numbers and spellings is typed.
func TestOneLimitForBothNumbers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva", reservation.ChannelNumber, "BK-7")
		compared := 0
		for _, number := range []string{"N-A", "BK-7", " n - a", "bk-7"} {
			compared += h.guess(4, guest.Search{Number: number, Address: "192.0.2.1"})
		}
		if compared != 5 {
			t.Errorf("%d guesses for one booking were compared", compared)
		}
		for i := range 20 { // from many addresses
			compared += h.guess(4, guest.Search{Number: []string{"N-A", "BK-7"}[i%2], Address: fmt.Sprintf("198.51.100.%d", i)})
		}
		if compared != 30 {
			t.Errorf("%d guesses for one booking were compared", compared)
		}
		if found, wait := h.finds(guest.Search{Number: "BK-7", Address: "192.0.2.200"}); found || wait != time.Hour {
			t.Errorf("after thirty guesses from afar: %t, %s", found, wait)
		}
		if found, wait := h.finds(guest.Search{Number: "BK-7"}); !found {
			t.Errorf("the guest at the kiosk waits %s", wait)
		}
		h.clock.Advance(time.Hour)
		if found, wait := h.finds(guest.Search{Number: "BK-7", Address: "192.0.2.200"}); !found {
			t.Errorf("an hour later the guest waits %s", wait)
		}
	})
}

// Guesses from many addresses slow the QR code down. They close neither it nor the kiosks.
func TestGuessesFromAfarSlowTheDoor(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		compared := 0
		for i := range 60 {
			compared += h.guess(1, guest.Search{Number: fmt.Sprintf("X-%d", i), Address: fmt.Sprintf("198.51.100.%d", i)})
		}
		if compared != 50 {
			t.Errorf("%d guesses were compared at once", compared)
		}
		if found, wait := h.finds(guest.Search{Number: "N-A"}); !found {
			t.Errorf("the guest at the kiosk waits %s", wait)
		}
		if found, wait := h.finds(guest.Search{Number: "N-A", Address: "192.0.2.1"}); found || wait != time.Minute {
			t.Errorf("the guest at the door: %t, %s", found, wait)
		}
		h.clock.Advance(time.Minute)
		for range 3 { // the right name costs nothing
			if found, wait := h.finds(guest.Search{Number: "N-A", Address: "192.0.2.1"}); !found {
				t.Errorf("the guest at the door waits %s after a minute", wait)
			}
		}
	})
}

// Guests who mistype do not close the kiosk of a busy lobby: a search that finds a stay costs nothing.
func TestABusyKiosk(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for i := range 120 { // one every 30 seconds, each third mistypes first
			name := fmt.Sprint(i)
			h.book(hotel, name, "Silva")
			h.clock.Advance(30 * time.Second)
			if i%3 == 0 {
				h.guess(1, guest.Search{Number: "N-" + name})
			}
			if found, wait := h.finds(guest.Search{Number: "N-" + name}); !found {
				t.Fatalf("guest %d waits %s", i, wait)
			}
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

// An hour of guesses at one kiosk tries few pairs.
func TestAnHourOfGuessing(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		tried := 0
		for i := range 360 {
			if _, refused := h.find(guest.Search{Number: fmt.Sprintf("N-%d", i), FamilyName: "Silva"}); fault.Has(refused, fault.StayNotFound) {
				tried++
			}
			h.clock.Advance(10 * time.Second)
		}
		if tried != 21 {
			t.Errorf("%d guesses were compared", tried)
		}
	})
}
