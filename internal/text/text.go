// Package text checks which characters a one-line text may contain, escapes text for a terminal, splits names into
// comparable words, joins the names of a bed and its dorm, and compares mail addresses.
package text

import (
	"fmt"
	"io"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Unprintable reports whether a character controls a terminal or the text direction instead of being shown: the control
// characters C0 and C1, line and paragraph separators, and the embeddings, overrides and isolates of bidirectional text.
func Unprintable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// Problem returns why s is not a valid one-line value, as the end of a sentence that begins with the field's name. It returns "" for a
// valid value, also for the empty string. It checks only the characters (see [Unprintable]), not the length.
func Problem(s string) string {
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && n == 1 {
				return "is not valid UTF-8"
			}
		}
		if Unprintable(r) {
			return fmt.Sprintf("must not contain control characters, such as U+%04X", r)
		}
		i += n
	}
	return ""
}

// IsBlank reports whether a text has no character that can be seen: it is empty, or has only spaces, control characters and invisible
// characters such as U+200B and U+FEFF.
func IsBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
	})
}

// Escape replaces unprintable characters by JSON escapes, such as \u001b, and bytes that are not UTF-8 by U+FFFD.
func Escape(s string) string {
	if Problem(s) == "" {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		writeEscaped(&b, r)
	}
	return b.String()
}

// writeEscaped writes one character, as a JSON escape if it is unprintable.
func writeEscaped(b *strings.Builder, r rune) {
	if Unprintable(r) {
		fmt.Fprintf(b, `\u%04x`, r)
	} else {
		b.WriteRune(r)
	}
}

// Terminal returns a writer to w that escapes unprintable characters, except line feeds and tabs.
func Terminal(w io.Writer) io.Writer { return &escapingWriter{to: w} }

// escapingWriter is the writer of [Terminal]: it escapes unprintable characters, except line feeds and tabs.
type escapingWriter struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte // rest is the first part of a character that continues in the next write
}

// Write writes p with unprintable characters escaped, except line feeds and tabs. It keeps an incomplete UTF-8 character at the end of p
// for the next call; without a next call, it is never written. Bytes that are not UTF-8 become U+FFFD.
func (t *escapingWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := append(t.rest, p...)
	t.rest = nil
	var b strings.Builder
	for len(data) > 0 {
		if !utf8.FullRune(data) {
			t.rest = append([]byte(nil), data...)
			break
		}
		r, n := utf8.DecodeRune(data)
		if data = data[n:]; r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			writeEscaped(&b, r)
		}
	}
	if _, err := io.WriteString(t.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// foldedLetters replaces letters that Unicode does not decompose by what people type instead, such as ø by o, and removes apostrophes.
var foldedLetters = strings.NewReplacer("ß", "ss", "ẞ", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l",
	"đ", "d", "Đ", "d", "ð", "d", "Ð", "d", "þ", "th", "Þ", "th", "ı", "i", "'", "", "’", "", "ʼ", "", "`", "")

// Words splits a name into comparable words: in lower case, without diacritics and apostrophes, in Unicode's compatibility
// forms. All characters other than letters, combining marks and digits separate words.
func Words(name string) []string {
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(foldedLetters.Replace(name)))
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

// MatchNames reports whether each of the words is a prefix of one of the names; without words it is true. The caller has folded both with
// [Words].
func MatchNames(words, names []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, w) })
	})
}

// Truncate shortens a text to at most n bytes without splitting a character, and without a mark that it was cut.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// TruncateRunes shortens a text to at most n characters (Unicode code points), without a mark that it was cut.
func TruncateRunes(s string, n int) string {
	for at := range s {
		if n <= 0 {
			return s[:at]
		}
		n--
	}
	return s
}

// FullName returns the name of a space that no other space of the property has: the name of a bed follows that of its dorm, because beds of
// two dorms may have equal names. parent is the name of the dorm, or "". A name that begins with the name of the dorm and a separator, such
// as "Dorm 4-1", is returned unchanged.
func FullName(parent, name string) string {
	if parent == "" || name == "" {
		return name
	}
	rest, begins := strings.CutPrefix(name, parent)
	if next, _ := utf8.DecodeRuneInString(rest); begins && rest != "" && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
		return name
	}
	return parent + " · " + name
}

// Capitalize returns a sentence with its first letter in upper case. An empty one stays empty.
func Capitalize(sentence string) string {
	if sentence == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(sentence)
	return string(unicode.ToUpper(first)) + sentence[size:]
}

// Groups splits the digits of a code into groups that are easy to read: groups of three, two of four for eight digits, and two pairs
// instead of a last group of one digit (1234567: 123 45 67).
func Groups(digits string) (groups []string) {
	for rest := digits; rest != ""; {
		n := min(3, len(rest))
		switch {
		case len(digits) == 8:
			n = 4
		case len(rest) == 4:
			n = 2
		}
		groups, rest = append(groups, rest[:n]), rest[n:]
	}
	return groups
}

// Nearest returns the known word that is most similar to word, or "" if each needs more than most edits (the Levenshtein distance, in
// bytes). Of equally similar words it returns the first.
func Nearest(word string, known []string, most int) string {
	best, least := "", most+1
	for _, k := range known {
		if d := editDistance(word, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of two words, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

// IsAddress reports whether a text is one mail address without a name.
func IsAddress(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s
}

// FoldAddress returns a mail address in the form in which addresses are compared and hashed: in lower case, without blanks around it. No mail
// system in use tells two addresses apart by case.
func FoldAddress(address string) string { return strings.ToLower(strings.TrimSpace(address)) }
