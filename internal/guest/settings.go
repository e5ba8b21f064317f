package guest

import (
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
)

// Settings are a property's rules of self check-in, with their defaults.
type Settings = ent.CheckInSettings

// LoadSettings returns the check-in settings of a property.
func LoadSettings(view *db.Tx, propertyID string) (*Settings, error) {
	row, err := view.CheckInSettings.Get(view.Context(), propertyID)
	if ent.IsNotFound(err) {
		return &Settings{
			ID: propertyID, PropertyID: propertyID, Rule: "none", IdentityCheck: "none", Signature: "none",
			InviteDays: 14, RemindDays: 2, Language: "en", WhoFills: "all",
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the check-in settings: %w", err)
	}
	return row, nil
}

// ruleSettings returns the settings as the rules need them.
func ruleSettings(s *Settings) rule.Settings {
	law, ok := rule.Find(s.Rule)
	if !ok {
		law = &rule.Rules[0]
	}
	out := rule.Settings{Rule: law}
	for _, f := range s.Fields {
		out.Own = append(out.Own, rule.Own{Name: f.Name, Label: f.Label, Required: f.Required, MainOnly: f.MainOnly})
	}
	for _, g := range s.MandatoryGroups {
		out.Mandatory = append(out.Mandatory, rule.Group(g))
	}
	return out
}
