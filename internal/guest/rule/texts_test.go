package rule_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/message"
)

// Each question of each law says why it is asked, with a text of its own where laws or purposes differ. Each such text is used.
func TestPurposes(t *testing.T) {
	texts := message.Kinds(message.English)
	has := func(kind string) bool { _, ok := texts[kind]; return ok }
	used := map[string]bool{"why.law": true, "why.lawUntil": true, "why.decides": true, "why.property": true}
	of := map[string]string{}
	eachGuest(func(s rule.Settings, g rule.Guest, p rule.Party, who string) {
		for _, country := range []string{"", s.Rule.Name} {
			g.Answers[rule.BirthCountry] = country
			for _, a := range rule.Fields(s, g, p) {
				kind := rule.Purpose(s.Rule.On(p.Arrival), a, has)
				if a.ByLaw != (kind != "") {
					t.Fatalf("%s: %s, by law %v, has the purpose %q", who, a.Field, a.ByLaw, kind)
				}
				used[kind] = true
				if a.OnForm {
					of[s.Rule.Name+" "+string(a.Field)] = kind
				}
			}
		}
		delete(g.Answers, rule.BirthCountry)
	})
	for kind := range texts {
		if strings.HasPrefix(kind, "why.") && !used[kind] {
			t.Errorf("no law uses the text %s", kind)
		}
	}
	for _, differ := range [][2]string{
		{"ES email", "FR email"}, {"ES document.number", "ES document.supportNumber"}, {"ES document.number", "DE document.number"}, {"IT birthPlace", "PT birthPlace"},
		{"PT document.number", "PT document.issuingCountry"}, {"PT address.city", "AT address.city"}, {"GB document.number", "GB nextDestination"}, {"DE otherNationality", "FR otherNationality"},
	} {
		if a, b := of[differ[0]], of[differ[1]]; a == "" || a == b {
			t.Errorf("%s and %s share the text %q", differ[0], differ[1], a)
		}
	}
}

// Each step, field, choice, country and limit has a text in every language.
func TestTexts(t *testing.T) {
	var kinds []string
	for _, s := range rule.Steps {
		kinds = append(kinds, "form."+string(s))
		if s != rule.PropertyStep { // its questions are the property's own
			kinds = append(kinds, "form."+string(s)+".hint")
		}
	}
	for _, f := range rule.AllFields() {
		kinds = append(kinds, "field."+string(f))
		for _, option := range rule.ShapeOf(f).Options {
			kinds = append(kinds, "choice."+string(f)+"."+option)
		}
	}
	for _, why := range []rule.Reason{rule.ByLaw, rule.Decides, rule.ByProperty} {
		kinds = append(kinds, "why."+string(why))
	}
	for _, r := range rule.Rules {
		if r.LeftToProperty != "" {
			kinds = append(kinds, r.LeftToProperty)
		}
	}
	for _, c := range append([]string{rule.Stateless}, rule.Countries...) {
		kinds = append(kinds, "country."+c)
	}
	for _, p := range []rule.Problem{
		rule.TooLong, rule.NotADate, rule.NotPossible, rule.NotACountry, rule.NotAnOption, rule.NotAnAddress, rule.NotAPhone, rule.BadCharacter,
	} {
		kinds = append(kinds, "problem."+string(p))
	}
	for _, language := range message.Languages() {
		has := message.Kinds(language)
		for _, kind := range kinds {
			if _, ok := has[kind]; !ok {
				t.Errorf("%s has no text for %s", language, kind)
			}
		}
	}
}
