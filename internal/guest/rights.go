package guest

import (
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/guest/rule"
)

// caller is the role of a session towards one guest of the stay, which decides what it may change.
type caller string

// The callers. Staff have no session: they read answers, and change none.
const (
	noCaller       caller = ""               // staff, another guest, or a guest of another stay: may change no answer
	theGuest       caller = "theGuest"       // the guest: a companion by a link of their own, or the main guest by the link of the mail
	theMainGuest   caller = "theMainGuest"   // the main guest of a companion, by the link of the mail
	withTwoFactsOf caller = "withTwoFactsOf" // a session that was opened with the booking number and a family name
)

// callerOf returns what a session is to a guest: the guest, the main guest of a companion, or a caller with two facts (booking number and
// name). For staff, another guest and another stay it returns noCaller.
func callerOf(a actor.Actor, g *Row) caller {
	switch {
	case a.Kind != actor.Guest || a.PropertyID != g.PropertyID || a.ReservationID != g.ReservationID:
		return noCaller
	case a.GuestID == g.ID:
		return theGuest
	case a.GuestID != "":
		return noCaller
	case a.Origin != OriginMail:
		return withTwoFactsOf
	case g.Role == Main:
		return theGuest
	}
	return theMainGuest
}

// AnsweredBy is in which kind of session an answer was given, which decides who may change it.
type AnsweredBy string

const (
	ByTwoFacts AnsweredBy = ""         // by a session of two facts (booking number and name), or not at all
	ByMailLink AnsweredBy = "mailLink" // with the link of the mail to the main guest
	ByGuest    AnsweredBy = "guest"    // by a companion on a link of their own
)

// mayChange reports whether a caller may change an answer. The columns say how it was given. A person who knows only two facts (booking
// number and name) cannot read the answers of others, and so must not replace them either.
//
//	caller                     two facts, or none     mail link     companion's own
//	the guest                  yes                    yes           yes
//	the main guest             yes                    yes           no
//	two facts                  yes                    no            no
//	another guest, staff       no                     no            no
func (c caller) mayChange(given AnsweredBy) bool {
	switch c {
	case theGuest:
		return true
	case theMainGuest:
		return given != ByGuest
	case withTwoFactsOf:
		return given == ByTwoFacts
	}
	return false
}

// answeredBy returns how a guest's answer was given. It returns ByTwoFacts also for a field without an answer.
func (m Member) answeredBy(f rule.Field) AnsweredBy {
	switch {
	case m.own[f]:
		return ByGuest
	case m.mailed[f]:
		return ByMailLink
	}
	return ByTwoFacts
}

// age is what is known about the age of a guest.
type age struct {
	minor    bool // under 18 on the day of arrival; without a birth date: the party counts the guest as a child
	ownBirth bool // the guest gave the birth date on a link of their own
	child    bool // the party counts the guest as a child
	hasActed bool // the guest answered, or decided what to share, on a link of their own
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
func (a age) isWard() bool { return a.minor && (a.ownBirth || a.child || !a.hasActed) }

// isWardOfMainGuest reports whether a guest is a minor for whom the main guest decides, see [age.isWard]. It does not check that the main
// guest is an adult, nor that the guest is a companion.
func (p *Party) isWardOfMainGuest(m Member) bool {
	return age{minor: p.IsMinor(m), ownBirth: m.own[rule.BirthDate], child: m.Row.Child, hasActed: m.hasActed()}.isWard()
}

// hasActed reports whether a companion answered, or decided what to share, on a link of their own. It is false for the main guest.
func (m Member) hasActed() bool {
	return m.Row.Role == Companion && (len(m.own) > 0 || m.Row.SharingSetAt != nil && m.Row.SharingBy == m.Row.ID)
}

// HasDecided reports whether a decision about what is shared of a guest is in force. What the main guest decided for a minor counts only
// while the guest is a ward: see [age.isWard].
func (p *Party) HasDecided(m Member) bool {
	return m.Row.SharingSetAt != nil && (m.Row.SharingBy == m.Row.ID || p.isWardOfMainGuest(m))
}
