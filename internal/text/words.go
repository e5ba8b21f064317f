package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// foldedLetters replaces letters that Unicode does not decompose by what people type for them.
var foldedLetters = strings.NewReplacer("ß", "ss", "ẞ", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l",
	"đ", "d", "Đ", "d", "ð", "d", "Ð", "d", "þ", "th", "Þ", "th", "ı", "i", "'", "", "’", "", "ʼ", "", "`", "")

// Words splits a name into comparable words: in lower case, without diacritics and apostrophes, in Unicode's compatibility
// forms. All characters other than letters and digits separate words.
func Words(name string) []string {
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(foldedLetters.Replace(name)))
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}
