package kit

import (
	"maps"
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// Answer is one answer of a guest to a question of the check-in form.
type Answer struct {
	Field string // name of a standard question, whose label is the message field.NAME; "" for a question that the property added
	Label string // the name of a question that the property added; "" for a standard question
	Value string
	Kind  string // how to show Value: date, country, choice or text
}

// AnswersOf returns the answers that a guest has given, in the order of the form. Answers to questions of the property come last, sorted by
// name. Questions without an answer are left out.
func AnswersOf(of *guestv1.Person) (answers []Answer) {
	add := func(kind, field, value string) {
		if value != "" {
			answers = append(answers, Answer{Field: field, Value: value, Kind: kind})
		}
	}
	add("text", "firstName", of.GetFirstName())
	add("text", "lastName", of.GetLastName())
	add("text", "secondLastName", of.GetSecondLastName())
	add("text", "birthName", of.GetBirthName())
	add("text", "motherName", of.GetMotherName())
	add("choice", "sex", of.GetSex())
	add("date", "birthDate", of.GetBirthDate())
	add("text", "birthPlace", of.GetBirthPlace())
	add("text", "birthProvince", of.GetBirthProvince())
	add("country", "birthCountry", of.GetBirthCountry())
	add("country", "nationality", of.GetNationality())
	for _, other := range of.GetFurtherNationalities() {
		add("country", "otherNationality", other)
	}
	add("choice", "kinship", of.GetKinship())
	add("choice", "document.type", of.GetDocument().GetType())
	add("text", "document.number", of.GetDocument().GetNumber())
	add("text", "document.supportNumber", of.GetDocument().GetSupportNumber())
	add("text", "document.issuingPlace", of.GetDocument().GetIssuingPlace())
	add("country", "document.issuingCountry", of.GetDocument().GetIssuingCountry())
	add("text", "document.issuingAuthority", of.GetDocument().GetIssuingAuthority())
	add("date", "document.issueDate", of.GetDocument().GetIssueDate())
	add("date", "document.expiry", of.GetDocument().GetExpiry())
	add("text", "visaNumber", of.GetVisaNumber())
	add("date", "entryDate", of.GetEntryDate())
	add("text", "entryPlace", of.GetEntryPlace())
	add("text", "address.street", of.GetAddress().GetStreet())
	add("text", "address.postcode", of.GetAddress().GetPostcode())
	add("text", "address.city", of.GetAddress().GetCity())
	add("text", "address.region", of.GetAddress().GetRegion())
	add("country", "address.country", of.GetAddress().GetCountry())
	add("country", "countryComingFrom", of.GetCountryComingFrom())
	add("text", "nextDestination", of.GetNextDestination())
	add("text", "email", of.GetEmail())
	add("text", "mobile", of.GetMobile())
	add("choice", "taxExemption", of.GetTaxExemption())
	for _, name := range slices.Sorted(maps.Keys(of.GetOwn())) {
		answers = append(answers, Answer{Label: name, Value: of.GetOwn()[name], Kind: "text"})
	}
	return answers
}
