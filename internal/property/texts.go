package property

import "cmp"

// TextsIn returns a property's texts for guests in a language. A text that has no translation is in the property's default language.
func TextsIn(s *CheckInSettings, language string) LocalTexts {
	local := s.Texts[language]
	in := func(standard, local string) string {
		if standard == "" {
			return ""
		}
		return cmp.Or(local, standard)
	}
	return LocalTexts{
		HouseRules: in(s.HouseRules, local.HouseRules),
		Directions: in(s.Directions, local.Directions),
		Address:    in(s.Address, local.Address),
	}
}
