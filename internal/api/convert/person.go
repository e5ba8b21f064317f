package convert

import (
	"strings"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/guest/rule"
)

// Person converts a guest's answers in the registration form to a message.
func Person(a rule.Answers) *guestv1.Person {
	a = a.WithoutNone()
	p := &guestv1.Person{
		FirstName: a[rule.FirstName], LastName: a[rule.LastName], SecondLastName: a[rule.SecondLastName], Sex: a[rule.Sex],
		BirthDate: a[rule.BirthDate], BirthPlace: a[rule.BirthPlace], BirthCountry: a[rule.BirthCountry], Nationality: a[rule.Nationality],
		CountryComingFrom: a[rule.ComingFrom], Email: a[rule.Email], Mobile: a[rule.Mobile], Kinship: a[rule.Kinship], BirthName: a[rule.BirthName], MotherName: a[rule.MotherName],
		BirthProvince: a[rule.BirthProvince], NextDestination: a[rule.NextDestination], VisaNumber: a[rule.VisaNumber], EntryDate: a[rule.EntryDate],
		EntryPlace: a[rule.EntryPlace], TaxExemption: a[rule.TaxExemption],
		Address: &guestv1.PostalAddress{Street: a[rule.Street], Postcode: a[rule.Postcode], City: a[rule.City], Region: a[rule.Region], Country: a[rule.Country]},
		Document: &guestv1.TravelDocument{
			Type: a[rule.DocumentType], Number: a[rule.DocumentNumber], SupportNumber: a[rule.SupportNumber], IssuingPlace: a[rule.IssuingPlace],
			IssuingCountry: a[rule.IssuingCountry], IssuingAuthority: a[rule.IssuingAuthority], IssueDate: a[rule.IssueDate],
		},
	}
	if v := a[rule.OtherNationality]; v != "" {
		p.FurtherNationalities = []string{v}
	}
	for field, answer := range a {
		if name, own := strings.CutPrefix(string(field), rule.OwnPrefix); own {
			if p.Own == nil {
				p.Own = map[string]string{}
			}
			p.Own[name] = answer
		}
	}
	return p
}
