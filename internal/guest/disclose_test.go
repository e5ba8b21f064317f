package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
)

// The PMS gets a group of a guest while the party checks in or stays, if that guest shares it and the property marks it mandatory.
func TestGroupsThatThePMSMayGet(t *testing.T) {
	identity := []string{"identity"}
	for bits := range 32 {
		is := func(i int) bool { return bits&(1<<i) != 0 }
		s := Sharing{CheckingIn: is(0), Staying: is(1), Decided: is(2)}
		if is(3) {
			s.Shared = identity
		}
		if is(4) {
			s.Mandatory = identity
		}
		want := (s.CheckingIn || s.Staying) && s.Decided && is(3) && is(4)
		if got := s.Groups(); (len(got) == 1) != want || want && got[0] != rule.Identity {
			t.Errorf("%+v: %v", s, got)
		}
	}
}

func TestDisclose(t *testing.T) {
	all := rule.Answers{
		rule.FirstName: "Ana", rule.LastName: "Silva", rule.Nationality: "PT", rule.Email: "ana@example.com", rule.City: "Porto", rule.Country: "PT",
		rule.DocumentType: "passport", rule.DocumentNumber: "X1", rule.BirthDate: "1990-01-02", rule.BirthName: "Sousa", rule.SecondLastName: rule.None, rule.Postcode: rule.None, rule.OwnPrefix + "plate": "AA-00-AA",
	}
	names := rule.Answers{rule.FirstName: "Ana", rule.LastName: "Silva", rule.Nationality: "PT"}
	for name, c := range map[string]struct {
		shared, mandatory []string
		want              rule.Answers
		groups            []rule.Group
	}{
		"nothing shared":                 {nil, []string{"identity", "contact", "home", "document", "birth"}, rule.Answers{}, nil},
		"nothing mandatory":              {[]string{"identity", "contact", "home", "document", "birth"}, nil, rule.Answers{}, nil},
		"shared and mandatory":           {[]string{"identity"}, []string{"identity"}, names, []rule.Group{rule.Identity}},
		"shared, another mandatory":      {[]string{"contact"}, []string{"identity"}, rule.Answers{}, nil},
		"more shared than mandatory":     {[]string{"identity", "document", "birth"}, []string{"identity"}, names, []rule.Group{rule.Identity}},
		"more mandatory than shared":     {[]string{"identity"}, []string{"identity", "contact", "document"}, names, []rule.Group{rule.Identity}},
		"an unknown group":               {[]string{"own", "payment"}, []string{"own", "payment"}, rule.Answers{}, nil},
		"a document without its country": {[]string{"document"}, []string{"document"}, rule.Answers{rule.DocumentType: "passport", rule.DocumentNumber: "X1"}, []rule.Group{rule.Document}},
		"contact, home and birth": {[]string{"birth", "home", "contact"}, []string{"contact", "home", "birth"}, rule.Answers{
			rule.Email: "ana@example.com", rule.City: "Porto", rule.Country: "PT", rule.BirthDate: "1990-01-02",
		}, []rule.Group{rule.Contact, rule.Home, rule.Birth}},
	} {
		got, groups := Sharing{CheckingIn: true, Decided: true, Shared: c.shared, Mandatory: c.mandatory, Answers: all}.Disclose()
		if diff := cmp.Diff(c.want, got) + cmp.Diff(c.groups, groups); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got, groups := (Sharing{CheckingIn: true, Decided: true, Shared: []string{"contact"}, Mandatory: []string{"contact"}}).Disclose(); len(got) != 0 || groups != nil {
		t.Errorf("no answers: %v, %v", got, groups)
	}
}

// A partner reads a guest's data while the guest stays, shares them, and the property marks them mandatory. Otherwise it reads nothing,
// and learns why.
func TestRead(t *testing.T) {
	identity := []string{"identity"}
	for bits := range 32 {
		is := func(i int) bool { return bits&(1<<i) != 0 }
		s := Sharing{CheckingIn: is(0), Staying: is(1), Decided: is(2), Answers: rule.Answers{rule.FirstName: "Ana", rule.Email: "ana@example.com"}}
		if is(3) {
			s.Shared = identity
		}
		if is(4) {
			s.Mandatory = identity
		}
		want := fault.Reason("")
		switch {
		case !s.Staying:
			want = fault.OutsideStay
		case !s.Decided || !is(3) || !is(4):
			want = fault.NotShared
		}
		answers, groups, refused := s.Read()
		read := rule.Answers(nil)
		if want == "" {
			read = rule.Answers{rule.FirstName: "Ana"}
		}
		if refused != want || len(groups) != len(read) || !cmp.Equal(answers, read) {
			t.Errorf("%+v: %v, %v, %q, want %q", s, answers, groups, refused, want)
		}
	}
}
