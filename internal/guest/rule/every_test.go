package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/message"
)

// permitted has what the form of a closed list may hold. It repeats the law on purpose, so that a wrong row of the table fails.
var permitted = map[string]string{
	"AT": "firstName lastName birthDate sex nationality countryComingFrom address.street address.postcode address.city address.country document.type document.number document.issueDate document.issuingAuthority",
	"DE": "firstName lastName birthDate nationality otherNationality address.street address.postcode address.city address.country document.number",
}

// eachGuest calls f for guests of all ages, citizenships and parties under each version of each rule.
func eachGuest(f func(s rule.Settings, g rule.Guest, p rule.Party, who string)) {
	days := []time.Time{time.Date(2024, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	for i := range rule.Rules {
		s := rule.Settings{Rule: &rule.Rules[i], Mandatory: rule.GroupNames, Own: []rule.Own{{Name: "plate", Required: true}}}
		for _, day := range days {
			if day.Format(time.DateOnly) < s.Rule.Since && s.Rule.On(day) == s.Rule {
				continue // no former version
			}
			for _, nationality := range []string{"", s.Rule.Name, "IE", "IN", "US", rule.Stateless} {
				for _, age := range []int{-1, 0, 14, 15, 17, 90} {
					for _, size := range []int{2, 11} {
						for _, kinship := range []string{"head", "", "spouse", "child", "sibling", "notFamily"} {
							for _, head := range []string{"", s.Rule.Name, "SE"} {
								g := rule.Guest{Main: kinship == "head", Child: age < 15 && age >= 0, Answers: rule.Answers{}}
								for field, answer := range map[rule.Field]string{rule.Nationality: nationality, rule.Kinship: strings.TrimPrefix(kinship, "head")} {
									if answer != "" {
										g.Answers[field] = answer
									}
								}
								if age >= 0 {
									g.Answers[rule.BirthDate] = day.AddDate(-age, 0, 0).Format(time.DateOnly)
								}
								p := rule.Party{Arrival: day, Size: size, Head: rule.Answers{rule.Nationality: head}}
								who := fmt.Sprintf("%s on %s: %q of %d years, %q, of %d, head %q", s.Rule.Name, day.Format(time.DateOnly), nationality, age, kinship, size, head)
								f(s, g, p, who)
							}
						}
					}
				}
			}
		}
	}
}

// example returns an answer that is right for a field.
func example(f rule.Field, p rule.Party) string {
	switch shape := rule.ShapeOf(f); shape.Kind {
	case rule.Date:
		return p.Arrival.AddDate(-30, 0, 0).Format(time.DateOnly)
	case rule.CountryCode:
		return "IT"
	case rule.Choice:
		return shape.Options[len(shape.Options)/2]
	case rule.EmailKind:
		return "ana@example.com"
	case rule.PhoneKind:
		return "+351912345678"
	default:
		if shape.NoneAllowed {
			return rule.None
		}
		return "Ana 1"
	}
}

// Every guest can complete every form: nothing is asked twice, each question has a reason, right answers leave nothing open, and the
// legal block of a closed list holds what the law permits.
func TestEveryGuestCanCompleteTheForm(t *testing.T) {
	texts := message.Kinds(message.English)
	eachGuest(func(s rule.Settings, g rule.Guest, p rule.Party, who string) {
		for round := 0; len(rule.Missing(s, g, p)) > 0; round++ {
			if round == 8 {
				t.Fatalf("%s: still missing %v", who, rule.Missing(s, g, p))
			}
			for _, field := range rule.Missing(s, g, p) {
				answer, problem := rule.Clean(field, example(field, p), rule.Days{Today: p.Arrival, Arrival: p.Arrival})
				if problem != "" {
					t.Fatalf("%s: the example of %s is %s", who, field, problem)
				}
				g.Answers[field] = answer
			}
		}
		asks := rule.Fields(s, g, p)
		var names []string
		for _, a := range asks {
			if slices.Contains(names, string(a.Field)) {
				t.Fatalf("%s: %s is asked twice", who, a.Field)
			}
			names = append(names, string(a.Field))
			if _, ok := texts["why."+string(a.Reason())]; !ok {
				t.Fatalf("%s: %s has no reason", who, a.Field)
			}
			if g.Answers[a.Field] == "" {
				g.Answers[a.Field] = example(a.Field, p)
			}
		}
		law := s.Rule.On(p.Arrival)
		for field, answer := range rule.OfficialAnswers(s, g, p) {
			if law.Closed && !slices.Contains(strings.Fields(permitted[law.Name]), string(field)) {
				t.Fatalf("%s: %s is on the form", who, field)
			}
			if answer == "" || answer == rule.None && rule.ShapeOf(field).NoneAllowed {
				t.Fatalf("%s: the form holds %q for %s", who, answer, field)
			}
		}
		departure := p.Arrival.AddDate(0, 0, 3)
		if until, ok := rule.KeptUntil(law, departure); ok && !until.After(departure) {
			t.Fatalf("%s: kept until %s", who, until)
		}
	})
	if len(permitted) != 2 {
		t.Errorf("closed lists: %v", permitted)
	}
	for _, r := range rule.Rules {
		if _, ok := permitted[r.Name]; ok != r.Closed {
			t.Errorf("%s is closed: %v", r.Name, r.Closed)
		}
	}
}
