package mail

import "time"

// Stay has what decides whether the booker of a reservation is invited.
type Stay struct {
	State     string // the PMS's state
	From, To  time.Time
	Email     string    // the booker's address, or ""
	InvitedAt time.Time // when the booker was invited for this stay or its group; zero: not yet
	Reminded  bool
	Finished  bool // every guest has filled in the form
	Erased    bool // the data of the guests were erased on request: no mail is due
}

// Schedule is how many days before the arrival a property's guests get their mails.
type Schedule struct {
	InviteDays, RemindDays int // with InviteDays 0 it is the day of arrival; with RemindDays 0 no reminder is sent
	Zone                   *time.Location
	Off                    bool // staff have not switched the invitations on
}

// The PMS's states that decide about invitations.
const (
	confirmed = "confirmed"
	canceled  = "canceled"
)

// Due is which mail a stay needs now.
type Due string

const (
	DueNothing    Due = ""
	DueInvitation Due = "invitation"
	DueReminder   Due = "reminder"
	DueNoAddress  Due = "noAddress" // an invitation is due, and no address reaches the guest
)

// DueMail decides which mail a stay needs now, and when to decide again. For DueInvitation that is when the reminder is due, if the
// invitation is sent now. For DueNoAddress it is the end of the stay, from which no invitation is due any more. The time is zero if only a
// change of the stay can make a mail due.
func DueMail(s Stay, when Schedule, now time.Time) (Due, time.Time) {
	if when.Off || s.Erased || s.State != confirmed || !s.To.After(now) {
		return DueNothing, time.Time{}
	}
	if s.InvitedAt.IsZero() {
		if at := daysBefore(s.From, when.InviteDays, when.Zone); now.Before(at) {
			return DueNothing, at
		}
		if !Reaches(s.Email) {
			return DueNoAddress, s.To
		}
		return DueInvitation, when.remindAt(s.From, now)
	}
	if s.Reminded || s.Finished || !s.From.After(now) || !Reaches(s.Email) {
		return DueNothing, time.Time{}
	}
	at := when.remindAt(s.From, s.InvitedAt)
	switch {
	case at.IsZero():
		return DueNothing, time.Time{}
	case now.Before(at):
		return DueNothing, at
	}
	return DueReminder, time.Time{}
}

// remindAfter is the shortest time between an invitation and its reminder.
const remindAfter = 24 * time.Hour

// remindAt returns when the booker of a stay that begins at from, and who was invited at invited, is reminded; zero: never. No reminder
// follows an invitation within remindAfter, because it would only repeat it.
func (w Schedule) remindAt(from, invited time.Time) time.Time {
	at := daysBefore(from, w.RemindDays, w.Zone)
	if w.RemindDays <= 0 || at.Before(invited.Add(remindAfter)) {
		return time.Time{}
	}
	return at
}

// daysBefore returns the beginning of the day that is days before a time, in the property's zone.
func daysBefore(at time.Time, days int, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := at.In(zone).Date()
	return time.Date(y, m, d-days, 0, 0, 0, 0, zone)
}

// Counts say how many bookers of an integration would be invited now or later, and how many reservations have no address that reaches the
// booker.
type Counts struct {
	Enabled               bool // the integration's invitations are switched on
	Now, Later, NoAddress int
}
