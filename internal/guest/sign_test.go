package guest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	entsettings "latchkey.dev/ent/checkinsettings"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

const drawn = "10,20 300,40;50,60"

// drawnRules sets the check-in rule of the hotel, with signatures on a screen and a question of the property.
func (h *fixture) drawnRules(name string) {
	h.t.Helper()
	h.rules(name)
	h.write(func(tx *db.Tx) error {
		return tx.CheckInSettings.Update().Where(entsettings.PropertyID(hotel), entsettings.ID(hotel)).
			SetSignature(guest.Drawn).SetFields([]schema.OwnField{{Name: "plate", Label: "Number plate"}}).Exec(tx.Context())
	})
}

func (h *fixture) signature(a actor.Actor, guestID string) guest.Signature {
	h.t.Helper()
	p := h.party(a.ReservationID)
	form, err := p.FormOf(a, guestID)
	h.must(err)
	s, err := p.Signature(form, h.clock.Now())
	h.must(err)
	return s
}

func (h *fixture) sign(a actor.Actor, guestID, shown, drawing string) error {
	return h.db.Write(h.t.Context(), func(tx *db.Tx) error {
		_, err := guest.Sign(tx, h.keys, a, guestID, shown, drawing)
		return err
	})
}

// fillAustrian answers what Austria asks of an Austrian who travels alone.
func (h *fixture) fillAustrian(a actor.Actor, guestID string) {
	h.t.Helper()
	h.must(h.save(a, guestID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
	h.must(h.save(a, guestID, rule.CitizenshipStep, "nationality", "AT"))
	h.must(h.save(a, guestID, rule.BirthStep, "birthDate", "1990-05-05", "sex", "F"))
	h.must(h.save(a, guestID, rule.AddressStep, "address.street", "Gasse 1", "address.postcode", "1010", "address.city", "Wien", "address.country", "AT"))
	h.must(h.save(a, guestID, rule.JourneyStep, "countryComingFrom", "AT"))
}

func TestSignatureOnAScreen(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.drawnRules("AT")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		if s := h.signature(a, main); s.State != guest.SignIncomplete || s.Shown != "" {
			t.Errorf("without answers: %+v", s)
		}
		if err := h.sign(a, main, "x", drawn); !fault.Has(err, fault.CannotSignHere) {
			t.Errorf("signed without answers: %v", err)
		}
		h.fillAustrian(a, main)
		before := h.signature(a, main)
		if before.State != guest.SignOpen || before.Shown == "" || !slices.Contains(before.Fields, rule.LastName) || slices.Contains(before.Fields, "own.plate") {
			t.Errorf("with all answers: %+v", before)
		}
		if f, _ := fault.Of(h.sign(a, main, before.Shown, `1,2 300,4"/>`)); len(f.Fields) != 1 || f.Fields[0].Path != "drawing" {
			t.Errorf("markup as a drawing: %+v", f)
		}
		h.must(h.save(a, main, rule.NameStep, "lastName", "da Silva"))
		if err := h.sign(a, main, before.Shown, drawn); !fault.Has(err, fault.DetailsChanged) {
			t.Errorf("signed answers that were not shown: %v", err)
		}
		if p := h.party(id); !slices.Equal(p.Unsigned(), []string{main}) || !p.NeedsSignature() {
			t.Errorf("before: unsigned %v, needed %v", p.Unsigned(), p.NeedsSignature())
		}
		h.must(h.sign(a, main, h.signature(a, main).Shown, drawn))
		h.must(h.sign(a, main, "again", drawn)) // a repeated press changes nothing
		p := h.party(id)
		if s := h.signature(a, main); s.State != guest.Signed || !s.At.Equal(morning) || len(p.Unsigned()) > 0 {
			t.Errorf("signed: %+v, %v", s, p.Unsigned())
		}
		if svg, at, err := p.DrawnSignature(main); err != nil || !at.Equal(morning) || !strings.Contains(svg, "M10 20L300 40") {
			t.Errorf("%q at %v: %v", svg, at, err)
		}
		h.must(h.save(a, main, rule.PropertyStep, "own.plate", "AA"))
		if len(h.party(id).Unsigned()) > 0 {
			t.Error("an answer that is not signed ends the signature")
		}
		h.must(h.save(a, main, rule.AddressStep, "address.city", "Graz"))
		h.must(h.save(a, main, rule.AddressStep, "address.city", "Wien"))
		if _, _, err := h.party(id).DrawnSignature(main); !fault.Has(err, fault.NotSigned) || len(h.party(id).Unsigned()) == 0 {
			t.Errorf("a changed answer keeps the signature: %v", err)
		}
	})
}

// A person who knows a number and a name signs nothing that was answered elsewhere.
func TestTwoFactsDoNotSign(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.drawnRules("AT")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.fillAustrian(a, main)
		found, err := h.find(guest.Search{Number: "N-A", FamilyName: "Silva"})
		h.must(err)
		k, err := guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
		h.must(err)
		if s := h.signature(k, main); s.State != guest.SignAtDesk || s.Shown != "" {
			t.Errorf("a kiosk sees %+v", s)
		}
		if err := h.sign(k, main, h.signature(a, main).Shown, drawn); !fault.Has(err, fault.CannotSignHere) {
			t.Errorf("signed: %v", err)
		}
		id = h.book(hotel, "B", "Silva")
		found, err = h.find(guest.Search{Number: "N-B", FamilyName: "Silva"})
		h.must(err)
		k, err = guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
		h.must(err)
		main = h.party(id).Members[0].Row.ID
		h.fillAustrian(k, main)
		h.must(h.sign(k, main, h.signature(k, main).Shown, drawn))
	})
}

