// Package rule says what a property may and must ask its guests. The law of each country is a dated row of a table with its
// source; a property adds questions of its own. Everything here is a pure function.
package rule

import (
	"slices"
	"strings"
	"time"
)

// Field is the name of one question, and its path in the answers of a guest.
type Field string

// The fields that laws ask.
const (
	FirstName        Field = "firstName"
	LastName         Field = "lastName"
	SecondLastName   Field = "secondLastName"
	BirthName        Field = "birthName"
	MotherName       Field = "motherName"
	Sex              Field = "sex"
	BirthDate        Field = "birthDate"
	BirthPlace       Field = "birthPlace"
	BirthCountry     Field = "birthCountry"
	Nationality      Field = "nationality"
	OtherNationality Field = "otherNationality"
	Street           Field = "address.street"
	Postcode         Field = "address.postcode"
	City             Field = "address.city"
	Region           Field = "address.region"
	Country          Field = "address.country"
	ComingFrom       Field = "countryComingFrom"
	DocumentType     Field = "document.type"
	DocumentNumber   Field = "document.number"
	SupportNumber    Field = "document.supportNumber"
	IssuingPlace     Field = "document.issuingPlace"
	IssuingCountry   Field = "document.issuingCountry"
	IssuingAuthority Field = "document.issuingAuthority"
	IssueDate        Field = "document.issueDate"
	Email            Field = "email"
	Mobile           Field = "mobile"
	Kinship          Field = "kinship"
)

// OwnPrefix begins the name of a property's own field.
const OwnPrefix = "own."

// Answers are what one guest answered, by field. Days are YYYY-MM-DD, countries ISO 3166-1 alpha-2, [Kosovo] or [Stateless].
type Answers map[Field]string

// Guest is one guest of a party.
type Guest struct {
	Main    bool // the main guest: alone, or the head of the family or group
	Child   bool // the party counts this guest as a child
	Answers Answers
}

// Party is what the rules need to know about the stay.
type Party struct {
	Arrival time.Time // the day of arrival; only year, month and day count
	Size    int       // adults and children
}

// Ask is one question to one guest.
type Ask struct {
	Field    Field
	Step     Step
	Required bool
	ByLaw    bool   // the rule asks; otherwise the property does
	Label    string // of a property's own field; other labels come from the catalogue
}

// Step is a page of the form.
type Step string

// The steps, in the order of the form.
const (
	NameStep        Step = "name"
	CitizenshipStep Step = "citizenship"
	BirthStep       Step = "birth"
	KinshipStep     Step = "kinship"
	AddressStep     Step = "address"
	DocumentStep    Step = "document"
	ContactStep     Step = "contact"
	PropertyStep    Step = "property"
)

// Steps lists all steps in order.
var Steps = []Step{NameStep, CitizenshipStep, BirthStep, KinshipStep, AddressStep, DocumentStep, ContactStep, PropertyStep}

// steps has the step of each field, in the order of the form.
var steps = []struct {
	field Field
	step  Step
}{
	{FirstName, NameStep}, {LastName, NameStep}, {SecondLastName, NameStep}, {BirthName, NameStep}, {MotherName, NameStep},
	{Nationality, CitizenshipStep}, {OtherNationality, CitizenshipStep},
	{BirthDate, BirthStep}, {BirthPlace, BirthStep}, {BirthCountry, BirthStep}, {Sex, BirthStep},
	{Kinship, KinshipStep},
	{Street, AddressStep}, {Postcode, AddressStep}, {City, AddressStep}, {Region, AddressStep}, {Country, AddressStep}, {ComingFrom, AddressStep},
	{DocumentType, DocumentStep}, {DocumentNumber, DocumentStep}, {SupportNumber, DocumentStep}, {IssuingPlace, DocumentStep},
	{IssuingCountry, DocumentStep}, {IssuingAuthority, DocumentStep}, {IssueDate, DocumentStep},
	{Email, ContactStep}, {Mobile, ContactStep},
}

// Own is a question of the property.
type Own struct {
	Name, Label        string
	Required, MainOnly bool
}

