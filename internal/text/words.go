package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letters are written for letters that have no decomposition and that people type without their mark.
var letters = strings.NewReplacer("ß", "ss", "ẞ", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l",
	"đ", "d", "Đ", "d", "ð", "d", "Ð", "d", "þ", "th", "Þ", "th", "ı", "i", "'", "", "’", "", "ʼ", "", "`", "")

// Words splits a name into words that can be compared: in lower case, without diacritics and apostrophes, in the
// compatibility forms of Unicode. What is neither a letter nor a digit separates words.
func Words(name string) []string {
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(letters.Replace(name)))
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}
