package message

import (
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// Match returns the first language with texts among those of a header Accept-Language and more tags, or "" if none has texts.
func Match(accept string, more ...string) string {
	wanted, _, _ := language.ParseAcceptLanguage(accept)
	for _, tag := range more {
		wanted = append(wanted, language.Make(tag))
	}
	names, matcher := current().matcher()
	if _, i, sure := matcher.Match(wanted...); sure != language.No {
		return names[i]
	}
	return ""
}

// Find returns the language with texts that a BCP 47 tag names, such as "de" for "de-AT".
func Find(tag string) (name string, ok bool) {
	base, _, _ := strings.Cut(tag, "-")
	for _, name := range []string{tag, base} {
		if slices.Contains(Languages(), name) {
			return name, true
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
