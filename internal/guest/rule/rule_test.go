package rule

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var arrival = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// asked writes the fields of the law as words: a question mark means optional.
func asked(all []Ask) string {
	var words []string
	for _, a := range all {
		word := string(a.Field)
		if !a.Required {
			word += "?"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestFields(t *testing.T) {
	adult := func(nationality string, more ...string) Answers {
		a := Answers{Nationality: nationality, BirthDate: "1990-05-05"}
		for i := 0; i+1 < len(more); i += 2 {
			a[Field(more[i])] = more[i+1]
		}
		return a
	}
	child := func(nationality, kinship string) Answers {
		return Answers{Nationality: nationality, BirthDate: "2016-05-05", Kinship: kinship}
	}
	const (
		names   = "firstName lastName"
		address = "address.street address.postcode? address.city address.country"
	)
	for _, test := range []struct {
		rule, who string
		main      bool
		answers   Answers
		want      string
	}{
		{"none", "anybody", true, nil, names},
		{"DE", "not said yet", true, nil, names + " nationality otherNationality?"},
		{"DE", "a German", true, adult("DE"), names + " nationality otherNationality?"},
		{"DE", "a German with a second citizenship", true, adult("TR", "otherNationality", "DE"), names + " nationality otherNationality?"},
		{"DE", "a foreign citizen", true, adult("PT"), names + " nationality otherNationality? birthDate " + address + " document.number"},
		{"DE", "a foreign spouse", false, adult("PT", "kinship", "spouse"), names + " nationality otherNationality? kinship"},
		{"DE", "a foreign friend", false, adult("PT", "kinship", "notFamily"), names + " nationality otherNationality? birthDate kinship " + address + " document.number"},
		{"ES", "an adult", true, adult("FR"), names + " secondLastName? nationality birthDate sex " + address + " document.type document.number document.supportNumber? email mobile"},
		{"ES", "a Spanish adult", true, adult("ES"), names + " secondLastName nationality birthDate sex " + address + " document.type document.number document.supportNumber? email mobile"},
		{"ES", "an adult with a mobile", true, adult("FR", "mobile", "+33612345678"), names + " secondLastName? nationality birthDate sex " + address + " document.type document.number document.supportNumber? email? mobile"},
		{"ES", "a child", false, child("FR", "child"), names + " secondLastName? nationality birthDate sex kinship " + address},
		{"IT", "the head of a family", true, adult("IT"), names + " nationality birthDate birthPlace birthCountry sex document.type document.number document.issuingPlace"},
		{"IT", "a companion", false, adult("IT"), names + " nationality birthDate birthPlace birthCountry sex"},
		{"PT", "a Portuguese citizen", true, adult("PT"), names + " nationality otherNationality?"},
		{"PT", "a foreign citizen", true, adult("ES"), names + " nationality otherNationality? birthDate birthPlace? address.city address.country document.type document.number document.issuingCountry"},
		{"FR", "a foreign citizen", true, adult("BE"), names + " nationality otherNationality? birthDate birthPlace " + address + " email mobile"},
		{"FR", "a foreign child", false, child("BE", "child"), names + " nationality otherNationality? birthDate"},
		{"FR", "a French citizen", true, adult("FR"), names + " nationality otherNationality?"},
		{"AT", "an Austrian", true, adult("AT"), names + " nationality birthDate sex address.street address.postcode address.city address.country countryComingFrom"},
		{"AT", "a foreign citizen", true, adult("IT"), names + " nationality birthDate sex address.street address.postcode address.city address.country countryComingFrom document.type document.number document.issuingAuthority document.issueDate"},
		{"AT", "a member of the family", false, adult("AT", "kinship", "child"), names + " birthDate kinship"},
		{"HR", "anybody", true, adult("HR"), names + " nationality birthDate birthPlace? birthCountry sex address.street? address.city address.country document.type document.number"},
		{"GB", "British", true, adult("GB"), names + " nationality"},
		{"GB", "Irish", true, adult("IE"), names + " nationality"},
		{"GB", "a Commonwealth citizen", true, adult("IN"), names + " nationality"},
		{"GB", "an alien", true, adult("FR"), names + " nationality document.number document.issuingPlace"},
		{"GB", "an alien of 10 years", false, child("FR", ""), names},
		{"HU", "anybody", true, adult("HU"), names + " birthName motherName nationality birthDate birthPlace sex document.type document.number"},
		{"AU", "anybody", true, adult("AU"), names + " address.street address.city address.country"},
	} {
		r, ok := Find(test.rule)
		if !ok {
			t.Fatalf("there is no rule %s", test.rule)
		}
		got := asked(Fields(Settings{Rule: r}, Guest{Main: test.main, Answers: test.answers}, Party{Arrival: arrival, Size: 2}))
		if got != test.want {
			t.Errorf("%s, %s:\n%s, want\n%s", test.rule, test.who, got, test.want)
		}
	}
}

func TestTheProperty(t *testing.T) {
	none, _ := Find("none")
	s := Settings{Rule: none, Own: []Own{{Name: "plate", Label: "Number plate", MainOnly: true}, {Name: "diet", Label: "Diet", Required: true}}, Mandatory: []Group{Contact}}
	if got := asked(Fields(s, Guest{Main: true}, Party{})); got != "firstName lastName email mobile own.plate? own.diet" {
		t.Errorf("the main guest: %s", got)
	}
	if got := asked(Fields(s, Guest{}, Party{})); got != "firstName lastName email mobile own.diet" {
		t.Errorf("a companion: %s", got)
	}
}

// A closed list must not hold anything else: neither what the property asks nor what the guest said before.
func TestOfficialFormOfAClosedList(t *testing.T) {
	r, _ := Find("DE")
	g := Guest{Main: true, Answers: Answers{
		FirstName: "Ana", LastName: "Silva", Nationality: "PT", BirthDate: "1990-05-05", Street: "Rua 1", City: "Porto", Country: "PT", DocumentNumber: "X1",
		Email: "ana@example.com", Mobile: "+351912345678", Sex: "F", BirthPlace: "Porto", "own.plate": "AA-00-BB",
	}}
	got := Official(Settings{Rule: r, Mandatory: []Group{Contact}, Own: []Own{{Name: "plate"}}}, g, Party{Arrival: arrival})
	for _, f := range []Field{Email, Mobile, Sex, BirthPlace, "own.plate"} {
		if _, ok := got[f]; ok {
			t.Errorf("the form has %s", f)
		}
	}
	if got[DocumentNumber] != "X1" || got[LastName] != "Silva" {
		t.Errorf("the form lacks fields: %v", got)
	}
}

func TestMissing(t *testing.T) {
	r, _ := Find("PT")
	g := Guest{Main: true, Answers: Answers{FirstName: "Ana", LastName: "Silva", Nationality: "BR", City: "Recife", Country: "BR", DocumentType: "passport", DocumentNumber: "X1"}}
	if got := Missing(Settings{Rule: r}, g, Party{Arrival: arrival}); !slices.Equal(got, []Field{BirthDate, IssuingCountry}) {
		t.Errorf("missing: %v", got)
	}
}

func TestMinors(t *testing.T) {
	for _, test := range []struct {
		born  string
		child bool
		want  bool
	}{
		{"2008-11-21", true, false}, {"2008-11-22", false, true}, {"", true, true}, {"", false, false}, {"not a date", true, true},
	} {
		if got := IsMinor(Guest{Child: test.child, Answers: Answers{BirthDate: test.born}}, arrival); got != test.want {
			t.Errorf("born %q, child %v: %v", test.born, test.child, got)
		}
	}
}

func TestSigns(t *testing.T) {
	at := func(name, nationality, born string) bool {
		r, _ := Find(name)
		return Signs(r, Guest{Answers: Answers{Nationality: nationality, BirthDate: born}}, Party{Arrival: arrival})
	}
	for name, ok := range map[string]bool{
		"ES from 14":      at("ES", "FR", "2012-11-21"),
		"ES under 14":     !at("ES", "FR", "2012-11-22"),
		"DE foreign":      at("DE", "FR", "1990-01-01"),
		"DE German":       !at("DE", "DE", "1990-01-01"),
		"AT all":          at("AT", "AT", "1990-01-01"),
		"none":            !at("none", "", ""),
		"IT no signature": !at("IT", "FR", "1990-01-01"),
	} {
		if !ok {
			t.Error(name)
		}
	}
}

func TestClean(t *testing.T) {
	for _, test := range []struct {
		field   Field
		in, out string
		problem Problem
	}{
		{LastName, "  da  Silva ", "da Silva", ""},
		{LastName, "O’Neill-Ångström", "O’Neill-Ångström", ""},
		{LastName, strings.Repeat("ü", 101), "", TooLong},
		{LastName, "a\x00b", "", BadCharacter},
		{LastName, "a\u0085b", "a b", ""},
		{LastName, "a\x1bb", "", BadCharacter},
		{BirthDate, "1990-05-05", "1990-05-05", ""},
		{BirthDate, "1990-02-30", "", NotADate},
		{BirthDate, "2026-11-22", "", NotPossible},
		{BirthDate, "1880-01-01", "", NotPossible},
		{Nationality, "pt", "PT", ""},
		{Nationality, "XX", "XX", ""},
		{Country, "XX", "", NotACountry},
		{Country, "UK", "", NotACountry},
		{BirthCountry, "XK", "XK", ""},
		{Sex, "F", "F", ""},
		{Sex, "f", "", NotAnOption},
		{DocumentNumber, "ab-12.34 5", "AB12345", ""},
		{Email, "ana@example.com", "ana@example.com", ""},
		{Email, "Ana <ana@example.com>", "", NotAnAddress},
		{Email, "ana@localhost", "", NotAnAddress},
		{Mobile, "+351 912-345.678", "+351912345678", ""},
		{Mobile, "0049 (0)170 1234567", "+491701234567", ""},
		{Mobile, "call me", "", NotAPhone},
		{"own.plate", " AA 00 BB ", "AA 00 BB", ""},
		{Mobile, "", "", ""},
	} {
		if out, problem := Clean(test.field, test.in, arrival); out != test.out || problem != test.problem {
			t.Errorf("%s %q: %q, %q; want %q, %q", test.field, test.in, out, problem, test.out, test.problem)
		}
	}
}

// Each rule is dated, has a source, and asks only fields that a form can show.
func TestTable(t *testing.T) {
	for i, r := range Rules {
		if i > 0 && (r.Name <= Rules[max(i-1, 1)].Name && i > 1 || !isCountry(r.Name)) {
			t.Errorf("%s is not in the order of countries", r.Name)
		}
		if i == 0 {
			continue
		}
		for _, day := range []string{r.Since, r.ReadOn} {
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
		}
		if r.Source == "" || !strings.HasPrefix(r.URL, "http") || len(r.wants) == 0 {
			t.Errorf("%s has no source, or asks nothing", r.Name)
		}
		for _, w := range r.wants {
			if _, ok := StepOf(w.field); !ok {
				t.Errorf("%s asks %s, which has no step", r.Name, w.field)
			}
		}
	}
	for _, e := range steps {
		if _, ok := shapes[e.field]; !ok {
			t.Errorf("%s has no shape", e.field)
		}
		if !slices.Contains(Steps, e.step) {
			t.Errorf("%s is in an unknown step", e.field)
		}
	}
	if !slices.IsSorted(Countries) || len(Countries) != 250 {
		t.Errorf("%d countries", len(Countries))
	}
	if len(commonwealth) != 55 || !slices.IsSorted(commonwealth) {
		t.Errorf("%d states of the Commonwealth", len(commonwealth))
	}
}

func TestKeptUntil(t *testing.T) {
	es, _ := Find("ES")
	if day, ok := KeptUntil(es, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)); !ok || day.Format(time.DateOnly) != "2029-11-23" {
		t.Errorf("%v, %v", day, ok)
	}
	it, _ := Find("IT")
	if _, ok := KeptUntil(it, arrival); ok {
		t.Error("Italy has a time")
	}
}
