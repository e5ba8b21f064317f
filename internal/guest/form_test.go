package guest_test

import (
	"fmt"
	"slices"
	"testing"

	entsettings "latchkey.dev/ent/checkinsettings"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// rules sets the check-in rule of the hotel.
func (h *fixture) rules(name string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		if _, err := tx.CheckInSettings.Delete().Where(entsettings.PropertyID(hotel)).Exec(tx.Context()); err != nil {
			return err
		}
		return tx.CheckInSettings.Create().SetID(hotel).SetPropertyID(hotel).SetRule(name).SetCreatedAt(tx.Now()).Exec(tx.Context())
	})
}

// guestOf returns the caller of a session from a mail.
func (h *fixture) guestOf(reservationID, guestID string) actor.Actor {
	s := h.bind(h.link(reservationID, guestID, "ana@example.com"))
	return actor.Actor{Kind: actor.Guest, ID: s.ID, PropertyID: hotel, ReservationID: reservationID, GuestID: guestID, Origin: guest.OriginMail}
}

func (h *fixture) party(reservationID string) (p *guest.Party) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) { p, err = guest.LoadParty(tx, h.keys, hotel, reservationID); return err })
	return p
}

// save stores answers to a step as a list of names and values.
func (h *fixture) save(a actor.Actor, guestID string, step rule.Step, answers ...string) error {
	sent := map[string]string{}
	for i := 0; i < len(answers); i += 2 {
		sent[answers[i]] = answers[i+1]
	}
	return h.db.Write(h.t.Context(), func(tx *db.Tx) error {
		_, err := guest.SaveStep(tx, h.keys, a, guestID, step, sent)
		return err
	})
}

func TestEveryWrongAnswerIsNamed(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", " Ana  Maria ", "lastName", "Silva"))
		err := h.save(a, main, rule.BirthStep, "birthDate", "2026-02-30", "sex", "", "lastName", "x", "nothing", "y")
		f, _ := fault.Of(err)
		got := map[string]fault.Reason{}
		for _, w := range f.Fields {
			got[w.Path] = w.Reason
		}
		want := map[string]fault.Reason{"answers.birthDate": fault.NotADate, "answers.sex": fault.Required, "answers.lastName": fault.Unsupported, "answers.nothing": fault.Unsupported}
		if len(got) != len(want) {
			t.Errorf("got %v", got)
		}
		for path, reason := range want {
			if got[path] != reason {
				t.Errorf("%s: %s; want %s", path, got[path], reason)
			}
		}
		m := h.party(id).Members[0]
		if m.Answers[rule.FirstName] != "Ana Maria" || m.Answers[rule.BirthDate] != "" {
			t.Errorf("stored %v", m.Answers)
		}
		if slices.Contains(m.Missing, rule.FirstName) || !slices.Contains(m.Missing, rule.BirthDate) {
			t.Errorf("missing %v", m.Missing)
		}
	})
}

// A changed citizenship makes answers needless, and a closed list must not hold them.
func TestNeedlessAnswersAreDropped(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("DE")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.CitizenshipStep, "nationality", "PT"))
		h.must(h.save(a, main, rule.DocumentStep, "document.number", "X 123-4"))
		if got := h.party(id).Members[0].Answers[rule.DocumentNumber]; got != "X1234" {
			t.Fatalf("stored %q", got)
		}
		h.must(h.save(a, main, rule.CitizenshipStep, "nationality", "DE"))
		if got, ok := h.party(id).Members[0].Answers[rule.DocumentNumber]; ok {
			t.Errorf("kept %q", got)
		}
	})
}

func TestAnotherStaysGuestIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		one, two := h.book(hotel, "A", "Silva", reservation.Adults, 2), h.book(hotel, "B", "Meyer")
		a, others := h.guestOf(one, ""), h.party(two).Members[0].Row.ID
		party := h.party(one)
		companion := h.guestOf(one, party.Members[1].Row.ID)
		for what, err := range map[string]error{
			"another stay's": h.save(a, others, rule.NameStep, "firstName", "Eve"),
			"unknown":        h.save(a, "gst_0", rule.NameStep, "firstName", "Eve"),
			"by a companion": h.save(companion, party.Members[0].Row.ID, rule.NameStep, "firstName", "Eve"),
		} {
			if !fault.Has(err, fault.GuestNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		h.must(h.save(companion, party.Members[1].Row.ID, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		if visible := h.party(one).Visible(companion); len(visible) != 1 || visible[0].Row.ID != party.Members[1].Row.ID {
			t.Errorf("a companion sees %d guests", len(visible))
		}
		for what, change := range map[string]func(tx *db.Tx) error{
			"party":   func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, companion, 3, 0) },
			"arrival": func(tx *db.Tx) error { return guest.SetArrival(tx, h.keys, companion, "15:00") },
			"remove":  func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, companion, party.Members[0].Row.ID) },
			"rules":   func(tx *db.Tx) error { _, err := guest.AcceptHouseRules(tx, h.keys, companion); return err },
		} {
			t.Run(what, func(*testing.T) { h.refused(fault.MainGuestOnly, change) })
		}
	})
}

func TestParty(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		sizes := func(id string) (adults, children, rows int) {
			p := h.party(id)
			return p.Adults, p.Children, len(p.Members)
		}
		check := func(what, id string, adults, children, rows int) {
			t.Helper()
			if a, c, n := sizes(id); a != adults || c != children || n != rows {
				t.Errorf("%s: %d adults, %d children, %d guests; want %d, %d, %d", what, a, c, n, adults, children, rows)
			}
		}
		check("the PMS says nothing", h.book(hotel, "A", "Silva"), 1, 0, 1)
		check("the PMS says children only", h.book(hotel, "D", "Silva", reservation.Children, 2), 1, 2, 3)
		check("the PMS says a child alone", h.book(hotel, "E", "Silva", reservation.Adults, 0, reservation.Children, 1), 0, 1, 1)
		check("the PMS says nonsense", h.book(hotel, "B", "Silva", reservation.Adults, 100000), 30, 0, 30)
		id := h.book(hotel, "C", "Silva", reservation.Adults, 2, reservation.Children, 1)
		check("the PMS's party", id, 2, 1, 3)
		a, p := h.guestOf(id, ""), h.party(id)
		h.must(h.save(a, p.Members[2].Row.ID, rule.NameStep, "firstName", "Kim", "lastName", "Silva"))
		h.write(func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, a, 1, 0) })
		check("a child with answers stays", id, 1, 0, 2)
		h.write(func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, a, p.Members[2].Row.ID) })
		check("the child is removed", id, 1, 0, 1)
		h.book(hotel, "C", "Silva", reservation.Adults, 4)
		check("the guest's word counts", id, 1, 0, 1)
		h.refused(fault.GuestNotFound, func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, a, p.Members[0].Row.ID) })
		id = h.book(hotel, "F", "Silva", reservation.Adults, 3)
		a, p = h.guestOf(id, ""), h.party(id)
		for i, name := range []string{"Kim", "Bo"} {
			h.must(h.save(a, p.Members[i+1].Row.ID, rule.NameStep, "firstName", name, "lastName", "Silva"))
		}
		h.write(func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, a, 2, 0) })
		check("a companion too many stays", id, 2, 0, 3)
		h.write(func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, a, p.Members[1].Row.ID) })
		check("the companion too many is removed", id, 2, 0, 2)
	})
}

// Who knows a number and a name reads no answer that was given elsewhere, and an empty field does not erase it.
func TestTwoFactsReadNoAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.DocumentStep, "document.type", "passport", "document.number", "X1234"))
		found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva"})
		h.must(refused)
		k, err := guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
		h.must(err)
		value := func(who actor.Actor, f rule.Field) (string, bool) {
			form, err := h.party(id).FormOf(who, main)
			h.must(err)
			return form.Value(f)
		}
		if v, withheld := value(k, rule.DocumentNumber); v != "" || !withheld {
			t.Errorf("the kiosk reads %q", v)
		}
		if v, _ := value(k, rule.FirstName); v != "Ana" {
			t.Errorf("the kiosk reads the name %q", v)
		}
		h.must(h.save(k, main, rule.DocumentStep, "document.type", "", "document.number", ""))
		if v, _ := value(a, rule.DocumentNumber); v != "X1234" {
			t.Errorf("the answer is %q after an empty field", v)
		}
		if v, withheld := value(k, rule.DocumentNumber); v != "" || !withheld {
			t.Errorf("the kiosk reads %q after it saved the step", v)
		}
		for _, state := range []string{"started", "processed"} {
			h.book(hotel, "A", "Silva", reservation.State, state)
			for _, f := range []rule.Field{rule.FirstName, rule.LastName} {
				if v, withheld := value(k, f); v != "" || !withheld {
					t.Errorf("%s: the kiosk reads the name %q", state, v)
				}
				if v, withheld := value(a, f); v == "" || withheld {
					t.Errorf("%s: the device of the link reads the name %q", state, v)
				}
			}
		}
	})
}

