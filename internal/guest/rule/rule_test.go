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
	const permit = "document.type document.number document.supportNumber"
	for _, test := range []struct {
		rule, who string
		main      bool
		answers   Answers
		want      string
	}{
		{"none", "any guest", true, nil, names},
		{"DE", "not said yet", true, nil, names + " nationality otherNationality?"},
		{"DE", "a German", true, adult("DE"), names + " nationality otherNationality?"},
		{"DE", "a German with a second citizenship", true, adult("TR", "otherNationality", "DE"), names + " nationality otherNationality?"},
		{"DE", "a foreign citizen", true, adult("PT"), names + " nationality otherNationality? birthDate " + address + " document.number"},
		{"DE", "a foreign spouse", false, adult("PT", "kinship", "spouse"), names + " nationality otherNationality? kinship"},
		{"DE", "a foreign friend", false, adult("PT", "kinship", "notFamily"), names + " nationality otherNationality? birthDate kinship " + address + " document.number"},
		{"ES", "an adult", true, adult("FR"), names + " secondLastName? nationality birthDate sex " + address + " document.type document.number document.supportNumber? email mobile"},
		{"ES", "a Spaniard who has not said which document", true, adult("ES"), names + " secondLastName? nationality birthDate sex " + address + " document.type document.number document.supportNumber? email mobile"},
		{"ES", "a Spaniard with an identity card", true, adult("ES", "document.type", "idCard"), names + " secondLastName nationality birthDate sex " + address + " " + permit + " email mobile"},
		{"ES", "a Spaniard with a passport", true, adult("ES", "document.type", "passport"), names + " secondLastName? nationality birthDate sex " + address + " document.type document.number document.supportNumber? email mobile"},
		{"ES", "a foreign resident", true, adult("MA", "document.type", "residencePermit", "address.country", "ES"), names + " secondLastName? nationality birthDate sex address.street address.postcode address.city address.country " + permit + " email mobile"},
		{"ES", "an adult with a mobile", true, adult("FR", "mobile", "+33612345678"), names + " secondLastName? nationality birthDate sex " + address + " document.type document.number document.supportNumber? email? mobile"},
		{"ES", "a child", false, child("FR", "child"), names + " secondLastName? nationality birthDate sex kinship " + address},
		{"ES", "a child alone", true, child("FR", ""), names + " secondLastName? nationality birthDate sex " + address},
		{"IT", "the head of a family, born abroad", true, adult("IT", "birthCountry", "FR"), names + " nationality birthDate birthCountry sex document.type document.number document.issuingPlace"},
		{"IT", "a companion, born in Italy", false, adult("FR", "birthCountry", "IT"), names + " nationality birthDate birthCountry birthPlace birthProvince sex"},
		{"PT", "a Portuguese citizen", true, adult("PT"), names + " nationality otherNationality?"},
		{"PT", "a foreign citizen", true, adult("ES"), names + " nationality otherNationality? birthDate birthPlace? address.city address.country document.type document.number document.issuingCountry"},
		{"FR", "a foreign citizen", true, adult("BE"), names + " nationality otherNationality? birthDate birthPlace " + address + " email mobile"},
		{"FR", "a foreign child", false, child("BE", "child"), names + " nationality otherNationality? birthDate"},
		{"FR", "a French citizen", true, adult("FR"), names + " nationality otherNationality?"},
		{"AT", "an Austrian", true, adult("AT"), names + " nationality birthDate sex address.street address.postcode address.city address.country countryComingFrom"},
		{"AT", "a foreign citizen", true, adult("IT"), names + " nationality birthDate sex address.street address.postcode address.city address.country document.type document.number document.issuingAuthority document.issueDate countryComingFrom"},
		{"AT", "a member of the family", false, adult("AT", "kinship", "child"), names + " birthDate kinship"},
		{"HR", "any guest", true, adult("HR"), names + " nationality birthDate birthCountry birthPlace? sex address.street? address.city address.country document.type document.number taxExemption?"},
		{"GB", "British", true, adult("GB"), names + " nationality otherNationality?"},
		{"GB", "Irish", true, adult("IE"), names + " nationality otherNationality?"},
		{"GB", "a Commonwealth citizen", true, adult("IN"), names + " nationality otherNationality?"},
		{"GB", "a French and British citizen", true, adult("FR", "otherNationality", "GB"), names + " nationality otherNationality?"},
		{"GB", "an alien", true, adult("FR"), names + " nationality otherNationality? document.type document.number document.issuingPlace nextDestination?"},
		{"GB", "an alien of 10 years", false, child("FR", ""), names},
		{"HU", "a Hungarian", true, adult("HU"), names + " birthName motherName nationality otherNationality? birthDate birthPlace sex document.type document.number"},
		{"HU", "a citizen of a third country", true, adult("US"), names + " birthName motherName nationality otherNationality? birthDate birthPlace sex document.type document.number visaNumber entryDate entryPlace"},
		{"AU", "any guest", true, adult("AU"), names + " address.street address.postcode? address.city address.region? address.country"},
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

// The day of arrival decides which version of a law is in force.
func TestVersions(t *testing.T) {
	r, _ := Find("DE")
	german := Guest{Main: true, Answers: Answers{Nationality: "DE", BirthDate: "1990-05-05"}}
	for _, test := range []struct{ on, since, want string }{
		{"", "2025-01-01", "firstName lastName nationality otherNationality?"},
		{"2010-01-01", "2015-11-01", "firstName lastName nationality otherNationality? birthDate address.street address.postcode? address.city address.country"},
		{"2024-12-31", "2015-11-01", "firstName lastName nationality otherNationality? birthDate address.street address.postcode? address.city address.country"},
		{"2025-01-01", "2025-01-01", "firstName lastName nationality otherNationality?"},
	} {
		day, _ := time.Parse(time.DateOnly, test.on)
		p := Party{Arrival: day, Size: 1}
		if got := r.On(p.Arrival).Since; got != test.since {
			t.Errorf("on %s the version of %s is in force", test.on, got)
		}
		if got := asked(Fields(Settings{Rule: r}, german, p)); got != test.want {
			t.Errorf("on %s a German is asked\n%s, want\n%s", test.on, got, test.want)
		}
		if got, want := Signs(r, german, p), test.since < "2025"; got != want {
			t.Errorf("on %s a German signs: %v", test.on, got)
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
	if got := asked(Fields(s, Guest{Child: true}, Party{})); got != "firstName lastName email? mobile? own.diet" {
		t.Errorf("a child, who may have no address of their own: %s", got)
	}
}

// A group with the kinship asks only a companion for it: the main guest has no relation to the main guest.
func TestAMandatoryGroupAsksNoMainGuestForKinship(t *testing.T) {
	none, _ := Find("none")
	s := Settings{Rule: none, Mandatory: []Group{Identity}}
	for main, want := range map[bool]bool{true: false, false: true} {
		if got := strings.Contains(asked(Fields(s, Guest{Main: main}, Party{})), "kinship"); got != want {
			t.Errorf("main guest %t: asked %t", main, got)
		}
	}
}

// A closed list holds neither what the property asks, nor what only decides what the law asks, nor what the guest said before.
func TestOfficialFormOfAClosedList(t *testing.T) {
	answers := func(more ...string) Answers {
		a := Answers{
			FirstName: "Ana", LastName: "Silva", Nationality: "PT", BirthDate: "1990-05-05", Street: "Rua 1", City: "Porto", Country: "PT", Postcode: "-", ComingFrom: "PT",
			DocumentType: "passport", DocumentNumber: "X1", IssueDate: "2020-01-01", IssuingAuthority: "SEF",
			Email: "ana@example.com", Mobile: "+351912345678", Sex: "F", BirthPlace: "Porto", "own.plate": "AA-00-BB",
		}
		for i := 0; i+1 < len(more); i += 2 {
			a[Field(more[i])] = more[i+1]
		}
		return a
	}
	for _, test := range []struct {
		rule, who string
		g         Guest
		size      int
		want      string
	}{
		{"DE", "a foreign citizen", Guest{Main: true, Answers: answers()}, 1, "address.city address.country address.street birthDate document.number firstName lastName nationality"},
		{"DE", "a German", Guest{Main: true, Answers: answers("nationality", "DE")}, 1, ""},
		{"DE", "a friend", Guest{Answers: answers("kinship", "notFamily")}, 2, "address.city address.country address.street birthDate document.number firstName lastName nationality"},
		{"DE", "a spouse", Guest{Answers: answers("kinship", "spouse")}, 2, ""},
		{"DE", "a member of a large group", Guest{Answers: answers()}, 11, "nationality"},
		{"AT", "a friend", Guest{Answers: answers("kinship", "notFamily")}, 2, "address.city address.country address.street birthDate countryComingFrom document.issueDate document.issuingAuthority document.number document.type firstName lastName nationality sex"},
		{"AT", "a spouse", Guest{Answers: answers("kinship", "spouse")}, 2, "birthDate firstName lastName"},
	} {
		r, _ := Find(test.rule)
		s := Settings{Rule: r, Mandatory: []Group{Contact, Birth}, Own: []Own{{Name: "plate"}}}
		var got []string
		for f := range OfficialAnswers(s, test.g, Party{Arrival: arrival, Size: test.size, Head: answers()}) {
			got = append(got, string(f))
		}
		slices.Sort(got)
		if words := strings.Join(got, " "); words != test.want {
			t.Errorf("%s, %s:\n%s, want\n%s", test.rule, test.who, words, test.want)
		}
	}
}

func TestMissing(t *testing.T) {
	r, _ := Find("PT")
	g := Guest{Main: true, Answers: Answers{FirstName: "Ana", LastName: "Silva", Nationality: "BR", City: "Recife", Country: "BR", DocumentType: "passport", DocumentNumber: "X1"}}
	if got := Missing(Settings{Rule: r}, g, Party{Arrival: arrival}); !slices.Equal(got, []Field{BirthDate, IssuingCountry}) {
		t.Errorf("missing: %v", got)
	}
}

// What the law wants at the departure at the latest does not hold a check-in back, and stays open until it is answered.
func TestOpenUntilDeparture(t *testing.T) {
	if got := AskLater(); !slices.Equal(got, []string{"GB"}) {
		t.Errorf("rules that ask later: %v", got)
	}
	r, _ := Find("GB")
	answers := Answers{FirstName: "Ana", LastName: "Silva", Nationality: "FR", DocumentType: "passport", DocumentNumber: "X1", IssuingPlace: "Lyon"}
	for _, test := range []struct {
		nationality, next string
		want              []Field
	}{
		{"FR", "", []Field{NextDestination}}, {"FR", "Dublin", nil}, {"IN", "", nil},
	} {
		answers[Nationality], answers[NextDestination] = test.nationality, test.next
		g := Guest{Main: true, Answers: answers}
		if got := Open(Settings{Rule: r}, g, Party{Arrival: arrival}); !slices.Equal(got, test.want) {
			t.Errorf("%+v: open %v", test, got)
		}
		if got := Missing(Settings{Rule: r}, g, Party{Arrival: arrival}); len(got) > 0 {
			t.Errorf("%+v: missing %v", test, got)
		}
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
	for _, test := range []struct {
		rule, nationality, born, kinship, head string
		want                                   bool
	}{
		{"ES", "FR", "2012-11-21", "child", "ES", true}, // from 14
		{"ES", "FR", "2012-11-22", "child", "ES", false},
		{"DE", "FR", "1990-01-01", "", "", true},
		{"DE", "DE", "1990-01-01", "", "", false},
		{"DE", "FR", "1990-01-01", "spouse", "FR", false}, // on the form of the main guest
		{"DE", "FR", "1990-01-01", "spouse", "DE", true},  // a German fills in no form
		{"AT", "AT", "1990-01-01", "", "", true},
		{"AT", "AT", "1990-01-01", "spouse", "AT", false},
		{"AT", "AT", "2016-01-01", "notFamily", "AT", false},
		{"FR", "BE", "2011-11-21", "child", "BE", true}, // under 15 on the card of an adult
		{"FR", "BE", "2011-11-22", "child", "BE", false},
		{"PT", "BE", "1990-01-01", "", "", true},
		{"PT", "BE", "1990-01-01", "notFamily", "FR", false}, // the main guest signs for all
		{"PT", "BE", "1990-01-01", "notFamily", "PT", true},
		{"none", "BE", "1990-01-01", "", "", true}, // the law names no signer: the property does
		{"IT", "BE", "1990-01-01", "notFamily", "IT", true},
		{"IT", "BE", "2016-01-01", "child", "IT", false},
	} {
		r, _ := Find(test.rule)
		g := Guest{Main: test.head == "", Answers: Answers{Nationality: test.nationality, BirthDate: test.born, Kinship: test.kinship}}
		if got := Signs(r, g, Party{Arrival: arrival, Head: Answers{Nationality: test.head}}); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

func TestKeptUntil(t *testing.T) {
	es, _ := Find("ES")
	if day, ok := KeptUntil(es, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)); !ok || day.Format(time.DateOnly) != "2029-11-23" {
		t.Errorf("%v, %v", day, ok)
	}
	fr, _ := Find("FR")
	if day, _ := KeptUntil(fr, time.Date(2026, 8, 31, 23, 0, 0, 0, time.FixedZone("", -11*60*60))); day.Format(time.DateOnly) != "2027-02-28" {
		t.Errorf("from the end of August: %v", day)
	}
	pt, _ := Find("PT")
	if day, _ := KeptUntil(pt, time.Date(2026, 11, 27, 11, 0, 0, 0, time.UTC)); day.Format(time.DateOnly) != "2027-12-02" {
		t.Errorf("in Portugal from the notice of departure: %v", day)
	}
	it, _ := Find("IT")
	if _, ok := KeptUntil(it, arrival); ok {
		t.Error("Italy has a time")
	}
}

// A page of a large party asks for the fields of each guest several times.
func BenchmarkFields(b *testing.B) {
	r, _ := Find("DE")
	s := Settings{Rule: r, Mandatory: GroupNames}
	g := Guest{Answers: Answers{Nationality: "PT", BirthDate: "1990-05-05", Kinship: "notFamily"}}
	for b.Loop() {
		Fields(s, g, Party{Arrival: arrival, Size: 5, Head: g.Answers})
	}
}

// The guests who fill in by a rule are those whom it asks something: the others miss nothing that belongs on the official form.
func TestFills(t *testing.T) {
	for _, r := range slices.Concat(Rules, former) {
		want := Lead
		for _, born := range []string{"1990-05-05", "2009-05-05", "2016-05-05"} {
			for _, nationality := range []string{r.Name, "IS"} {
				g := Guest{Answers: Answers{Nationality: nationality, BirthDate: born, Kinship: "notFamily"}}
				asks := Fields(Settings{Rule: &r}, g, Party{Arrival: arrival, Size: 2, Head: Answers{Nationality: "IS"}})
				switch asked := slices.ContainsFunc(asks, func(a Ask) bool { return a.OnForm && a.Required }); {
				case asked && born > "2008-11-21":
					want = All
				case asked && want == Lead:
					want = Adults
				}
			}
		}
		if got := r.Fills(); got != want {
			t.Errorf("%s: %s, want %s", r.Name, got, want)
		}
	}
	for i, w := range whoInOrder {
		for j, other := range whoInOrder {
			if w.Covers(other) != (i >= j) {
				t.Errorf("%s covers %s: %v", w, other, !(i >= j))
			}
		}
	}
}
