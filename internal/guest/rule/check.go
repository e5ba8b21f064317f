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

// Kind is the kind of a field's answer.
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
	Options      []string // of a choice
	MaxLength    int
	Autocomplete string // HTML autofill token
}

var shapes = map[Field]Shape{
	FirstName: {MaxLength: 100, Autocomplete: "given-name"}, LastName: {MaxLength: 100, Autocomplete: "family-name"},
	SecondLastName: {MaxLength: 100}, BirthName: {MaxLength: 100}, MotherName: {MaxLength: 100},
	Sex:       {Kind: Choice, Options: []string{"F", "M", "X"}, Autocomplete: "sex"},
	BirthDate: {Kind: Date, Autocomplete: "bday"}, BirthPlace: {MaxLength: 100}, BirthCountry: {Kind: CountryCode},
	Nationality: {Kind: CountryCode}, OtherNationality: {Kind: CountryCode},
	Street: {MaxLength: 200, Autocomplete: "street-address"}, Postcode: {MaxLength: 20, Autocomplete: "postal-code"},
	City: {MaxLength: 100, Autocomplete: "address-level2"}, Region: {MaxLength: 100, Autocomplete: "address-level1"},
	Country: {Kind: CountryCode, Autocomplete: "country"}, ComingFrom: {Kind: CountryCode},
	DocumentType:   {Kind: Choice, Options: []string{"passport", "idCard", "driversLicense", "residencePermit"}},
	DocumentNumber: {MaxLength: 40}, SupportNumber: {MaxLength: 40}, IssuingPlace: {MaxLength: 100}, IssuingCountry: {Kind: CountryCode},
	IssuingAuthority: {MaxLength: 100}, IssueDate: {Kind: Date},
	Email: {Kind: EmailKind, MaxLength: 254, Autocomplete: "email"}, Mobile: {Kind: PhoneKind, MaxLength: 40, Autocomplete: "tel"},
	Kinship: {Kind: Choice, Options: KinshipOptions},
}

// ShapeOf returns the shape of a field's answers.
func ShapeOf(f Field) Shape {
	s, ok := shapes[f]
	if !ok {
		s.MaxLength = 500 // a property's own question
	}
	if s.Kind == "" {
		s.Kind = Text
	}
	if s.MaxLength == 0 {
		s.MaxLength = 10
	}
	return s
}

// Problem is why an answer is refused. Its text is in the catalogue.
type Problem string

// The problems.
const (
	TooLong      Problem = "tooLong"
	NotADate     Problem = "notADate"
	NotPossible  Problem = "notPossible" // a date in the future, or more than 130 years ago
	NotACountry  Problem = "notACountry"
	NotAnOption  Problem = "notAnOption"
	NotAnAddress Problem = "notAnAddress"
	NotAPhone    Problem = "notAPhone"
	BadCharacter Problem = "badCharacter" // a control character
)

// Clean returns an answer in the form that is stored: spaces around it are dropped, and spaces, dots and dashes in numbers. An empty
// answer is always right: whether it is required is not asked here.
func Clean(f Field, answer string, today time.Time) (string, Problem) {
	answer = strings.Join(strings.Fields(answer), " ")
	s := ShapeOf(f)
	switch {
	case answer == "":
		return "", ""
	case !utf8.ValidString(answer), strings.ContainsFunc(answer, unicode.IsControl):
		return "", BadCharacter
	case utf8.RuneCountInString(answer) > s.MaxLength:
		return "", TooLong
	}
	switch s.Kind {
	case Date:
		return cleanDate(answer, today)
	case CountryCode:
		code := strings.ToUpper(answer)
		if !isCountry(code) && (code != Stateless || f != Nationality && f != OtherNationality) {
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
	if f == DocumentNumber || f == SupportNumber {
		return strings.ToUpper(strings.NewReplacer(" ", "", ".", "", "-", "").Replace(answer)), ""
	}
	return answer, ""
}

func cleanDate(answer string, today time.Time) (string, Problem) {
	day, err := time.Parse(time.DateOnly, answer)
	switch {
	case err != nil:
		return "", NotADate
	case day.After(today), day.Before(today.AddDate(-130, 0, 0)):
		return "", NotPossible
	}
	return answer, ""
}

func cleanEmail(answer string) (string, Problem) {
	parsed, err := mail.ParseAddress(answer)
	if err != nil || parsed.Address != answer || !strings.Contains(answer[strings.LastIndex(answer, "@")+1:], ".") {
		return "", NotAnAddress
	}
	return answer, ""
}

var phone = regexp.MustCompile(`^\+?[0-9]{6,15}$`)

// cleanPhone accepts every number that could be dialled: new ranges exist before a table knows them.
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
