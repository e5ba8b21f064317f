package rule

import (
	"strings"
	"testing"
	"time"
)

// The leader of a group of more than ten, and a main guest of a family, fill in one form for all. A main guest who fills in no form
// covers no companion.
func TestCompanionsInGermany(t *testing.T) {
	r, _ := Find("DE")
	const short, full = "firstName lastName nationality otherNationality?", "firstName lastName nationality otherNationality? birthDate address.street address.postcode? address.city address.country document.number"
	withKinship := func(s string) string {
		if before, after, ok := strings.Cut(s, " address"); ok {
			return before + " kinship address" + after
		}
		return s + " kinship"
	}
	for _, test := range []struct {
		who     string
		head    string
		size    int
		kinship string
		want    string
	}{
		{"of a group of ten", "PT", 10, "notFamily", withKinship(full)},
		{"of a group of eleven", "PT", 11, "", short},
		{"of a group of eleven led by a German", "DE", 11, "notFamily", withKinship(full)},
		{"the spouse of a foreign citizen", "PT", 2, "spouse", withKinship(short)},
		{"the sister of a foreign citizen", "PT", 2, "sibling", withKinship(full)},
		{"the mother of a foreign citizen", "PT", 2, "parent", withKinship(full)},
		{"the grown-up child of a foreign citizen", "PT", 2, "child", withKinship(full)},
		{"the spouse of a German", "DE", 2, "spouse", withKinship(full)},
	} {
		g := Guest{Answers: Answers{Nationality: "PT", BirthDate: "1990-05-05", Kinship: test.kinship}}
		p := Party{Arrival: arrival, Size: test.size, Head: Answers{Nationality: test.head}}
		if got := asked(Fields(Settings{Rule: r}, g, p)); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.who, got, test.want)
		}
	}
}

// A child of the main guest is counted on the German form until 18. The party's count of children decides as long as no birth date does.
func TestChildrenInGermany(t *testing.T) {
	r, _ := Find("DE")
	former, _ := time.Parse(time.DateOnly, "2024-12-31")
	for _, test := range []struct {
		on       time.Time
		child    bool
		born     string
		own, day bool // a form of their own, and the birth date is asked
	}{
		{arrival, true, "", false, false}, {arrival, false, "", true, true}, {arrival, false, "2009-05-05", false, true}, {arrival, false, "2000-05-05", true, true},
		{former, false, "2000-05-05", false, false},
	} {
		g := Guest{Child: test.child, Answers: Answers{Nationality: "PT", Kinship: "child"}}
		if test.born != "" {
			g.Answers[BirthDate] = test.born
		}
		got := asked(Fields(Settings{Rule: r}, g, Party{Arrival: test.on, Size: 2, Head: Answers{Nationality: "PT"}}))
		if strings.Contains(got, "document.number") != test.own || strings.Contains(got, "birthDate") != test.day {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// British law asks from the age of 16, and a party may count older guests as children.
func TestChildrenInBritain(t *testing.T) {
	r, _ := Find("GB")
	for _, test := range []struct {
		child      bool
		born, want string
	}{
		{true, "", "firstName lastName birthDate"},
		{true, "2010-11-22", "firstName lastName birthDate"},
		{true, "2010-11-21", "firstName lastName nationality otherNationality? birthDate"},
		{false, "", "firstName lastName nationality otherNationality?"},
	} {
		g := Guest{Child: test.child, Answers: Answers{}}
		if test.born != "" {
			g.Answers[BirthDate] = test.born
		}
		if got := asked(Fields(Settings{Rule: r}, g, Party{Arrival: arrival, Size: 2})); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
		if _, ok := OfficialAnswers(Settings{Rule: r}, g, Party{Arrival: arrival, Size: 2})[BirthDate]; ok {
			t.Errorf("%+v: the birth date is on the form", test)
		}
	}
}

// In France and Portugal no size of a group shortens the form of a companion. In France a child is on the card of the main guest only if
// the main guest has one.
func TestCompanionsOfGroups(t *testing.T) {
	const (
		card     = "firstName lastName nationality otherNationality? birthDate birthPlace address.street address.postcode? address.city address.country email mobile"
		onACard  = "firstName lastName nationality otherNationality? birthDate"
		bulletin = "firstName lastName nationality otherNationality? birthDate birthPlace? address.city address.country document.type document.number document.issuingCountry"
	)
	for _, test := range []struct {
		rule, head, born, want string
		signs                  bool
	}{
		{"FR", "BE", "1990-05-05", card, true},
		{"FR", "FR", "1990-05-05", card, true},
		{"FR", "BE", "2016-05-05", onACard, false},
		{"FR", "FR", "2016-05-05", card, false},
		{"PT", "BE", "1990-05-05", bulletin, false}, // the leader signs for the group
		{"PT", "PT", "1990-05-05", bulletin, true},
		{"PT", "BE", "2016-05-05", bulletin, false},
	} {
		r, _ := Find(test.rule)
		for _, size := range []int{2, 11, 60} {
			g := Guest{Answers: Answers{Nationality: "BE", BirthDate: test.born}}
			p := Party{Arrival: arrival, Size: size, Head: Answers{Nationality: test.head}}
			if got := asked(Fields(Settings{Rule: r}, g, p)); got != test.want {
				t.Errorf("%+v of %d: %s", test, size, got)
			}
			if got := Signs(r, g, p); got != test.signs {
				t.Errorf("%+v of %d: signs: %v", test, size, got)
			}
		}
	}
	fr, _ := Find("FR")
	alone := Guest{Main: true, Answers: Answers{Nationality: "BE", BirthDate: "2016-05-05"}}
	if got := asked(Fields(Settings{Rule: fr}, alone, Party{Arrival: arrival, Size: 1})); got != card {
		t.Errorf("a child alone in France: %s", got)
	}
}
