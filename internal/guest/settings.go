package guest

import (
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/property"
)

// Settings are a property's rules of self check-in, with their defaults.
type Settings = property.CheckInSettings

// ruleSettings returns the settings as the rules need them.
func ruleSettings(s *Settings) rule.Settings {
	law, ok := rule.Find(s.Rule)
	if !ok {
		law = &rule.Rules[0]
	}
	out := rule.Settings{Rule: law}
	for _, f := range s.Fields {
		out.Own = append(out.Own, rule.Own{Name: f.Name, Label: f.Label, Labels: f.Labels, Required: f.Required, MainOnly: f.MainOnly})
	}
	for _, g := range s.MandatoryGroups {
		out.Mandatory = append(out.Mandatory, rule.Group(g))
	}
	return out
}
