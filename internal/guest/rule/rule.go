// Package rule decides what a property may and must ask its guests. The law of each country is a dated row of a table with its
// source; a property adds its own questions. All functions are pure.
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
	BirthProvince    Field = "birthProvince"
	NextDestination  Field = "nextDestination"
	VisaNumber       Field = "visaNumber"
	EntryDate        Field = "entryDate"
	EntryPlace       Field = "entryPlace"
	TaxExemption     Field = "taxExemption"
)

// OwnPrefix begins the name of a property's own field.
const OwnPrefix = "own."

// None is the answer of a guest who has no such thing, such as a second family name. See [Shape].
const None = "-"

// Answers are what one guest answered, by field. Days are YYYY-MM-DD, countries ISO 3166-1 alpha-2, [Kosovo] or [Stateless].
type Answers map[Field]string

// WithoutNone returns the answers that have a value: without empty ones, and without [None] where the field allows it.
func (a Answers) WithoutNone() Answers {
	out := Answers{}
	for f, v := range a {
		if v != "" && (v != None || !ShapeOf(f).NoneAllowed) {
			out[f] = v
		}
	}
	return out
}

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
	// Head has the answers of the main guest. Companions may be covered by the form of the main guest.
	Head Answers
}

// Ask is one question to one guest.
type Ask struct {
	Field    Field
	Step     Step
	Required bool
	ByLaw    bool              // the rule asks; otherwise the property does
	Later    bool              // the law wants the answer by the departure; the check-in waits for it only if Required
	OnForm   bool              // the answer belongs on the official form; false if only the property asks, or if it only decides what the rule asks
	Label    string            // of a property's own field, otherwise empty: other labels come from the catalogue
	Labels   map[string]string // Labels has the label of a property's own field in other languages, by BCP 47 tag; in any further one Label counts
}

// Reason is why a question is asked. The catalogue (package message) has its text, as "why." and the reason.
type Reason string

// The reasons.
const (
	ByLaw      Reason = "law"
	Decides    Reason = "decides" // the answer decides what the law asks
	ByProperty Reason = "property"
)

// Reason returns why the question is asked: by the property, by law, or to decide what the law asks.
func (a Ask) Reason() Reason {
	switch {
	case a.OnForm:
		return ByLaw
	case a.ByLaw:
		return Decides
	}
	return ByProperty
}

// Step is a page of the form.
type Step string

// The steps. [Steps] has their order in the form.
const (
	NameStep        Step = "name"
	CitizenshipStep Step = "citizenship"
	BirthStep       Step = "birth"
	KinshipStep     Step = "kinship"
	AddressStep     Step = "address"
	JourneyStep     Step = "journey"
	DocumentStep    Step = "document"
	ContactStep     Step = "contact"
	PropertyStep    Step = "property"
)

// Steps lists all steps in order.
var Steps = []Step{NameStep, CitizenshipStep, BirthStep, KinshipStep, AddressStep, DocumentStep, JourneyStep, ContactStep, PropertyStep}

// steps has the step of each field, in the order of the form.
var steps = []struct {
	field Field
	step  Step
}{
	{FirstName, NameStep}, {LastName, NameStep}, {SecondLastName, NameStep}, {BirthName, NameStep}, {MotherName, NameStep},
	{Nationality, CitizenshipStep}, {OtherNationality, CitizenshipStep},
	{BirthDate, BirthStep}, {BirthCountry, BirthStep}, {BirthPlace, BirthStep}, {BirthProvince, BirthStep}, {Sex, BirthStep},
	{Kinship, KinshipStep},
	{Street, AddressStep}, {Postcode, AddressStep}, {City, AddressStep}, {Region, AddressStep}, {Country, AddressStep},
	{DocumentType, DocumentStep}, {DocumentNumber, DocumentStep}, {SupportNumber, DocumentStep}, {IssuingPlace, DocumentStep},
	{IssuingCountry, DocumentStep}, {IssuingAuthority, DocumentStep}, {IssueDate, DocumentStep},
	{ComingFrom, JourneyStep}, {VisaNumber, JourneyStep}, {EntryDate, JourneyStep}, {EntryPlace, JourneyStep},
	{NextDestination, JourneyStep}, {TaxExemption, JourneyStep},
	{Email, ContactStep}, {Mobile, ContactStep},
}

