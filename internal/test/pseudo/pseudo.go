// Package pseudo derives test languages from the English texts. With them, tests prove that no text is hard-coded and that pages have
// room for other languages. Their texts do not contain the letters a to z.
package pseudo

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"latchkey.dev/internal/message"
)

// The languages.
const (
	Long        = "en-XA" // with accents and long words
	RightToLeft = "ar-XB" // with Arabic letters
)

var letters = map[string][]rune{
	Long:        []rune("áƀçđéƒğĥíĵķĺɱñóþǫřšťúṽŵẋýž"),
	RightToLeft: []rune("ابجدهفغحيكقلمنعوصرسشتثطخظز"),
}

var directions = map[string]string{Long: message.LeftToRight, RightToLeft: message.RightToLeft}

// longWord is how many letters a word of Long has before a space remains after it.
const longWord = 14

// placeholder is a parameter, with its plural forms if it has some.
var placeholder = regexp.MustCompile(`\{(\w+(?::\w+)?)((?:\|[^{}|]*)*)\}`)

// Add adds a language to the server's catalogue until the test ends. A server that was started before does not use it.
func Add(t testing.TB, language string) {
	t.Helper()
	if letters[language] == nil {
		t.Fatalf("no pseudo language %q", language)
	}
	var content strings.Builder
	for _, e := range message.List(message.English, "") {
		text := Text(language, e.Text)
		if e.Kind == "language.plurals" {
			text = e.Text
		}
		content.WriteString(e.Kind + " = " + text + "\n")
	}
	content.WriteString("language.direction = " + directions[language] + "\n")
	t.Cleanup(message.AddFiles(fstest.MapFS{"pseudo." + language + ".txt": {Data: []byte(content.String())}}))
}

// Text converts an English text of the catalogue to a language. Parameters in braces remain.
func Text(language, english string) string {
	var out strings.Builder
	rest := english
	for rest != "" {
		at := placeholder.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		out.WriteString(words(language, rest[:at[0]]))
		out.WriteString("{" + rest[at[2]:at[3]] + words(language, rest[at[4]:at[5]]) + "}")
		rest = rest[at[1]:]
	}
	out.WriteString(words(language, rest))
	return out.String()
}

// words replaces the letters of a text by those of a language. For Long it also joins short words.
func words(language, text string) string {
	var out strings.Builder
	word := 0
	for _, r := range text {
		switch lower := unicode.ToLower(r); {
		case lower >= 'a' && lower <= 'z':
			mapped := letters[language][lower-'a']
			if r != lower {
				mapped = unicode.ToUpper(mapped)
			}
			out.WriteRune(mapped)
			word++
		case r == ' ' && language == Long && word > 0 && word < longWord:
		case r == ' ':
			out.WriteRune(r)
			word = 0
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