// Who knows a number and a name fills in what is open, changes what was answered like that, and replaces no answer of the mail's link.
func TestTwoFactsReplaceNoAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		twoFacts := func() actor.Actor {
			found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva"})
			h.must(refused)
			k, err := guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
			h.must(err)
			return k
		}
		first, second := twoFacts(), twoFacts()
		want := func(what string, fields ...string) {
			t.Helper()
			for i := 0; i < len(fields); i += 2 {
				if got := h.party(id).Members[0].Answers[rule.Field(fields[i])]; got != fields[i+1] {
					t.Errorf("%s: %s is %q, want %q", what, fields[i], got, fields[i+1])
				}
			}
		}
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.CitizenshipStep, "nationality", "PT"))
		h.must(h.save(first, main, rule.DocumentStep, "document.type", "passport", "document.number", "X1"))
		h.must(h.save(second, main, rule.DocumentStep, "document.type", "idCard"))
		want("filled in with two facts, and changed by another such session", "document.type", "idCard", "document.number", "X1")
		for _, c := range []struct {
			step         rule.Step
			field, value string
		}{{rule.NameStep, "lastName", "Silver"}, {rule.CitizenshipStep, "nationality", "ES"}} {
			f, _ := fault.Of(h.save(second, main, c.step, c.field, c.value))
			if f == nil || len(f.Fields) != 1 || f.Fields[0].Reason != fault.NotYourAnswer {
				t.Errorf("%s: %v", c.field, f)
			}
		}
		h.must(h.save(second, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.DocumentStep, "document.type", "passport", "document.number", "X2"))
		if h.save(first, main, rule.DocumentStep, "document.number", "X3") == nil {
			t.Error("the session that answered first replaces the answer of the mail's link")
		}
		want("at the end", "lastName", "Silva", "nationality", "PT", "document.type", "passport", "document.number", "X2")
	})
}

func TestUnknownStep(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		err := h.save(h.guestOf(id, ""), h.party(id).Members[0].Row.ID, "nmae", "firstName", "Ana")
		f, _ := fault.Of(err)
		if f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "step" || f.Fields[0].Message != "is no step of a form: this guest's form has name" {
			t.Errorf("%v", err)
		}
	})
}

func TestOftenCountries(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		want := func(what string, want ...string) {
			t.Helper()
			if got := h.party(id).OftenCountries(); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		want("without a rule")
		h.rules("ES")
		want("the country of the rule", "ES")
		h.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{OftenCountries: &[]string{"PT", "GB"}})
			return err
		})
		want("the property's own", "PT", "GB")
	})
}

func TestProfileIsKeptForTheNextStay(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		first := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(first, ""), h.party(first).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Da Silva"))
		next := func(pmsID, email string) *guest.Party {
			id := h.book(hotel, pmsID, "Silva", reservation.Email, email)
			h.bind(h.link(id, "", email))
			return h.party(id)
		}
		if p := next("B", "ana@example.com"); len(p.Members[0].Answers) != 0 {
			t.Errorf("kept without consent: %v", p.Members[0].Answers)
		}
		h.write(func(tx *db.Tx) error { return guest.SetSharing(tx, h.keys, a, true, guest.SharingChoice{}) })
		p := next("C", "Ana@example.com")
		if m := p.Members[0]; m.Answers[rule.LastName] != "Da Silva" || !m.Row.FromProfile {
			t.Errorf("the next stay: %v", m.Answers)
		}
		if p := next("D", "eve@example.com"); len(p.Members[0].Answers) != 0 {
			t.Errorf("another address: %v", p.Members[0].Answers)
		}
		h.must(h.save(h.guestOf(p.Reservation.ID, ""), p.Members[0].Row.ID, rule.NameStep))
		if h.party(p.Reservation.ID).Members[0].Row.FromProfile {
			t.Error("a saved step does not confirm the profile")
		}
		h.write(func(tx *db.Tx) error { return guest.SetSharing(tx, h.keys, a, false, guest.SharingChoice{}) })
		if p := next("E", "ana@example.com"); len(p.Members[0].Answers) != 0 {
			t.Errorf("kept after the guest withdrew: %v", p.Members[0].Answers)
		}
	})
}

