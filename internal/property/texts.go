package property

import (
	"cmp"
	"strings"
)

// TextsIn returns a property's texts for guests who read a language, a BCP 47 tag. A text that has no translation is in the default language,
// and a region counts only where its texts are its own: de-AT reads de.
func TextsIn(s *CheckInSettings, language string) LocalTexts {
	base, _, _ := strings.Cut(language, "-")
	own, shared := s.Texts[language], s.Texts[base]
	in := func(standard, own, shared string) string {
		if standard == "" {
			return ""
		}
		return cmp.Or(own, shared, standard)
	}
	return LocalTexts{
		HouseRules: in(s.HouseRules, own.HouseRules, shared.HouseRules),
		Directions: in(s.Directions, own.Directions, shared.Directions),
		Address:    in(s.Address, own.Address, shared.Address),
	}
}
