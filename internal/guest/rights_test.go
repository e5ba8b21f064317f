package guest

import (
	"testing"

	"latchkey.dev/internal/actor"
)

func TestCallerOf(t *testing.T) {
	main := &Row{ID: "gst_main", PropertyID: "prp_1", ReservationID: "res_1", Role: Main}
	companion := &Row{ID: "gst_companion", PropertyID: "prp_1", ReservationID: "res_1", Role: Companion}
	session := func(guestID, origin string) actor.Actor {
		return actor.Actor{Kind: actor.Guest, PropertyID: "prp_1", ReservationID: "res_1", GuestID: guestID, Origin: origin}
	}
	otherStay, otherProperty, staff := session("", OriginMail), session("", OriginMail), session("", OriginMail)
	otherStay.ReservationID, otherProperty.PropertyID, staff.Kind = "res_2", "prp_2", actor.Staff
	for name, c := range map[string]struct {
		a               actor.Actor
		main, companion caller
	}{
		"the link of the mail":  {session("", OriginMail), theGuest, theMainGuest},
		"a QR code":             {session("", OriginDoor), withTwoFactsOf, withTwoFactsOf},
		"a kiosk":               {session("", "ksk_1"), withTwoFactsOf, withTwoFactsOf},
		"the companion's link":  {session("gst_companion", OriginMail), noCaller, theGuest},
		"another one's link":    {session("gst_other", OriginMail), noCaller, noCaller},
		"another stay":          {otherStay, noCaller, noCaller},
		"another property":      {otherProperty, noCaller, noCaller},
		"a member of the staff": {staff, noCaller, noCaller},
		"no session":            {actor.Actor{}, noCaller, noCaller},
	} {
		if got := [2]caller{callerOf(c.a, main), callerOf(c.a, companion)}; got != [2]caller{c.main, c.companion} {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhoMayChangeAnAnswer(t *testing.T) {
	for c, want := range map[caller]map[AnsweredBy]bool{
		theGuest:       {ByTwoFacts: true, ByMailLink: true, ByGuest: true},
		theMainGuest:   {ByTwoFacts: true, ByMailLink: true, ByGuest: false},
		withTwoFactsOf: {ByTwoFacts: true, ByMailLink: false, ByGuest: false},
		noCaller:       {ByTwoFacts: false, ByMailLink: false, ByGuest: false},
	} {
		for given, may := range want {
			if c.mayChange(given) != may {
				t.Errorf("%q, answered by %q: %t", c, given, !may)
			}
		}
	}
}

func TestWhoIsAWard(t *testing.T) {
	for bits := range 16 {
		is := func(i int) bool { return bits&(1<<i) != 0 }
		a := age{minor: is(0), ownBirth: is(1), child: is(2), hasActed: is(3)}
		want := a.minor
		if a.hasActed && !a.ownBirth && !a.child {
			want = false // a minor by another's word only
		}
		if a.isWard() != want {
			t.Errorf("%+v: %t", a, !want)
		}
	}
}
