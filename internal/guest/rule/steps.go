package rule

import (
	"maps"
	"time"
)

// decider is a field whose answer can add steps to a form or remove them.
type decider struct {
	field   Field
	answers func(law *Rule, arrival time.Time) []string // one answer for each outcome that a law distinguishes
}

// deciders are the fields that decide which steps a form has. Answers to other fields add or remove fields of a step, but no step.
var deciders = []decider{
	{Nationality, func(law *Rule, _ time.Time) []string {
		return []string{law.Name, "SE", "IE", "US"} // a citizen, an alien with free movement in the European Union, no alien, and a citizen of a third country
	}},
	{BirthDate, func(_ *Rule, arrival time.Time) (days []string) {
		for _, years := range []int{5, 14, 15, 16, 18} {
			days = append(days, arrival.AddDate(-years, 0, 0).Format(time.DateOnly))
		}
		return days
	}},
	{Kinship, func(*Rule, time.Time) []string { return []string{"spouse", "child", "sibling", "notFamily"} }},
}

// StepRange returns the smallest and the largest number of steps that the form of a guest can have, for any answers to the questions that
// are still open. If both are the same, the number is certain. The largest never grows while the guest fills in the form, so a page can
// promise it.
func StepRange(s Settings, g Guest, p Party) (least, most int) {
	law := s.Rule.On(p.Arrival)
	least, most = stepRange(s, law, g, p)
	if law.foreignOnly && !g.Main && p.Head[Nationality] == "" {
		p.Head = withAnswer(p.Head, Nationality, law.Name) // as the main guest has not answered either, the range also covers one who is a citizen
		l, m := stepRange(s, law, g, p)
		least, most = min(least, l), max(most, m)
	}
	return least, most
}

// stepRange tries all answers to the first open question that decides on steps, and recursively to the questions that follow from each.
func stepRange(s Settings, law *Rule, g Guest, p Party) (least, most int) {
	asks := Fields(s, g, p)
	least = countSteps(asks)
	most = least
	for _, d := range deciders {
		if g.Answers[d.field] != "" || !isAsked(asks, d.field) {
			continue
		}
		for _, answer := range d.answers(law, p.Arrival) {
			answered := g
			answered.Answers = withAnswer(g.Answers, d.field, answer)
			l, m := stepRange(s, law, answered, p)
			least, most = min(least, l), max(most, m)
		}
		break
	}
	return least, most
}

// countSteps returns the number of steps of a form with these questions, which are in the order of the form.
func countSteps(asks []Ask) (n int) {
	for i, a := range asks {
		if i == 0 || asks[i-1].Step != a.Step {
			n++
		}
	}
	return n
}

// isAsked reports whether a field is among the questions.
func isAsked(asks []Ask, f Field) bool {
	for _, a := range asks {
		if a.Field == f {
			return true
		}
	}
	return false
}

// withAnswer returns a copy of the answers with one more.
func withAnswer(a Answers, f Field, value string) Answers {
	out := maps.Clone(a)
	if out == nil {
		out = Answers{}
	}
	out[f] = value
	return out
}
