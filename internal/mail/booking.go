package mail

import (
	"slices"
	"time"
)

// Room is a reservation of a booking, and how far its invitation is. A booking is a single reservation, or the reservations of a group.
type Room struct {
	ID      string
	Changed time.Time // when the PMS last changed the reservation
	Address string    // the booker's address, or ""
	// Moved means that the booker had another address at the last evaluation.
	Moved bool
	// DueSince is when an evaluation first found the invitation of the room due; zero: the invitation was not due, or was sent.
	DueSince time.Time
	Stay
}

// Listing is a mail to order, and the rooms that it lists.
type Listing struct {
	Kind  Kind
	To    string
	Rooms []string
}

// Decision says which mails to order for a booking now, and which access to end. Its lists of strings are ids of reservations. Next is when
// to decide again, or zero.
type Decision struct {
	Mails     []Listing
	Moved     []string // reservations whose booker has another address: the links and sessions of the former address end
	Ended     []string // canceled reservations: all their links and sessions end
	NoAddress []string // reservations whose invitation is due, and whose booker has no address that reaches the guest
	Waiting   []string // reservations whose invitation is due, and waits for the rest of the group
	Next      time.Time
}

const (
	// quietTime is how long a group must be unchanged before its bookers are invited, because the PMS sends the rooms one after another.
	quietTime = 90 * time.Second
	// maxQuietWait is the longest wait of a due invitation in a group that keeps changing.
	maxQuietWait = 10 * time.Minute
	// quietToday replaces quietTime from the day of arrival of a room that may still be invited: the guest may be on the way.
	quietToday = 5 * time.Second
)

// MaxLinks is the most rooms that one mail lists. A booker of more gets several mails: mail programs cut off long ones.
const MaxLinks = 50

// Decide decides which mails to order now for the rooms of a booking, and when to decide again. It orders and stores nothing. grouped means
// that the rooms are a group of the PMS, which may send more of them. The rooms may have different bookers: each address gets mails of its
// own.
func Decide(rooms []Room, grouped bool, when Schedule, now time.Time) Decision {
	var d Decision
	complete := now
	if grouped {
		complete = groupQuietAt(rooms, when, now)
	}
	due := map[Due]map[string]bool{DueInvitation: {}, DueReminder: {}} // the addresses with a mail that may be sent now
	current, kinds := make([]Room, len(rooms)), make([]Due, len(rooms))
	for i, r := range rooms {
		current[i] = r.withoutFormer()
		d.addEnds(r)
		kind, next := DueMail(current[i].Stay, when, now)
		d.decideAgainAt(next)
		kinds[i] = kind
		switch kind {
		case DueNoAddress:
			d.NoAddress = append(d.NoAddress, r.ID)
		case DueReminder:
			due[kind][r.Address] = true
		case DueInvitation:
			if !r.waitsUntil(complete, now).After(now) {
				due[kind][r.Address] = true
			}
		}
	}
	for i, r := range current {
		switch {
		case due[DueInvitation][r.Address] && r.mayBeInvited(when, now):
			d.addRoom(Invitation, r)
		case due[DueReminder][r.Address] && r.mayBeReminded(now):
			d.addRoom(Reminder, r)
		case kinds[i] == DueInvitation:
			d.Waiting = append(d.Waiting, r.ID)
			d.decideAgainAt(r.waitsUntil(complete, now))
		}
	}
	return d
}

// groupQuietAt returns when the rooms of a group will have been unchanged for quietTime, or for quietToday from the day of arrival of one
// of them that may still be invited. Then the PMS has probably sent all of them.
func groupQuietAt(rooms []Room, when Schedule, now time.Time) (at time.Time) {
	quiet := quietTime
	if slices.ContainsFunc(rooms, func(r Room) bool { return r.mayBeInvited(when, now) && !now.Before(daysBefore(r.From, 0, when.Zone)) }) {
		quiet = quietToday
	}
	for _, r := range rooms {
		if end := r.Changed.Add(quiet); end.After(at) {
			at = end
		}
	}
	return at
}

// waitsUntil returns when the due invitation of a room may be sent: at complete, when the group is quiet, but no later than maxQuietWait
// after it became due.
func (r Room) waitsUntil(complete, now time.Time) time.Time {
	since := r.DueSince
	if since.IsZero() {
		since = now
	}
	if limit := since.Add(maxQuietWait); limit.Before(complete) {
		return limit
	}
	return complete
}

// withoutFormer returns the room as neither invited nor reminded if its former invitation no longer counts: the address has changed, or the
// stay was canceled.
func (r Room) withoutFormer() Room {
	if r.Moved || r.State == canceled {
		r.InvitedAt, r.Reminded = time.Time{}, false
	}
	return r
}

// addEnds adds the room to d.Ended if the stay was canceled, else to d.Moved if the booker's address has changed: its links and sessions
// must end.
func (d *Decision) addEnds(r Room) {
	switch {
	case r.State == canceled:
		d.Ended = append(d.Ended, r.ID)
	case r.Moved:
		d.Moved = append(d.Moved, r.ID)
	}
}

// decideAgainAt sets when to decide again, unless an earlier time is set. The zero time changes nothing.
func (d *Decision) decideAgainAt(at time.Time) {
	if !at.IsZero() && (d.Next.IsZero() || at.Before(d.Next)) {
		d.Next = at
	}
}

// mayBeInvited reports whether an invitation to the booker may list the room, also before the invitation of the room itself is due. It
// checks neither the address nor Erased: an erased booker has no address.
func (r Room) mayBeInvited(when Schedule, now time.Time) bool {
	return !when.Off && r.State == confirmed && r.To.After(now) && r.InvitedAt.IsZero()
}

// mayBeReminded reports whether a reminder to the booker may list the room, also before the reminder of the room itself is due. It does not
// check the address.
func (r Room) mayBeReminded(now time.Time) bool {
	return r.State == confirmed && r.From.After(now) && !r.InvitedAt.IsZero() && !r.Reminded && !r.Finished && !now.Before(r.InvitedAt.Add(remindAfter))
}

// addRoom adds a room to the mail of a kind to its booker. A mail lists at most MaxLinks rooms; then it adds a further mail.
func (d *Decision) addRoom(kind Kind, r Room) {
	for i := range d.Mails {
		if m := &d.Mails[i]; m.Kind == kind && m.To == r.Address && len(m.Rooms) < MaxLinks {
			m.Rooms = append(m.Rooms, r.ID)
			return
		}
	}
	d.Mails = append(d.Mails, Listing{kind, r.Address, []string{r.ID}})
}
