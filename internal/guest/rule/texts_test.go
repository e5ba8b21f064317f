package rule_test

import (
	"testing"

	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/message"
)

// Each step, field, choice, country and limit has a text in every language.
func TestTexts(t *testing.T) {
	var kinds []string
	for _, s := range rule.Steps {
		kinds = append(kinds, "form."+string(s), "form."+string(s)+".hint")
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
		if r.Limits != "" {
			kinds = append(kinds, r.Limits)
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
