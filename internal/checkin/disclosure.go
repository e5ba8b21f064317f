package checkin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
)

// disclosure returns the body of a checkIn call, and which data of which guests it discloses, for the ledger that guests read. Guests who
// disclose nothing are in neither. Callers use it only after the guest pressed "check in now" at the property.
func (r *record) disclosure() (Disclosure, []guest.Disclosed) {
	d := Disclosure{ReservationID: r.reservation.PmsID}
	var disclosed []guest.Disclosed
	for _, m := range r.Members {
		sharing := r.SharingOf(m)
		sharing.CheckingIn = true
		shared, groups := sharing.Disclose()
		if len(shared) == 0 {
			continue
		}
		disclosed = append(disclosed, guest.Disclosed{GuestID: m.Row.ID, Groups: groups})
		p := PersonOf(shared)
		if m.Row.Role == guest.Main {
			d.MainCustomer = &p
		} else {
			d.Companions = append(d.Companions, p)
		}
	}
	return d, disclosed
}

// bodyPurpose returns the purpose of [keyring.Ring.Seal] for the body of a checkIn call.
func bodyPurpose(stayID string) string { return "checkIn/" + stayID }

// sealBody stores the encrypted body of a claimed call and records what it discloses. It does so in the transaction that claims the call,
// because the PMS may get a call that then fails without an answer. Later calls under the same key send this body, even if guests changed
// their answers.
func (s *Service) sealBody(tx *db.Tx, r *record) error {
	body, disclosed := r.disclosure()
	raw, err := json.Marshal(body)
	if err == nil {
		r.stay.AttemptBody, err = s.Keys.Seal(tx.Context(), r.stay.PropertyID, bodyPurpose(r.stay.ID), raw)
	}
	if err != nil {
		return fmt.Errorf("seal the body of checkIn of %s: %w", r.stay.ReservationID, err)
	}
	return guest.RecordDisclosures(tx, r.reservation, guest.WhyCheckIn, r.stay.AttemptKey, disclosed)
}

// openBody returns the body of the call that a check-in has claimed.
func (s *Service) openBody(ctx context.Context, stay *ent.Stay) (body Disclosure, err error) {
	raw, err := s.Keys.Open(ctx, stay.PropertyID, bodyPurpose(stay.ID), stay.AttemptBody)
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		return body, fmt.Errorf("open the body of checkIn of %s: %w", stay.ReservationID, err)
	}
	return body, nil
}

// PersonOf converts answers to a person of the PMS's API. Answers without a field there are left out.
func PersonOf(a rule.Answers) Person {
	p := Person{
		FirstName: a[rule.FirstName], LastName: a[rule.LastName], SecondLastName: a[rule.SecondLastName], Sex: a[rule.Sex], Kinship: a[rule.Kinship],
		Email: a[rule.Email], Mobile: a[rule.Mobile], BirthDate: a[rule.BirthDate], BirthPlace: a[rule.BirthPlace], BirthCountry: a[rule.BirthCountry],
		Nationality: a[rule.Nationality], CountryComingFrom: a[rule.ComingFrom],
		Address: strings.Join(nonEmpty(a[rule.Street], strings.Join(nonEmpty(a[rule.Postcode], a[rule.City]), " "), a[rule.Region], a[rule.Country]), ", "),
	}
	if v := a[rule.OtherNationality]; v != "" {
		p.FurtherNationalities = []string{v}
	}
	if a[rule.City] != "" || a[rule.Country] != "" {
		p.Hometown = &Town{City: a[rule.City], Country: a[rule.Country]}
	}
	p.addDocument(a)
	return p
}

// addDocument adds the identity document of a guest, if any answer is about one: its details in Document, and its number in the field for
// its kind, or in Document if the kind has no field.
func (p *Person) addDocument(a rule.Answers) {
	number := &Document{Number: a[rule.DocumentNumber]}
	details := DocumentDetails{
		Type: a[rule.DocumentType], SupportNumber: a[rule.SupportNumber], IssuingPlace: a[rule.IssuingPlace], IssuingCountry: a[rule.IssuingCountry],
		IssuingAuthority: a[rule.IssuingAuthority], IssueDate: a[rule.IssueDate],
	}
	if number.Number == "" && details == (DocumentDetails{}) {
		return
	}
	switch details.Type {
	case "passport":
		p.Passport = number
	case "driversLicense":
		p.DriversLicense = number
	case "idCard":
		p.IDCard = number
	default:
		details.Number = number.Number
	}
	p.Document = &details
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) (out []string) {
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
