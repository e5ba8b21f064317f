package mail

import (
	"testing"
	"time"
)

func TestDueMail(t *testing.T) {
	lisbon := time.FixedZone("", 3600)
	when := Schedule{InviteDays: 14, RemindDays: 2, Zone: lisbon}
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, lisbon) }
	arrival, departure := at(21, 15), at(23, 11)
	for _, c := range []struct {
		name string
		now  time.Time
		stay func(s *Stay)
		want Due
		next time.Time
	}{
		{"long before", at(1, 12), nil, DueNothing, at(7, 0)},
		{"on the first day", at(7, 0), nil, DueInvitation, at(19, 0)},
		{"on arrival day", at(21, 9), nil, DueInvitation, time.Time{}},
		{"in the house, not checked in", at(22, 9), nil, DueInvitation, time.Time{}},
		{"over", at(23, 11), nil, DueNothing, time.Time{}},
		{"canceled", at(10, 0), func(s *Stay) { s.State = "canceled" }, DueNothing, time.Time{}},
		{"checked in", at(10, 0), func(s *Stay) { s.State = "started" }, DueNothing, time.Time{}},
		{"not firm", at(10, 0), func(s *Stay) { s.State = "optional" }, DueNothing, time.Time{}},
		{"no address", at(10, 0), func(s *Stay) { s.Email = "" }, DueNoAddress, departure},
		{"an agency's address", at(10, 0), func(s *Stay) { s.Email = "ana.1@guest.booking.com" }, DueNoAddress, departure},
		{"erased", at(10, 0), func(s *Stay) { s.Email, s.Erased = "", true }, DueNothing, time.Time{}},
		{"no address, long before", at(1, 0), func(s *Stay) { s.Email = "" }, DueNothing, at(7, 0)},
		{"invited", at(10, 0), func(s *Stay) { s.InvitedAt = at(7, 0) }, DueNothing, at(19, 0)},
		{"reminded in time", at(19, 0), func(s *Stay) { s.InvitedAt = at(7, 0) }, DueReminder, time.Time{}},
		{"reminded before", at(20, 0), func(s *Stay) { s.InvitedAt, s.Reminded = at(7, 0), true }, DueNothing, time.Time{}},
		{"finished", at(19, 0), func(s *Stay) { s.InvitedAt, s.Finished = at(7, 0), true }, DueNothing, time.Time{}},
		{"invited the day before the reminder", at(20, 0), func(s *Stay) { s.InvitedAt = at(18, 12) }, DueNothing, time.Time{}},
		{"arrived", at(21, 15), func(s *Stay) { s.InvitedAt = at(7, 0) }, DueNothing, time.Time{}},
	} {
		s := Stay{State: "confirmed", From: arrival, To: departure, Email: "ana@example.com"}
		if c.stay != nil {
			c.stay(&s)
		}
		if got, next := DueMail(s, when, c.now); got != c.want || !next.Equal(c.next) {
			t.Errorf("%s: %q until %v; want %q until %v", c.name, got, next, c.want, c.next)
		}
	}
}

func TestReaches(t *testing.T) {
	for address, want := range map[string]bool{
		"": false, "ana": false, "@example.com": false, "ana@": false, "ana@example.com": true, " Ana@Example.COM ": true,
		"x@guest.booking.com": false, "x@M.ExpediaPartnerCentral.com": false, "x@guest.airbnb.com": false, "x@deep.guest.agoda.com": false,
		"ana@notbooking.com": true, "ana@booking.com.example": true,
	} {
		if Reaches(address) != want {
			t.Errorf("Reaches(%q) is not %v", address, want)
		}
	}
}

func TestMask(t *testing.T) {
	for address, want := range map[string]string{"": "", "ana": "", "@x": "", "ana@example.com": "a…@example.com", "ñandú@example.com": "ñ…@example.com"} {
		if got := Mask(address); got != want {
			t.Errorf("Mask(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestRetriesGrow(t *testing.T) {
	for attempts, want := range map[int]time.Duration{1: 30 * time.Second, 2: time.Minute, 3: 2 * time.Minute, 8: time.Hour, 1000: time.Hour} {
		if got := RetryAfter(attempts); got != want {
			t.Errorf("after %d attempts: %v, want %v", attempts, got, want)
		}
	}
}
