package rule

import (
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind is the type of a field's answer, such as a date.
type Kind string

// The kinds.
const (
	Text        Kind = "text"
	Date        Kind = "date"
	CountryCode Kind = "country"
	Choice      Kind = "choice"
	EmailKind   Kind = "email"
	PhoneKind   Kind = "phone"
)

// Shape describes the answers of a field.
type Shape struct {
	Kind         Kind
	Options      []string // answers to a Choice
	MaxLength    int      // in characters
	Autocomplete string   // HTML autofill token
	NoneAllowed  bool     // the guest may answer [None]
}

// shapes has what [ShapeOf] completes: without a Kind the answer is a Text, and without a MaxLength it is a day, a country or an option.
var shapes = map[Field]Shape{
	FirstName: {MaxLength: 100, Autocomplete: "given-name"}, LastName: {MaxLength: 100, Autocomplete: "family-name"},
	SecondLastName: {MaxLength: 100, NoneAllowed: true}, BirthName: {MaxLength: 100}, MotherName: {MaxLength: 100},
	Sex:       {Kind: Choice, Options: []string{"F", "M", "X"}, Autocomplete: "sex"},
	BirthDate: {Kind: Date, Autocomplete: "bday"}, BirthPlace: {MaxLength: 100}, BirthProvince: {MaxLength: 100}, BirthCountry: {Kind: CountryCode},
	Nationality: {Kind: CountryCode}, OtherNationality: {Kind: CountryCode},
	Street: {MaxLength: 200, Autocomplete: "street-address"}, Postcode: {MaxLength: 20, Autocomplete: "postal-code", NoneAllowed: true},
	City: {MaxLength: 100, Autocomplete: "address-level2"}, Region: {MaxLength: 100, Autocomplete: "address-level1"},
	Country: {Kind: CountryCode, Autocomplete: "country"}, ComingFrom: {Kind: CountryCode},
	DocumentType:   {Kind: Choice, Options: []string{"passport", "idCard", "driversLicense", "residencePermit"}},
	DocumentNumber: {MaxLength: 40}, SupportNumber: {MaxLength: 40, NoneAllowed: true}, IssuingPlace: {MaxLength: 100}, IssuingCountry: {Kind: CountryCode},
	IssuingAuthority: {MaxLength: 100}, IssueDate: {Kind: Date},
	Email: {Kind: EmailKind, MaxLength: 254, Autocomplete: "email"}, Mobile: {Kind: PhoneKind, MaxLength: 40, Autocomplete: "tel"},
	Kinship:         {Kind: Choice, Options: KinshipOptions},
	NextDestination: {MaxLength: 200}, VisaNumber: {MaxLength: 40, NoneAllowed: true}, EntryDate: {Kind: Date}, EntryPlace: {MaxLength: 100},
	TaxExemption: {Kind: Choice, Options: []string{"disability", "escort", "school", "work", "other"}},
}

// ShapeOf returns the shape of a field's answers. An unknown field counts as a property's own question.
func ShapeOf(f Field) Shape {
	s, ok := shapes[f]
	if !ok {
		s.MaxLength = 500 // characters, for the answer to a property's own question
	}
	if s.Kind == "" {
		s.Kind = Text
	}
	if s.MaxLength == 0 {
		s.MaxLength = 10 // a day or a country
	}
	for _, o := range s.Options {
		s.MaxLength = max(s.MaxLength, len(o))
	}
	return s
}

// Problem is why an answer is refused. Its text is in the catalogue (package message).
type Problem string

// The problems.
const (
	TooLong      Problem = "tooLong"
	NotADate     Problem = "notADate"
	NotPossible  Problem = "notPossible" // a date in the future (of an entry: also after the arrival), or more than 130 years ago
	NotACountry  Problem = "notACountry"
	NotAnOption  Problem = "notAnOption"
	NotAnAddress Problem = "notAnAddress"
	NotAPhone    Problem = "notAPhone"
	BadCharacter Problem = "badCharacter" // a control character, text that is not UTF-8, or a number of separators only
)

// Days are the days that an answer is checked against. Only year, month and day count, in the time zone of each.
type Days struct {
	Today   time.Time // in the property's time zone
	Arrival time.Time
}

// Clean returns an answer in the form that is stored, or the problem why it is refused. It trims spaces and removes invisible characters.
// From the numbers of documents, visas and phones it also removes spaces, dots and dashes. Countries and the numbers of documents and visas
// become upper case. An answer without a visible character is empty. An empty answer is always accepted: [Missing] finds required fields
// without an answer.
func Clean(f Field, answer string, days Days) (string, Problem) {
	if !utf8.ValidString(answer) {
		return "", BadCharacter
	}
	answer = strings.Join(strings.Fields(strings.Map(withoutInvisible, answer)), " ")
	if !strings.ContainsFunc(answer, isVisible) && !strings.ContainsFunc(answer, unicode.IsControl) {
		answer = ""
	}
	s := ShapeOf(f)
	switch {
	case answer == "", answer == None && s.NoneAllowed:
		return answer, ""
	case strings.ContainsFunc(answer, unicode.IsControl):
		return "", BadCharacter
	case utf8.RuneCountInString(answer) > s.MaxLength && s.Kind == Date:
		return "", NotADate
	case utf8.RuneCountInString(answer) > s.MaxLength:
		return "", TooLong
	}
	switch s.Kind {
	case Date:
		latest := dayOf(days.Today)
		if arrival := dayOf(days.Arrival); f == EntryDate && arrival.After(latest) {
			latest = arrival // the entry may be in the future, up to the arrival: guests fill in the form before they travel
		}
		return cleanDate(answer, latest)
	case CountryCode:
		code := strings.ToUpper(answer)
		if !IsCountry(code) && (code != Stateless || f != Nationality && f != OtherNationality) {
			return "", NotACountry
		}
		return code, ""
	case Choice:
		if !slices.Contains(s.Options, answer) {
			return "", NotAnOption
		}
	case EmailKind:
		return cleanEmail(answer)
	case PhoneKind:
		return cleanPhone(answer)
	}
	if f == DocumentNumber || f == SupportNumber || f == VisaNumber {
		return cleanNumber(answer)
	}
	return answer, ""
}

// withoutInvisible is a mapping for [strings.Map] that drops invisible characters, such as those that change the direction of text: an
// answer must not disguise what staff read. It keeps the joiners, which some scripts need.
func withoutInvisible(r rune) rune {
	const nonJoiner, joiner = '\u200c', '\u200d'
	if unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && r != nonJoiner && r != joiner {
		return -1
	}
	return r
}

// isVisible reports whether a character is visible on its own. Marks need a letter; fillers are invisible, although Unicode calls them
// letters.
func isVisible(r rune) bool {
	const blankBraille = '\u2800'
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.IsMark(r) && r != blankBraille && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// cleanNumber removes separators from a number and makes its letters upper case. It refuses a number of separators only.
func cleanNumber(answer string) (string, Problem) {
	answer = strings.ToUpper(strings.NewReplacer(" ", "", ".", "", "-", "").Replace(answer))
	if answer == "" {
		return "", BadCharacter
	}
	return answer, ""
}

// dayOf returns the day of a moment in its time zone, as midnight in UTC. Days can be compared.
func dayOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// cleanDate checks a date, YYYY-MM-DD, which must not be after latest nor more than 130 years before it.
func cleanDate(answer string, latest time.Time) (string, Problem) {
	day, err := time.Parse(time.DateOnly, answer)
	switch {
	case err != nil:
		return "", NotADate
	case day.After(latest), day.Before(latest.AddDate(-130, 0, 0)):
		return "", NotPossible
	}
	return answer, ""
}

// cleanEmail checks that an answer is one mail address without a name, whose domain has a dot.
func cleanEmail(answer string) (string, Problem) {
	parsed, err := mail.ParseAddress(answer)
	if err != nil || parsed.Address != answer || !strings.Contains(answer[strings.LastIndex(answer, "@")+1:], ".") {
		return "", NotAnAddress
	}
	return answer, ""
}

var phone = regexp.MustCompile(`^\+?[0-9]{6,15}$`)

// cleanPhone accepts every number that could be dialled (6 to 15 digits), because new ranges exist before a table knows them. It removes
// separators, and writes 00 as +.
func cleanPhone(answer string) (string, Problem) {
	digits := strings.NewReplacer(" ", "", ".", "", "-", "", "/", "", "(0)", "", "(", "", ")", "").Replace(answer)
	if rest, ok := strings.CutPrefix(digits, "00"); ok {
		digits = "+" + rest
	}
	if !phone.MatchString(digits) {
		return "", NotAPhone
	}
	return digits, ""
}
