package guest

import (
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/guest/rule"
)

// caller is what a session is to a guest of the stay.
type caller string

// The callers. Staff have no session: they read answers, and change none.
const (
	noCaller       caller = ""               // staff, another guest, or another stay
	theGuest       caller = "theGuest"       // the guest, or a session that acts for the main guest
	theMainGuest   caller = "theMainGuest"   // the main guest of a companion, by the link of the mail
	withTwoFactsOf caller = "withTwoFactsOf" // of a companion: a caller who knows the number and a family name
)

// callerOf returns what a session is to a guest.
func callerOf(a actor.Actor, g *Row) caller {
	switch {
	case a.Kind != actor.Guest || a.PropertyID != g.PropertyID || a.ReservationID != g.ReservationID:
		return noCaller
	case a.GuestID == g.ID, a.GuestID == "" && g.Role == Main:
		return theGuest
	case a.GuestID != "":
		return noCaller
	case a.Origin == OriginMail:
		return theMainGuest
	}
	return withTwoFactsOf
}

// mayChange reports whether a caller may change one answer of a guest. own says that a companion gave it on a link of their own.
//
//	caller                     no answer, or given by others     own
//	the guest                  yes                               yes
//	the main guest             yes                               no
//	two facts                  yes                               no
//	another guest, staff       no                                no
func (c caller) mayChange(own bool) bool {
	switch c {
	case theGuest:
		return true
	case theMainGuest, withTwoFactsOf:
		return !own
	}
	return false
}

// age is what is known about the age of a guest.
type age struct {
	minor      bool // under 18 on the day of arrival, as far as known
	ownBirth   bool // the guest gave the birth date on a link of their own
	child      bool // the party counts the guest as a child
	ownAccount bool // the guest answered, or decided what to share, on a link of their own
}

// isWard reports whether an adult decides for a guest. The main guest cannot turn a companion who acts for themselves into a minor:
// a birth date that others gave counts only until the companion acts.
//
//	the guest                                       is a ward
//	is an adult                                     no
//	is a minor by their own birth date              yes
//	is a minor, and has not acted on a link         yes
//	is a minor, has acted, and counts as a child    yes
//	is a minor by another's word only, has acted    no
func (a age) isWard() bool { return a.minor && (a.ownBirth || a.child || !a.ownAccount) }

// isWard reports whether an adult main guest decides for a guest.
func (p *Party) isWard(m Member) bool {
	return age{minor: p.IsMinor(m), ownBirth: m.own[rule.BirthDate], child: m.Row.Child, ownAccount: m.hasActed()}.isWard()
}

// hasActed reports whether a companion answered, or decided what to share, on a link of their own.
func (m Member) hasActed() bool {
	return m.Row.Role == Companion && (len(m.own) > 0 || m.Row.SharingSetAt != nil && m.Row.SharingBy == m.Row.ID)
}

// HasDecided reports whether a decision about what is shared of a guest is in force. What the main guest decided for a minor ends when
// the guest turns out to decide for themselves.
func (p *Party) HasDecided(m Member) bool {
	return m.Row.SharingSetAt != nil && (m.Row.SharingBy == m.Row.ID || p.isWard(m))
}
