package property_test

import (
	"testing"

	"latchkey.dev/internal/property"
)

func TestTextsIn(t *testing.T) {
	settings := &property.CheckInSettings{
		Language: "en", HouseRules: "Be quiet.", Directions: "Turn left.",
		Texts: map[string]property.LocalTexts{
			"de": {HouseRules: "Leise sein.", Directions: "Links abbiegen.", Address: "Weg 1"},
			"fr": {HouseRules: "Silence."},
		},
	}
	for language, want := range map[string]property.LocalTexts{
		"en": {HouseRules: "Be quiet.", Directions: "Turn left."},
		"de": {HouseRules: "Leise sein.", Directions: "Links abbiegen."}, // the property has no address
		"fr": {HouseRules: "Silence.", Directions: "Turn left."},
		"es": {HouseRules: "Be quiet.", Directions: "Turn left."},
		"":   {HouseRules: "Be quiet.", Directions: "Turn left."},
	} {
		if got := property.TextsIn(settings, language); got != want {
			t.Errorf("%q: %+v, want %+v", language, got, want)
		}
	}
	for language, want := range map[string]property.LocalTexts{
		"en": {HouseRules: "en", Directions: "en"},
		"de": {HouseRules: "de", Directions: "de"},
		"fr": {HouseRules: "fr", Directions: "en"},
		"es": {HouseRules: "en", Directions: "en"},
	} {
		if got := property.LanguagesIn(settings, language); got != want {
			t.Errorf("%q: the languages are %+v, want %+v", language, got, want)
		}
	}
}
