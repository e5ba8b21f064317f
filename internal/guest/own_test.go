package guest_test

import (
	"testing"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// shareAll makes the hotel ask for two groups.
func (h *fixture) shareAll() {
	h.write(func(tx *db.Tx) error {
		_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{MandatoryGroups: &[]string{"identity", "birth"}})
		return err
	})
}

func (h *fixture) isRefused(what string, err error, reason fault.Reason) {
	h.t.Helper()
	f, _ := fault.Of(err)
	if fault.Has(err, reason) || len(f.Fields) == 1 && f.Fields[0].Reason == reason {
		return
	}
	h.t.Errorf("%s: %v; want %s", what, err, reason)
}

// A main guest cannot make a minor of an adult companion, and then share what the companion answered.
func TestTheMainGuestCannotMakeAMinorOfACompanion(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		h.shareAll()
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main, companion := h.guestOf(id, ""), h.guestOf(id, bo)
		atKiosk := main
		atKiosk.ID, atKiosk.Origin = "ses_kiosk", "ksk_lobby"
		h.must(h.save(companion, bo, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		h.must(h.save(companion, bo, rule.BirthStep, "birthDate", "1990-01-02", "sex", "M"))
		for what, a := range map[string]actor.Actor{"the main guest": main, "two facts": atKiosk} {
			for _, born := range []string{"2015-01-02", "1990-01-02"} { // the true day too: the answer must not confirm a guess
				h.isRefused(what+" born "+born, h.save(a, bo, rule.BirthStep, "birthDate", born, "sex", ""), fault.NotYourAnswer)
			}
			h.isRefused(what+" renames", h.save(a, bo, rule.NameStep, "firstName", "Kim", "lastName", "Berg"), fault.NotYourAnswer)
			h.isRefused(what+" clears the name", h.save(a, bo, rule.NameStep, "firstName", "Bo", "lastName", ""), fault.NotYourAnswer)
			h.must(h.save(a, bo, rule.NameStep, "firstName", "Bo", "lastName", "Berg")) // the page sends what it shows
			h.must(h.save(a, bo, rule.BirthStep, "birthDate", "", "sex", ""))           // and nothing of what it does not
			h.isRefused(what+" shares", h.share(a, bo, "identity", "birth"), fault.NotYourConsent)
			form, err := h.party(id).FormOf(a, bo)
			h.must(err)
			if v, withheld := form.Value(rule.BirthDate); v != "" || !withheld {
				t.Errorf("%s reads the birth date %q", what, v)
			}
		}
		if m := h.party(id).Members[1]; m.Answers[rule.BirthDate] != "1990-01-02" || m.Answers[rule.FirstName] != "Bo" || h.sharers(h.party(id))[1] {
			t.Errorf("the companion's answers are %v", m.Answers)
		}
		h.must(h.save(companion, bo, rule.BirthStep, "birthDate", "1990-01-03", "sex", "M"))
		h.must(h.share(companion, "", "identity"))
	})
}

// A companion's answer is not lost because the main guest changes what decides whether it is asked.
func TestTheMainGuestDoesNotDropACompanionsAnswer(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("DE")
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main, companion := h.guestOf(id, ""), h.guestOf(id, bo)
		h.must(h.save(main, bo, rule.CitizenshipStep, "nationality", "PT"))
		h.must(h.save(companion, bo, rule.BirthStep, "birthDate", "1990-01-02"))
		h.isRefused("a German has no form", h.save(main, bo, rule.CitizenshipStep, "nationality", "DE"), fault.NotYourAnswer)
		h.must(h.save(main, bo, rule.CitizenshipStep, "nationality", "FR"))
		if m := h.party(id).Members[1]; m.Answers[rule.BirthDate] != "1990-01-02" || m.Answers[rule.Nationality] != "FR" {
			t.Errorf("the answers are %v", m.Answers)
		}
	})
}

// What the main guest decided for a minor ends when a companion who was only called one acts on their own link.
func TestConsentForACalledMinorEnds(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		h.shareAll()
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main, companion := h.guestOf(id, ""), h.guestOf(id, bo)
		h.must(h.save(main, bo, rule.BirthStep, "birthDate", "2015-01-02", "sex", "M"))
		h.must(h.share(main, bo, "identity", "birth"))
		if !h.sharers(h.party(id))[1] {
			t.Fatal("the main guest does not share for a minor")
		}
		h.must(h.save(companion, bo, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		if p := h.party(id); h.sharers(p)[1] || p.HasDecided(p.Members[1]) {
			t.Error("the consent covers what the companion answered")
		}
		h.isRefused("shares again", h.share(main, bo, "identity"), fault.NotYourConsent)
		h.must(h.save(companion, bo, rule.BirthStep, "birthDate", "2015-01-02", "sex", "M"))
		h.must(h.share(main, bo, "identity"))
		if !h.sharers(h.party(id))[1] {
			t.Error("the main guest does not share for a minor by the minor's own word")
		}
	})
}

// The main guest cannot take a companion's form over by a link to another address.
func TestACompanionsLinkKeepsItsAddress(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main := h.guestOf(id, "")
		invite := func(address string) error {
			return h.db.Write(t.Context(), func(tx *db.Tx) error { return guest.InviteCompanion(tx, h.keys, main, bo, address) })
		}
		h.must(invite("bo@exmaple.com"))
		h.must(invite("bo@example.com")) // a typing error is mended
		h.must(h.save(h.guestOf(id, bo), bo, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		h.isRefused("another address", invite("ana@example.com"), fault.NotYourAnswer)
		h.must(invite("Bo@example.com"))
	})
}