// positions has the position of each field in the form.
var positions = func() map[Field]int {
	out := map[Field]int{}
	for i, e := range steps {
		out[e.field] = i
	}
	return out
}()

// Own is a question of the property. Name is without OwnPrefix. With MainOnly, only the main guest is asked.
type Own struct {
	Name, Label        string
	Labels             map[string]string // by BCP 47 tag
	Required, MainOnly bool
}

// Settings are the rule of a property and its own questions.
type Settings struct {
	Rule *Rule
	Own  []Own
	// Mandatory are the groups whose fields are asked besides the law's, see [Groups].
	Mandatory []Group
}

// Fields returns the questions to one guest, in the order of the form: those of the version of the rule that is in force on the day of
// arrival, those of the mandatory groups, and the property's own. First and last name are always asked. A group asks kinship only of
// companions, and a minor may leave the group [Contact] empty. The answers so far decide: a citizenship adds or removes what only foreign
// citizens are asked.
func Fields(s Settings, g Guest, p Party) []Ask {
	wanted := make([]Ask, len(steps)) // by the position of the field in the form; an entry whose Field stays empty is not asked
	at := func(f Field) *Ask { return &wanted[positions[f]] }
	*at(FirstName) = Ask{Field: FirstName, Required: true}
	*at(LastName) = Ask{Field: LastName, Required: true}
	for _, group := range s.Mandatory {
		for _, f := range Groups[group] {
			if f == Kinship && g.Main { // kinship is to the main guest
				continue
			}
			if a := at(f); a.Field == "" {
				a.Field, a.Required = f, !optionalInGroup[f] && !(group == Contact && IsMinor(g, p.Arrival))
			}
		}
	}
	law := s.Rule.On(p.Arrival)
	held := law.conditionsOf(g, p)
	for _, w := range law.wants {
		if !held.all(w.when) {
			continue
		}
		a := at(w.field)
		a.Field, a.ByLaw = w.field, true
		a.OnForm, a.Later = a.OnForm || !w.decides, a.Later || w.later
		a.Required = a.Required || !w.optional && !answeredInstead(w, g.Answers)
	}
	out := wanted[:0]
	for i, a := range wanted {
		if a.Field != "" {
			a.Step = steps[i].step
			out = append(out, a)
		}
	}
	for _, o := range s.Own {
		if !o.MainOnly || g.Main {
			out = append(out, Ask{Field: Field(OwnPrefix + o.Name), Step: PropertyStep, Required: o.Required, Label: o.Label, Labels: o.Labels})
		}
	}
	return out
}

// answeredInstead reports whether one of two fields is enough, and the guest answered the other one.
func answeredInstead(w requirement, a Answers) bool { return w.or != "" && a[w.or] != "" }

// Missing returns the required fields without an answer. [None] is an answer.
func Missing(s Settings, g Guest, p Party) []Field {
	var out []Field
	for _, a := range Fields(s, g, p) {
		if a.Required && g.Answers[a.Field] == "" {
			out = append(out, a.Field)
		}
	}
	return out
}

// Open returns the fields without an answer that the law wants by the departure, but not at the check-in.
func Open(s Settings, g Guest, p Party) []Field {
	var out []Field
	for _, a := range Fields(s, g, p) {
		if a.Later && !a.Required && g.Answers[a.Field] == "" {
			out = append(out, a.Field)
		}
	}
	return out
}

