package rule_test

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/guest/rule"
)

// stepsOf returns the steps of a guest's form.
func stepsOf(s rule.Settings, g rule.Guest, p rule.Party) (steps []rule.Step) {
	for _, a := range rule.Fields(s, g, p) {
		if !slices.Contains(steps, a.Step) {
			steps = append(steps, a.Step)
		}
	}
	return steps
}

// The range is exact as soon as the answers that decide are known.
func TestStepRange(t *testing.T) {
	arrival := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rule        string
		main        bool
		answers     rule.Answers
		least, most int
	}{
		{"none", true, nil, 1, 1},
		{"IT", true, nil, 4, 4},
		{"IT", false, nil, 3, 3},
		{"ES", true, nil, 4, 6},
		{"ES", true, rule.Answers{rule.Nationality: "ES"}, 4, 6},
		{"ES", true, rule.Answers{rule.BirthDate: "1990-01-01"}, 6, 6},
		{"ES", true, rule.Answers{rule.BirthDate: "2016-01-01"}, 4, 4},
		{"ES", false, rule.Answers{rule.BirthDate: "2016-01-01"}, 5, 5},
		{"DE", true, nil, 2, 5},
		{"DE", true, rule.Answers{rule.Nationality: "DE"}, 2, 2},
		{"DE", false, rule.Answers{rule.Nationality: "PT"}, 3, 6},
		{"DE", false, rule.Answers{rule.Nationality: "PT", rule.Kinship: "spouse"}, 3, 6}, // the main guest may be a German, whose form covers no companion
		{"AT", false, rule.Answers{rule.Kinship: "spouse"}, 3, 3},
	} {
		law, _ := rule.Find(c.rule)
		least, most := rule.StepRange(rule.Settings{Rule: law}, rule.Guest{Main: c.main, Answers: c.answers}, rule.Party{Arrival: arrival, Size: 2})
		if least != c.least || most != c.most {
			t.Errorf("%s, main %v, %v: %d to %d steps, want %d to %d", c.rule, c.main, c.answers, least, most, c.least, c.most)
		}
	}
}

// An answer to an open question never leads to more steps than the form promised before, in the order of the form and in the reverse order.
func TestStepRangeOnlyNarrows(t *testing.T) {
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, law := range rule.Rules {
		for _, nationality := range []string{law.Name, "IE", "IN", "US", "SE", rule.Stateless} {
			for _, age := range []int{0, 14, 15, 17, 90} {
				for _, kinship := range []string{"", "spouse", "child", "sibling", "notFamily"} {
					all := rule.Answers{rule.Nationality: nationality, rule.Kinship: kinship, rule.BirthDate: day.AddDate(-age, 0, 0).Format(time.DateOnly)}
					for _, child := range []bool{false, age < 18} {
						checkPromise(t, rule.Settings{Rule: &law}, rule.Guest{Main: kinship == "", Child: child, Answers: all}, rule.Party{Arrival: day, Size: 2})
					}
				}
			}
		}
	}
}

// checkPromise fails if the form of a guest, who gives these answers one by one, gets more steps than it promised.
func checkPromise(t *testing.T, s rule.Settings, g rule.Guest, p rule.Party) {
	t.Helper()
	fields := []rule.Field{rule.Nationality, rule.BirthDate, rule.Kinship, ""}
	backwards := slices.Clone(fields)
	slices.Reverse(backwards)
	for _, order := range [][]rule.Field{fields, backwards} {
		said := rule.Guest{Main: g.Main, Child: g.Child, Answers: rule.Answers{}}
		least, promised := rule.StepRange(s, said, p)
		for _, field := range slices.Concat(order, order) { // an answer can bring a question of the first round
			asked := slices.ContainsFunc(rule.Fields(s, said, p), func(a rule.Ask) bool { return a.Field == field })
			if field == "" { // all fields that decide on no step, at once
				for _, other := range rule.AllFields() {
					if !slices.Contains(fields, other) && other != rule.OtherNationality {
						said.Answers[other] = example(other, p)
					}
				}
			} else if asked {
				said.Answers[field] = g.Answers[field]
			}
			from, to := rule.StepRange(s, said, p)
			if n := len(stepsOf(s, said, p)); from < least || to > promised || n < from || n > to {
				t.Fatalf("%s, %v: %d of %d to %d steps after %q, %d to %d were promised", s.Rule.Name, g, n, from, to, field, least, promised)
			}
			least, promised = from, to
		}
		if got := len(stepsOf(s, said, p)); g.Main && (got != promised || got != least) {
			t.Fatalf("%s, %v: %d steps, %d are promised although all is said", s.Rule.Name, g, got, promised)
		}
	}
}