func TestInvitations(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2, reservation.Children, 1)
		a, p := h.guestOf(id, ""), h.party(id)
		adult, child := p.Members[1].Row.ID, p.Members[2].Row.ID
		invite := func(guestID string) func(tx *db.Tx) error {
			return func(tx *db.Tx) error { return guest.InviteCompanion(tx, h.keys, a, guestID, "bo@example.com") }
		}
		h.write(invite(adult))
		h.refused(fault.MinorNeedsAdult, invite(child)) // before the main guest has a date of birth
		h.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{MandatoryGroups: &[]string{"birth"}})
			return err
		})
		h.must(h.save(a, p.Members[0].Row.ID, rule.BirthStep, "birthDate", "1980-01-01"))
		h.write(invite(child))
		secret := h.link(id, adult, "bo@example.com")
		session := h.bind(secret)
		var renewed *guest.Renewal
		h.write(func(tx *db.Tx) (err error) { renewed, err = guest.RenewLink(tx, h.keys, secret); return err })
		if renewed == nil || renewed.Address != "bo@example.com" || renewed.GuestID != adult {
			t.Errorf("renewed %+v", renewed)
		}
		h.write(func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, a, adult) })
		if _, err := guest.Authenticate(h.db.View(t.Context()), h.keys, session.Token); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("the session of a removed companion: %v", err)
		}
		alone := h.book(hotel, "B", "Silva", reservation.Adults, 0, reservation.Children, 2)
		a, p = h.guestOf(alone, ""), h.party(alone)
		h.refused(fault.MinorNeedsAdult, invite(p.Members[1].Row.ID))
	})
}

// A guest's age counts on the day of arrival in the zone of the property.
func TestMinorOnTheLocalDayOfArrival(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{MandatoryGroups: &[]string{"birth"}})
			return err
		})
		for i, c := range []struct {
			zone, birth string
			minor       bool
		}{ // the stay begins at 23:30 of 21 November in UTC
			{"Europe/Lisbon", "2008-11-21", false}, {"Europe/Lisbon", "2008-11-22", true},
			{"Asia/Tokyo", "2008-11-22", false}, {"Asia/Tokyo", "2008-11-23", true},
			{"America/New_York", "2008-11-21", false}, {"America/New_York", "2008-11-22", true},
		} {
			h.write(func(tx *db.Tx) error {
				return tx.Property.UpdateOneID(hotel).SetTimeZone(c.zone).Exec(tx.Context())
			})
			id := h.book(hotel, fmt.Sprint(i), "Silva", reservation.From, "2026-11-21T23:30:00Z", reservation.Adults, 2)
			a, p := h.guestOf(id, ""), h.party(id)
			h.must(h.save(a, p.Members[0].Row.ID, rule.BirthStep, "birthDate", c.birth))
			p = h.party(id)
			if p.IsMinor(p.Members[0]) != c.minor || p.AreAllMinors() {
				t.Errorf("%s, born %s: minor %t, alone %t", c.zone, c.birth, !c.minor, p.AreAllMinors())
			}
			h.must(h.save(a, p.Members[1].Row.ID, rule.BirthStep, "birthDate", "2010-01-01"))
			if p = h.party(id); p.AreAllMinors() != c.minor {
				t.Errorf("%s, born %s, with a child: alone %t", c.zone, c.birth, !c.minor)
			}
			invite := h.db.Write(t.Context(), func(tx *db.Tx) error {
				return guest.InviteCompanion(tx, h.keys, a, p.Members[1].Row.ID, "bo@example.com")
			})
			if fault.Has(invite, fault.MinorNeedsAdult) != c.minor || !c.minor && invite != nil {
				t.Errorf("%s, born %s, invites a child: %v", c.zone, c.birth, invite)
			}
		}
	})
}
