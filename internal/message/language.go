package message

import (
	"slices"
	"strings"
)

// Find returns the language with texts that a BCP 47 tag names, such as "de" for "de-AT".
func Find(tag string) (language string, ok bool) {
	base, _, _ := strings.Cut(tag, "-")
	for _, language := range []string{tag, base} {
		if slices.Contains(Languages(), language) {
			return language, true
		}
	}
	return "", false
}

// Directions of scripts.
const (
	LeftToRight = "ltr"
	RightToLeft = "rtl"
)

// Direction returns the direction in which a language is written, from its text "language.direction".
func Direction(language string) string {
	if _, text, _ := find(language, "language.direction"); text == RightToLeft {
		return RightToLeft
	}
	return LeftToRight
}
