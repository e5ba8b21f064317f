package mail

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecide(t *testing.T) {
	when := Schedule{InviteDays: 14, RemindDays: 2}
	now := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	remind := time.Date(2026, 11, 13, 0, 0, 0, 0, time.UTC)
	long := now.Add(-10 * day)
	room := func(id string, change ...func(*Room)) Room {
		r := Room{ID: id, Changed: long, Address: "ana@example.com", Stay: Stay{State: confirmed, From: now.Add(5 * day), To: now.Add(7 * day), Email: "ana@example.com"}}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	from := func(address string) func(*Room) { return func(r *Room) { r.Address, r.Email = address, address } }
	invited := func(ago time.Duration) func(*Room) { return func(r *Room) { r.InvitedAt = now.Add(-ago) } }
	changed := func(ago time.Duration) func(*Room) { return func(r *Room) { r.Changed = now.Add(-ago) } }
	arrives := func(in time.Duration) func(*Room) {
		return func(r *Room) { r.From, r.To = now.Add(in), now.Add(in+2*day) }
	}
	due := func(ago time.Duration) func(*Room) { return func(r *Room) { r.DueSince = now.Add(-ago) } }
	state := func(s string) func(*Room) { return func(r *Room) { r.State = s } }
	moved, finished, reminded := func(r *Room) { r.Moved = true }, func(r *Room) { r.Finished = true }, func(r *Room) { r.Reminded = true }
	mails := func(m ...Listing) []Listing { return m }
	invite := func(rooms ...string) Listing { return Listing{Invitation, "ana@example.com", rooms} }
	remindOf := func(rooms ...string) Listing { return Listing{Reminder, "ana@example.com", rooms} }

	for _, c := range []struct {
		name   string
		group  bool
		off    bool
		rooms  []Room
		expect Decision
	}{
		{name: "one stay", rooms: []Room{room("1", changed(0))}, expect: Decision{Mails: mails(invite("1")), Next: remind}},
		{name: "invitations are off", off: true, rooms: []Room{room("1", moved, invited(day)), room("2", state(canceled))}, expect: Decision{Moved: []string{"1"}, Ended: []string{"2"}}},
		{name: "a complete group", group: true, rooms: []Room{room("1"), room("2")}, expect: Decision{Mails: mails(invite("1", "2")), Next: remind}},
		{name: "two bookers", group: true, rooms: []Room{room("1"), room("2", from("bea@example.com")), room("3")},
			expect: Decision{Mails: mails(invite("1", "3"), Listing{Invitation, "bea@example.com", []string{"2"}}), Next: remind}},
		{name: "the group grows", group: true, rooms: []Room{room("1", changed(time.Minute)), room("2", changed(10*time.Second))},
			expect: Decision{Waiting: []string{"1", "2"}, Next: now.Add(80 * time.Second)}},
		{name: "a group that arrives today is not quiet yet", group: true, rooms: []Room{room("1", changed(4*time.Second), arrives(time.Hour)), room("2", changed(time.Minute), arrives(time.Hour))},
			expect: Decision{Waiting: []string{"1", "2"}, Next: now.Add(time.Second)}},
		{name: "a group that arrives today", group: true, rooms: []Room{room("1", changed(quietToday), arrives(time.Hour)), room("2", changed(time.Minute), arrives(time.Hour))},
			expect: Decision{Mails: mails(invite("1", "2"))}},
		{name: "a group of which one room arrives today", group: true, rooms: []Room{room("1", changed(quietToday), arrives(-time.Hour)), room("2", changed(time.Minute))},
			expect: Decision{Mails: mails(invite("1", "2")), Next: remind}},
		{name: "a group of which the room of today is canceled", group: true, rooms: []Room{room("1", arrives(time.Hour), state(canceled)), room("2", changed(80*time.Second))},
			expect: Decision{Ended: []string{"1"}, Waiting: []string{"2"}, Next: now.Add(10 * time.Second)}},
		{name: "the group grows for ever", group: true, rooms: []Room{room("1", due(maxQuietWait)), room("2", changed(0), due(0))}, expect: Decision{Mails: mails(invite("1", "2")), Next: remind}},
		{name: "a room was added", group: true, rooms: []Room{room("1", invited(day)), room("2")}, expect: Decision{Mails: mails(invite("2")), Next: remind}},
		{name: "a room that arrives later", group: true, rooms: []Room{room("1"), room("2", arrives(40*day))}, expect: Decision{Mails: mails(invite("1", "2")), Next: remind}},
		{name: "all arrive later", group: true, rooms: []Room{room("1", arrives(20*day)), room("2", arrives(40*day))}, expect: Decision{Next: time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)}},
		{name: "another address", group: true, rooms: []Room{room("1", invited(day), moved), room("2", invited(day), moved)},
			expect: Decision{Mails: mails(invite("1", "2")), Moved: []string{"1", "2"}, Next: remind}},
		{name: "another address, of a relay", rooms: []Room{room("1", invited(day), moved, from("x@guest.booking.com"))}, expect: Decision{Moved: []string{"1"}, NoAddress: []string{"1"}, Next: now.Add(7 * day)}},
		{name: "canceled", group: true, rooms: []Room{room("1", invited(day), state(canceled)), room("2")}, expect: Decision{Mails: mails(invite("2")), Ended: []string{"1"}, Next: remind}},
		{name: "reinstated", rooms: []Room{room("1")}, expect: Decision{Mails: mails(invite("1")), Next: remind}},
		{name: "reminder of a group", group: true, rooms: []Room{room("1", arrives(day), invited(8*day)), room("2", arrives(day), invited(8*day), finished), room("3", arrives(day), invited(8*day))},
			expect: Decision{Mails: mails(remindOf("1", "3"))}},
		{name: "reminded", group: true, rooms: []Room{room("1", arrives(day), invited(8*day), reminded), room("2", arrives(day), invited(8*day), reminded)}},
		{name: "reminder next to a room that was invited just now", group: true, rooms: []Room{room("1", arrives(day), invited(8*day)), room("2", arrives(day), invited(time.Hour))},
			expect: Decision{Mails: mails(remindOf("1"))}},
		{name: "reminder next to a room that was added", group: true, rooms: []Room{room("1", arrives(day), invited(8*day)), room("2", arrives(day))},
			expect: Decision{Mails: mails(remindOf("1"), invite("2"))}},
	} {
		s := when
		s.Off = c.off
		if diff := cmp.Diff(c.expect, Decide(c.rooms, c.group, s, now)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A booker gets a link for each room of a group of any size, in as few mails as hold them.
func TestLargeGroup(t *testing.T) {
	now := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	rooms := make([]Room, 10*MaxLinks+1)
	for i := range rooms {
		rooms[i] = Room{ID: strconv.Itoa(i), Address: "ana@example.com", Stay: Stay{State: confirmed, From: now, To: now.Add(time.Hour), Email: "ana@example.com"}}
	}
	d := Decide(rooms, true, Schedule{InviteDays: 14}, now)
	listed := map[string]int{}
	for _, m := range d.Mails {
		for _, id := range m.Rooms {
			listed[id]++
		}
		if m.To != "ana@example.com" || len(m.Rooms) > MaxLinks {
			t.Errorf("a mail to %q lists %d rooms, want at most %d", m.To, len(m.Rooms), MaxLinks)
		}
	}
	if len(d.Mails) != 11 || len(listed) != len(rooms) {
		t.Errorf("%d mails list %d rooms, want 11 and %d", len(d.Mails), len(listed), len(rooms))
	}
}
