package guest

import (
	"slices"

	"latchkey.dev/internal/guest/rule"
)

// Disclose returns the answers of one guest that the PMS may get: those of field groups that the property marks mandatory and
// that the guest shares. Everything else stays here, also what only the law asks.
func Disclose(answers rule.Answers, shared, mandatory []string) rule.Answers {
	out, given := rule.Answers{}, answers.WithoutNone()
	for _, group := range rule.GroupNames {
		if !slices.Contains(shared, string(group)) || !slices.Contains(mandatory, string(group)) {
			continue
		}
		for _, f := range rule.Groups[group] {
			if v := given[f]; v != "" {
				out[f] = v
			}
		}
	}
	return out
}

// IsMinorAlone reports whether all guests are under 18 on the day of arrival, as far as known.
func (p *Party) IsMinorAlone() bool {
	return len(p.Members) > 0 && !slices.ContainsFunc(p.Members, func(m Member) bool { return !p.IsMinor(m) })
}