// AskLater returns the names of the rules with fields that the newest version of the law wants by the departure. The sweep that reminds
// guests uses it.
func AskLater() []string {
	var out []string
	for _, r := range Rules {
		if slices.ContainsFunc(r.wants, func(w requirement) bool { return w.later }) {
			out = append(out, r.Name)
		}
	}
	return out
}

// AllFields returns the fields that laws ask, in the order of the form.
func AllFields() []Field {
	out := make([]Field, len(steps))
	for i, e := range steps {
		out[i] = e.field
	}
	return out
}

// LegalName reports whether the name of a property's own question is that of a field that laws ask, or its last part, such as street, and
// returns the field. The API refuses such a name. Case and dots do not distinguish names.
func LegalName(own string) (Field, bool) {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, ".", "")) }
	for _, f := range AllFields() {
		_, last, nested := strings.Cut(string(f), ".")
		if plain(own) == plain(string(f)) || nested && plain(own) == plain(last) {
			return f, true
		}
	}
	return "", false
}

// StepOf returns the step of a field, and false for a field that no form has. Any name with OwnPrefix has a step, also if the property does
// not ask it.
func StepOf(f Field) (Step, bool) {
	if strings.HasPrefix(string(f), OwnPrefix) {
		return PropertyStep, true
	}
	i, ok := positions[f]
	if !ok {
		return "", false
	}
	return steps[i].step, true
}

// OfficialAnswers returns the answers that the law wants on the official form of a guest, without those that only decide what is asked.
// Unless the law is Closed, it adds first and last name, also if only the property asks for them.
func OfficialAnswers(s Settings, g Guest, p Party) Answers {
	closed := s.Rule.On(p.Arrival).Closed
	out := Answers{}
	for _, a := range Fields(s, g, p) {
		if a.OnForm || !closed && (a.Field == FirstName || a.Field == LastName) {
			out[a.Field] = g.Answers[a.Field]
		}
	}
	return out.WithoutNone()
}

// Signs reports whether a guest signs the official form. If the rule names no signer, all adults do: the property may want signatures
// that no law asks for.
func Signs(r *Rule, g Guest, p Party) bool {
	law := r.On(p.Arrival)
	held := law.conditionsOf(g, p)
	if len(law.signs) == 0 {
		return held.all(adult)
	}
	return slices.ContainsFunc(law.signs, held.all)
}

// KeptUntil returns the last day on which the answers are kept for the law, as midnight in UTC, and false if r, the version in force, names
// no time. The day of departure is taken in departure's time zone. If the last month has no such day, its last day counts, so that nothing
// is kept longer than the law says.
func KeptUntil(r *Rule, departure time.Time) (time.Time, bool) {
	if r.KeepMonths == 0 {
		return time.Time{}, false
	}
	y, m, d := departure.AddDate(0, 0, r.keepFrom).Date()
	first := time.Date(y, m+time.Month(r.KeepMonths), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(d, last)-1), true
}

// IsMinor reports whether a guest is under 18 on the day of arrival. Without a birth date, a guest is a minor if the party counts them as a
// child.
func IsMinor(g Guest, arrival time.Time) bool {
	age, known := ageOn(g, arrival)
	if !known {
		return g.Child
	}
	return age < 18
}

// ageOn returns the age of a guest on a day, and false if the birth date is not known or the day is the zero time.
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

// Purpose returns the name of the catalogue's text that explains why the law asks a question; "" if the law does not ask it or no text
// exists. A text of the country goes before a general one, and one of the field before one of its step. has reports whether a text exists.
func Purpose(law *Rule, a Ask, has func(kind string) bool) string {
	prefix := "why."
	switch a.Reason() {
	case ByProperty:
		return ""
	case Decides:
		prefix += string(Decides) + "."
	}
	for _, kind := range []string{law.Name + "." + string(a.Field), law.Name + "." + string(a.Step), string(a.Field), string(a.Step)} {
		if has(prefix + kind) {
			return prefix + kind
		}
	}
	return ""
}