// The law of France wants the signature on the day of arrival, and not of its citizens.
func TestSignatureOnArrival(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.drawnRules("FR")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.CitizenshipStep, "nationality", "FR"))
		if s := h.signature(a, main); s.State != guest.SignatureNotNeeded || h.party(id).NeedsSignature() {
			t.Errorf("a French citizen: %+v", s)
		}
		h.fillPortuguese(a, main)
		if s := h.signature(a, main); s.State != guest.SignLater {
			t.Errorf("the day before: %+v", s)
		}
		h.clock.Set(morning.Add(24 * time.Hour))
		if s := h.signature(a, main); s.State != guest.SignOpen {
			t.Errorf("on the day of arrival: %+v", s)
		}
		h.must(h.sign(a, main, h.signature(a, main).Shown, drawn))
		if s := h.signature(a, main); s.State != guest.Signed {
			t.Errorf("signed: %+v", s)
		}
		from := h.party(id).Reservation.FromAt.AddDate(0, 0, 2)
		h.book(hotel, "A", "Silva", reservation.From, from.Format(time.RFC3339), reservation.To, from.AddDate(0, 0, 2).Format(time.RFC3339))
		if s := h.signature(a, main); s.State != guest.SignLater || len(h.party(id).Unsigned()) != 1 {
			t.Errorf("the stay has moved to a later day: %+v", s)
		}
		h.clock.Set(from.Add(time.Hour))
		h.must(h.sign(a, main, h.signature(a, main).Shown, drawn))
		if len(h.party(id).Unsigned()) != 0 {
			t.Error("the second signature does not count")
		}
	})
}

// fillPortuguese answers what the law of France asks a guest from Portugal.
func (h *fixture) fillPortuguese(a actor.Actor, guestID string) {
	h.t.Helper()
	h.must(h.save(a, guestID, rule.CitizenshipStep, "nationality", "PT"))
	h.must(h.save(a, guestID, rule.BirthStep, "birthDate", "1990-05-05", "birthPlace", "Porto"))
	h.must(h.save(a, guestID, rule.AddressStep, "address.street", "Rua 1", "address.city", "Porto", "address.country", "PT"))
	h.must(h.save(a, guestID, rule.ContactStep, "email", "ana@example.com", "mobile", "+351912345678"))
}

// A signature that counts no more, because the stay has moved to a later day, is in no entry of the guest register.
func TestVoidedSignatureIsNotRegistered(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.drawnRules("FR")
		id := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.fillPortuguese(a, main)
		h.clock.Set(morning.Add(24 * time.Hour))
		h.must(h.sign(a, main, h.signature(a, main).Shown, drawn))
		from := h.party(id).Reservation.FromAt.AddDate(0, 0, 2)
		h.book(hotel, "A", "Silva", reservation.State, "started", reservation.From, from.Format(time.RFC3339), reservation.To, from.AddDate(0, 0, 2).Format(time.RFC3339))
		e := h.requestErasure(a)
		h.clock.Set(h.party(id).Reservation.ToAt)
		if !h.erase(e) {
			t.Fatal("the erasure is not done")
		}
		if entries := h.closed(); len(entries) != 1 || !entries[0].SignedAt.IsZero() || entries[0].SVG != "" {
			t.Errorf("the register has %+v", entries)
		}
	})
}

// Only guests who fill in the form sign it.
func TestSignatureOfTheMainGuestOnly(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.drawnRules("none")
		h.write(func(tx *db.Tx) error {
			return tx.CheckInSettings.Update().Where(entsettings.PropertyID(hotel), entsettings.ID(hotel)).SetWhoFills("lead").Exec(tx.Context())
		})
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		a, p := h.guestOf(id, ""), h.party(id)
		if s := h.signature(a, p.Members[1].Row.ID); s.State != guest.SignatureNotNeeded {
			t.Errorf("the companion: %+v", s)
		}
		h.must(h.save(a, p.Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.sign(a, p.Members[0].Row.ID, h.signature(a, p.Members[0].Row.ID).Shown, drawn))
		if len(h.party(id).Unsigned()) > 0 {
			t.Error("the stay waits for a companion's signature")
		}
	})
}

// The property's setting makes adults sign where the law names no signer.
func TestSignatureThatOnlyThePropertyWants(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.drawnRules("IT")
		id := h.book(hotel, "A", "Silva", reservation.Adults, 1, reservation.Children, 1)
		a, p := h.guestOf(id, ""), h.party(id)
		if !p.NeedsSignature() {
			t.Error("the setting is ignored")
		}
		if s := h.signature(a, p.Members[0].Row.ID); s.State != guest.SignIncomplete {
			t.Errorf("the adult: %+v", s)
		}
		if s := h.signature(a, p.Members[1].Row.ID); s.State != guest.SignatureNotNeeded {
			t.Errorf("the child: %+v", s)
		}
	})
}
