package checkin

import (
	"strings"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
)

// disclosure returns the body of a checkIn call, and what it discloses of whom. The caller has pressed "check in now" at the property.
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
		p := personOf(shared)
		if m.Row.Role == guest.Main {
			d.MainCustomer = &p
		} else {
			d.Companions = append(d.Companions, p)
		}
	}
	return d, disclosed
}

// recordDisclosure records what a claimed checkIn call discloses, in the transaction that claims it: a call without an answer may have
// arrived.
func (r *record) recordDisclosure(tx *db.Tx) error {
	_, disclosed := r.disclosure()
	return guest.RecordDisclosures(tx, r.reservation, guest.WhyCheckIn, r.stay.AttemptKey, disclosed)
}

// personOf converts answers to the PMS's shape. The PMS's contract has no field for the others.
func personOf(a rule.Answers) Person {
	p := Person{
		FirstName: a[rule.FirstName], LastName: a[rule.LastName], SecondLastName: a[rule.SecondLastName], Sex: a[rule.Sex], Kinship: a[rule.Kinship],
		Email: a[rule.Email], Mobile: a[rule.Mobile], BirthDate: a[rule.BirthDate], BirthPlace: a[rule.BirthPlace], BirthCountry: a[rule.BirthCountry],
		Nationality: a[rule.Nationality], CountryComingFrom: a[rule.ComingFrom],
		Address: strings.Join(present(a[rule.Street], strings.Join(present(a[rule.Postcode], a[rule.City]), " "), a[rule.Region], a[rule.Country]), ", "),
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

// addDocument puts the document where the contract has its kind.
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

func present(texts ...string) (out []string) {
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
