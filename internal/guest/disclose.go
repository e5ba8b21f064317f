package guest

import (
	"slices"

	"latchkey.dev/internal/guest/rule"
)

// Sharing is what decides which of one guest's answers the PMS may get: the state of the stay, the guest's choice and the settings of the
// property.
type Sharing struct {
	CheckingIn bool     // the party checks in now: it is at the property and has pressed the button
	Staying    bool     // the PMS has checked the party in, and the stay with its late check-out is not over
	Decided    bool     // this guest has said what to share, or an adult has for a minor
	Shared     []string // the groups of fields that the guest, or the adult, has chosen to share with the PMS
	Mandatory  []string // the groups that the property marks mandatory
	// Answers are the guest's answers that the decision covers: all, or if a session of two facts decided, only those from that session.
	Answers rule.Answers
}

// Groups returns the groups of fields that the PMS may get: those that this guest shares and that the property also marks mandatory. There
// are none before the decision, and none unless the guest stays or checks in. Another guest's consent does not count.
func (s Sharing) Groups() []rule.Group {
	if !s.Decided || !s.Staying && !s.CheckingIn {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(rule.GroupNames), func(g rule.Group) bool {
		return !slices.Contains(s.Shared, string(g)) || !slices.Contains(s.Mandatory, string(g))
	})
}

// SharingOf returns the facts that decide which answers of a guest the PMS may get. The caller adds whether the party checks in or stays
// now.
func (p *Party) SharingOf(m Member) Sharing {
	s := Sharing{Decided: p.HasDecided(m), Shared: m.Row.SharedGroups, Mandatory: p.Settings.MandatoryGroups, Answers: m.Answers}
	if m.Row.SharingSession != "" {
		s.Answers = m.answersOf(m.Row.SharingSession)
	}
	return s
}

// Disclose returns the answers of the groups that the PMS may get (see [Sharing.Groups]), and those groups that have at least one answer.
// All other answers stay here, also those that only the law asks. An answer [rule.None], "the guest has none", counts as no answer.
func (s Sharing) Disclose() (out rule.Answers, groups []rule.Group) {
	given, out := s.Answers.WithoutNone(), rule.Answers{}
	for _, group := range s.Groups() {
		before := len(out)
		for _, f := range rule.Groups[group] {
			if v := given[f]; v != "" {
				out[f] = v
			}
		}
		if len(out) > before {
			groups = append(groups, group)
		}
	}
	return out, groups
}

// AreAllMinors reports whether all guests are minors: see [Party.IsMinor]. It is false for a party without stored guests.
func (p *Party) AreAllMinors() bool {
	return len(p.Members) > 0 && !slices.ContainsFunc(p.Members, func(m Member) bool { return !p.IsMinor(m) })
}
