// Package message renders texts. Domain code creates a message: a kind and parameters. The API and the pages turn it into a sentence in the
// language and time zone of the reader.
//
// Each language has files in catalogue/ that end in its tag, such as guest.en.txt. A line is "kind = text". The text contains parameters in
// braces: {lock} is the value, {lock:quote} is in quotation marks, {amount:decimal} has the decimal mark of the language, {from:time} is
// date and time, {from:moment} has seconds, {from:clock} is the time of day with seconds, {from:day} is the day in words, {from:hour} is
// the time of day, and {minutes|# minute|# minutes} is the plural form for a number, with # for the number. A value may be a message or a
// list of messages. The texts language.self, language.direction, language.quoted, language.decimal and language.plurals are the name of the
// language, ltr or rtl, a value in quotation marks, the decimal mark, and the plural forms. docs/translating.md has the rest.
package message

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/text/language"
)

// Message is a text as data: the name of a text in the catalogue, and its parameters. The zero Message renders as "".
type Message struct {
	Kind   string `json:"kind"`
	Params Params `json:"parameters,omitempty"`
}

// Params are the parameters of a message by name: texts, numbers, times, messages and lists of messages. Values that were stored as JSON
// render like the original values.
type Params = map[string]any

// English is the language of the API. Texts that another language lacks are in English.
const English = "en"

//go:embed catalogue/*.txt
var files embed.FS

// Entry is one text of a language, with its kind.
type Entry struct{ Kind, Text string }

// set has the texts of all languages. It does not change after it is built.
type set struct {
	lines map[string][]Entry           // entries of each language in the order of its files, also those that a later one replaces in texts
	texts map[string]map[string]string // texts by language and kind
	// plurals has the plural rules of each language whose text "language.plurals" is valid. Others use onlyOne.
	plurals map[string]plurals
	// matcher returns the sorted languages and a matcher for them. It is built at the first call.
	matcher func() ([]string, language.Matcher)
}

// loaded is the set that AddFiles made, or nil. See current.
var loaded atomic.Pointer[set]

var embedded = sync.OnceValue(func() *set {
	catalogue, _ := fs.Sub(files, "catalogue")
	return new(set).with(catalogue)
})

// with returns a copy of the set to which the texts of more catalogue files are added. A text replaces a former one of the same kind.
func (s *set) with(catalogue fs.FS) *set {
	out := &set{lines: map[string][]Entry{}, texts: map[string]map[string]string{}, plurals: map[string]plurals{}}
	maps.Copy(out.lines, s.lines)
	maps.Copy(out.texts, s.texts)
	maps.Copy(out.plurals, s.plurals)
	names, _ := fs.Glob(catalogue, "*.txt")
	for _, name := range names {
		content, _ := fs.ReadFile(catalogue, name)
		out.add(languageOf(name), string(content))
	}
	out.matcher = sync.OnceValues(func() ([]string, language.Matcher) {
		names := slices.Sorted(maps.Keys(out.texts))
		tags := make([]language.Tag, len(names))
		for i, name := range names {
			tags[i] = language.Make(name)
		}
		return names, language.NewMatcher(tags)
	})
	return out
}

// languageOf returns the language in the name of a catalogue file, such as "de" for guest.de.txt.
func languageOf(name string) string {
	name = strings.TrimSuffix(name, ".txt")
	return name[strings.LastIndex(name, ".")+1:]
}

// add parses a catalogue file and adds its texts to a language. It ignores lines without a text. It copies the maps first, because sets
// share them.
func (s *set) add(language, content string) {
	texts := maps.Clone(s.texts[language])
	if texts == nil {
		texts = map[string]string{}
	}
	lines := slices.Clone(s.lines[language])
	for line := range strings.Lines(content) {
		kind, text, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if ok && !strings.HasPrefix(kind, "#") {
			lines = append(lines, Entry{kind, text})
			texts[kind] = text
		}
	}
	s.lines[language], s.texts[language] = lines, texts
	if rule, err := parsePlurals(texts[pluralsKind]); err == nil {
		s.plurals[language] = rule
	}
}

// pluralsKind is the kind of the text with the plural rules of a language.
const pluralsKind = "language.plurals"

