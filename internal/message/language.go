package message

import (
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/unicode/bidi"
)

// Match returns the language of the catalogue that fits best. accept is an Accept-Language header, and more are tags with lower priority.
// It returns "" if no language fits. An invalid header or tag counts as none.
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

// Find returns the language of the catalogue for a BCP 47 tag, such as "de" for "de-AT". ok is false if there is none. It compares the tag
// with its case, so it does not find "DE".
func Find(tag string) (name string, ok bool) {
	base, _, _ := strings.Cut(tag, "-")
	for _, name := range []string{tag, base} {
		if slices.Contains(Languages(), name) {
			return name, true
		}
	}
	return "", false
}

// Directions in which languages are written, as the values of the HTML attribute dir.
const (
	LeftToRight = "ltr"
	RightToLeft = "rtl"
)

// Direction returns the direction of a language, as its text "language.direction" says: LeftToRight, also if it is unknown, or RightToLeft.
func Direction(language string) string {
	if _, text, _ := find(language, "language.direction"); text == RightToLeft {
		return RightToLeft
	}
	return LeftToRight
}

// isolate wraps a value in Unicode marks, so that a name or phone number keeps its own direction, and the text around it keeps its order.
func isolate(s string) string { return "\u2068" + s + "\u2069" }

// hasRightToLeft reports whether a text has a letter of a right-to-left script.
func hasRightToLeft(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		properties, _ := bidi.LookupRune(r)
		return properties.Class() == bidi.R || properties.Class() == bidi.AL
	})
}
