package guest_test

import (
	"fmt"
	"testing"
	"time"

	"latchkey.dev/ent/notice"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/reservation"
)

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

// Who has a site of IPv6 networks cannot use them to let the guests of a property wait, or those of one booking.
func TestASiteDoesNotLockGuestsOut(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		for i := range 60 {
			h.guess(1, guest.Search{Number: "N-A", Address: fmt.Sprintf("2001:db8:1:%x::/64", i)})
			h.guess(1, guest.Search{Number: fmt.Sprint("other-", i), Address: fmt.Sprintf("2001:db8:1:%x::/64", 100+i)})
		}
		for what, address := range map[string]string{"another site": "2001:db8:2::/64", "a phone with IPv4": "192.0.2.9/32"} {
			if found, wait := h.finds(guest.Search{Number: "N-A", Address: address}); !found {
				t.Errorf("%s waits %s", what, wait)
			}
		}
		if found, wait := h.finds(guest.Search{Number: "N-A", Address: "2001:db8:1:ffff::/64"}); found || wait == 0 {
			t.Error("another network of the guesser's site does not wait")
		}
	})
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
		notices := h.db.View(t.Context()).Notice.Query().Where(notice.Kind("searchesFailed")).AllX(t.Context())
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

// Guessers at many kiosks of a property share a limit, which never closes the kiosks and does not slow phones.
func TestKiosksShareALimit(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		compared := 0
		for i := range 10 {
			for j := range 9 {
				compared += h.guess(1, guest.Search{Number: fmt.Sprintf("X-%d-%d", i, j), KioskID: fmt.Sprint("ksk_", i)})
			}
		}
		if compared != 50 {
			t.Errorf("%d guesses at ten kiosks were compared, want 50", compared)
		}
		at := guest.Search{Number: "N-A", KioskID: "ksk_other"}
		found, wait := h.finds(at)
		if found || wait > time.Minute {
			t.Errorf("at another kiosk: %t, wait %s", found, wait)
		}
		if found, wait := h.finds(guest.Search{Number: "N-A", Address: "192.0.2.1"}); !found {
			t.Errorf("on a phone the guest waits %s", wait)
		}
		h.clock.Advance(wait)
		if found, wait := h.finds(at); !found {
			t.Errorf("after the wait the guest waits %s", wait)
		}
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