// current returns the set in use: the embedded files, with those that AddFiles added.
func current() *set {
	if s := loaded.Load(); s != nil {
		return s
	}
	return embedded()
}

// lines returns the entries of each language in the order of their files.
func lines() map[string][]Entry { return current().lines }

// catalogues returns the texts of each language by kind.
func catalogues() map[string]map[string]string { return current().texts }

// AddFiles adds catalogue files until the returned remove is called, which also removes files that were added later. Tests use it for
// languages that the product lacks.
func AddFiles(catalogue fs.FS) (remove func()) {
	before := current()
	loaded.Store(before.with(catalogue))
	return func() { loaded.Store(before) }
}

// Has reports whether a kind has a text in English.
func Has(kind string) bool {
	_, ok := catalogues()[English][kind]
	return ok
}

// List returns the texts of one language whose kinds start with prefix, in the order of its files, without those that only English has. It
// removes the prefix from the returned kinds. A kind that a later file replaces is in the list twice.
func List(language, prefix string) (list []Entry) {
	for _, e := range lines()[language] {
		if kind, ok := strings.CutPrefix(e.Kind, prefix); ok {
			list = append(list, Entry{kind, e.Text})
		}
	}
	return list
}

// Languages returns the tags of all languages of the catalogue, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(catalogues())) }

// Kinds returns all kinds of a language, without those that only English has, each with the names of the parameters in its text.
func Kinds(language string) map[string][]string {
	all := map[string][]string{}
	for kind, text := range catalogues()[language] {
		all[kind] = parameters(text)
	}
	return all
}