// Settings are the rule of a property and its own questions.
type Settings struct {
	Rule *Rule
	Own  []Own
	// Mandatory groups are asked besides the law's fields, see [Groups].
	Mandatory []Group
}

// Fields returns the questions to one guest, in the order of the form. The answers so far decide: a citizenship brings or
// removes what is asked of foreign citizens only.
func Fields(s Settings, g Guest, p Party) []Ask {
	wanted := map[Field]Ask{
		FirstName: {Field: FirstName, Required: true},
		LastName:  {Field: LastName, Required: true},
	}
	for _, group := range s.Mandatory {
		for _, f := range Groups[group] {
			if _, ok := wanted[f]; !ok {
				wanted[f] = Ask{Field: f, Required: !optionalInGroup[f]}
			}
		}
	}
	for _, w := range s.Rule.wants {
		if !s.Rule.applies(w, g, p) {
			continue
		}
		a := wanted[w.field]
		wanted[w.field] = Ask{Field: w.field, ByLaw: true, Required: a.Required || !w.optional && !answeredInstead(w, g.Answers)}
	}
	var out []Ask
	for _, f := range steps {
		if a, ok := wanted[f.field]; ok {
			a.Step = f.step
			out = append(out, a)
		}
	}
	for _, o := range s.Own {
		if !o.MainOnly || g.Main {
			out = append(out, Ask{Field: Field(OwnPrefix + o.Name), Step: PropertyStep, Required: o.Required, Label: o.Label})
		}
	}
	return out
}

// answeredInstead reports whether another field has the answer of which one is enough.
func answeredInstead(w want, a Answers) bool { return w.or != "" && a[w.or] != "" }

// Missing returns the required fields without an answer.
func Missing(s Settings, g Guest, p Party) []Field {
	var out []Field
	for _, a := range Fields(s, g, p) {
		if a.Required && g.Answers[a.Field] == "" {
			out = append(out, a.Field)
		}
	}
	return out
}

// StepOf returns the step of a field, and false for a field that no form has.
func StepOf(f Field) (Step, bool) {
	if strings.HasPrefix(string(f), OwnPrefix) {
		return PropertyStep, true
	}
	i := slices.IndexFunc(steps, func(e struct {
		field Field
		step  Step
	}) bool {
		return e.field == f
	})
	if i < 0 {
		return "", false
	}
	return steps[i].step, true
}

// Official returns the answers that belong on the official form of the rule. A closed list must not hold more.
func Official(s Settings, g Guest, p Party) Answers {
	out := Answers{}
	for _, a := range Fields(s, g, p) {
		if v := g.Answers[a.Field]; v != "" && (a.ByLaw || !s.Rule.Closed && (a.Field == FirstName || a.Field == LastName)) {
			out[a.Field] = v
		}
	}
	return out
}

// Signs reports whether a guest signs the official form.
func Signs(r *Rule, g Guest, p Party) bool {
	switch r.signs {
	case signAll:
		return true
	case signForeign:
		return r.foreign(g.Answers)
	case signFrom14:
		age, known := ageOn(g, p.Arrival)
		return !known && !g.Child || known && age >= 14
	}
	return false
}

// KeptUntil returns the last day on which the answers are kept for the law, and false if the rule names no time.
func KeptUntil(r *Rule, departure time.Time) (time.Time, bool) {
	if r.KeepMonths == 0 {
		return time.Time{}, false
	}
	return departure.AddDate(0, r.KeepMonths, 0), true
}

// IsMinor reports whether a guest is under 18 on the day of arrival. A guest without a birth date is one if the party counts
// them as a child.
func IsMinor(g Guest, arrival time.Time) bool {
	age, known := ageOn(g, arrival)
	if !known {
		return g.Child
	}
	return age < 18
}

// ageOn returns the age of a guest on a day, and false if the birth date is not known.
func ageOn(g Guest, on time.Time) (int, bool) {
	born, err := time.Parse(time.DateOnly, g.Answers[BirthDate])
	if err != nil || on.IsZero() {
		return 0, false
	}
	age := on.Year() - born.Year()
	if on.Month() < born.Month() || on.Month() == born.Month() && on.Day() < born.Day() {
		age--
	}
	return age, true
}