// Check returns an error unless the message has an English text with exactly its parameters. It also checks messages in the parameters, but
// not those that were read from JSON.
func (m Message) Check() error {
	text, ok := catalogues()[English][m.Kind]
	if !ok {
		return fmt.Errorf("message %q has no text", m.Kind)
	}
	if got, want := slices.Sorted(maps.Keys(m.Params)), parameters(text); !slices.Equal(got, want) {
		return fmt.Errorf("message %q has the parameters %q, and its text has %q", m.Kind, got, want)
	}
	for _, v := range m.Params {
		list, _ := v.([]Message)
		if one, ok := v.(Message); ok {
			list = []Message{one}
		}
		for _, part := range list {
			if err := part.Check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Same reports whether two sets of parameters are equal as JSON. Use it to compare new parameters with stored ones.
func Same(a, b Params) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, two)
}

// placeholder matches a parameter in a text: its name, its format, and its plural forms.
var placeholder = regexp.MustCompile(`\{(\w+)(?::(\w+))?((?:\|[^{}|]*)*)\}`)

// parameters returns the names of the parameters in a text, sorted.
func parameters(text string) []string {
	names := []string{}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Reader is for whom a text is rendered: language and time zone.
type Reader struct {
	Language string         // Language is a BCP 47 tag; texts that its catalogue lacks are in English
	Zone     *time.Location // Zone is UTC if nil
}

// Text renders a message. A kind without a text renders as its name, and a missing parameter as "?".
func (r Reader) Text(m Message) string {
	if m.Kind == "" {
		return ""
	}
	language, text, ok := find(r.Language, m.Kind)
	if !ok {
		return m.Kind
	}
	return strings.TrimSpace(placeholder.ReplaceAllStringFunc(text, func(s string) string {
		part := placeholder.FindStringSubmatch(s)
		value, ok := m.Params[part[1]]
		if !ok {
			return "?"
		}
		if part[3] != "" {
			return plural(language, number(value), strings.Split(part[3][1:], "|"))
		}
		formatted := r.format(value, part[2])
		if _, isText := value.(string); isText && (Direction(language) == RightToLeft || hasRightToLeft(formatted)) {
			return isolate(formatted)
		}
		return formatted
	}))
}

// find returns the text of a kind in a language, else in the language without its region ("de" for "de-AT"), else in English. used is the
// language in which the text was found.
func find(language, kind string) (used, text string, ok bool) {
	base, _, _ := strings.Cut(language, "-")
	for _, used = range []string{language, base, English} {
		if text, ok = catalogues()[used][kind]; ok {
			break
		}
	}
	return used, text, ok
}

// layouts are the formats of a time that are the same in every language.
var layouts = map[string]string{"clock": time.TimeOnly, "hour": "15:04"}

// dates are the kinds of the texts with the formats of times that depend on the language.
var dates = map[string]string{"time": "date.time", "moment": "date.moment", "day": "date.full"}

// maxQuoted is the number of characters after which a quoted value is cut.
const maxQuoted = 64

// format renders the value of a parameter. format is the name after the colon in a placeholder, or "".
func (r Reader) format(value any, format string) string {
	switch v := value.(type) {
	case nil:
		return ""
	case Message:
		return r.Text(v)
	case []Message:
		return r.list(anySlice(v))
	case []any:
		return r.list(v)
	case map[string]any:
		return r.Text(stored(v))
	case string:
		return r.formatText(v, format)
	case time.Time:
		return r.formatTime(v, format)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

const (
	quotedKind  = "language.quoted"  // the text that puts a value in the quotation marks of the language
	decimalKind = "language.decimal" // the decimal mark of the language
)

// printable prepares a value for quotation: it is cut at maxQuoted characters, and characters such as line breaks are escaped. So a name
// cannot change the sentence around it.
func printable(s string) string {
	var out strings.Builder
	n := 0
	for _, c := range s {
		if n++; n > maxQuoted {
			out.WriteRune('…')
			break
		}
		if strconv.IsPrint(c) {
			out.WriteRune(c)
			continue
		}
		escaped := strconv.QuoteRune(c)
		out.WriteString(escaped[1 : len(escaped)-1])
	}
	return out.String()
}

// formatText renders a text parameter. A text in RFC 3339 with the format of a time renders as a time, because stored parameters are JSON.
// A text that does not fit the format stays unchanged.
func (r Reader) formatText(s, format string) string {
	switch format {
	case "quote":
		return r.Text(Message{Kind: quotedKind, Params: Params{"text": printable(s)}})
	case "decimal":
		return strings.Replace(s, ".", r.Text(Message{Kind: decimalKind}), 1)
	case "time", "moment", "clock", "day", "hour":
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			return r.formatTime(at, format)
		}
	}
	return s
}

// formatTime renders a time in the time zone of the reader. Without a format of a time, such as for "", it returns "".
func (r Reader) formatTime(at time.Time, format string) string {
	zone := r.Zone
	if zone == nil {
		zone = time.UTC
	}
	at = at.In(zone)
	if kind := dates[format]; kind != "" {
		return r.Text(Date(kind, at))
	}
	return at.Format(layouts[format])
}

// Date returns a message with the parameters of at in its own zone: day, month, mon (short), year, weekday, wd (short), hour and clock.
// kind is that of a text with any of them. The first day of a month is a message, because French has an ordinal number for it: "1er".
func Date(kind string, at time.Time) Message {
	day, month, weekday := any(at.Day()), "month."+strconv.Itoa(int(at.Month())), "weekday."+strconv.Itoa(int(at.Weekday()))
	if at.Day() == 1 {
		day = Message{Kind: "date.first"}
	}
	return Message{Kind: kind, Params: Params{
		"day": day, "year": at.Year(), "month": Message{Kind: month}, "weekday": Message{Kind: weekday},
		"mon": Message{Kind: month + ".short"}, "wd": Message{Kind: weekday + ".short"},
		"hour": at.Format(layouts["hour"]), "clock": at.Format(layouts["clock"]),
	}}
}

// list renders each element of a list, separated by spaces.
func (r Reader) list(all []any) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = r.format(v, "")
	}
	return strings.Join(texts, " ")
}

// anySlice converts a list of messages to []any, the type that a list has once it was stored as JSON and read.
func anySlice(all []Message) []any {
	out := make([]any, len(all))
	for i, m := range all {
		out[i] = m
	}
	return out
}

// stored converts a message that was stored as JSON.
func stored(v map[string]any) Message {
	kind, _ := v["kind"].(string)
	params, _ := v["parameters"].(map[string]any)
	return Message{Kind: kind, Params: params}
}

// number converts a parameter to the number that selects a plural form. It returns 0 for other types.
func number(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int32:
		return int(n)
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}
