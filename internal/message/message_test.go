package message

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// guestFiles are the files of what guests read. A language with texts is offered to guests, so it needs each of them. The texts of the
// file en.txt are for staff; a language without them renders them in English.
var guestFiles = []string{"checkin", "countries", "guest", "kiosk", "mail", "web"}

// Every file of a language has the kinds of the English file with the same parameters, so no reader sees a missing text or value.
func TestLanguagesAreComplete(t *testing.T) {
	if len(Kinds(English)) < 90 {
		t.Errorf("English has only %d texts", len(Kinds(English)))
	}
	groups := fileGroups(t)
	for language := range groups {
		for _, name := range guestFiles {
			if _, ok := groups[language][name]; !ok {
				t.Errorf("%s has no file %s.%s.txt", language, name, language)
			}
		}
		for name, kinds := range groups[language] {
			if diff := cmp.Diff(groups[English][name], kinds); diff != "" {
				t.Errorf("the file %s of English (-) and %s (+) differ:\n%s", name, language, diff)
			}
		}
		if _, err := parsePlurals(catalogues()[language][pluralsKind]); err != nil {
			t.Errorf("%s: %v", language, err)
		}
		if direction := catalogues()[language]["language.direction"]; direction != LeftToRight && direction != RightToLeft {
			t.Errorf("%s has the direction %q", language, direction)
		}
	}
}

// fileGroups are the kinds of the program's files, each with its parameters, by language and by the name of the file without the language.
func fileGroups(t *testing.T) map[string]map[string]map[string][]string {
	names, err := files.ReadDir("catalogue")
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]map[string]map[string][]string{}
	for _, name := range names {
		content, err := files.ReadFile(path.Join("catalogue", name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		group, language, two := strings.Cut(strings.TrimSuffix(name.Name(), ".txt"), ".")
		if !two {
			group, language = "", group
		}
		one := new(set).with(fstest.MapFS{name.Name(): {Data: content}})
		if len(one.lines[language]) != len(one.texts[language]) {
			t.Errorf("%s has a kind twice", name.Name())
		}
		if groups[language] == nil {
			groups[language] = map[string]map[string][]string{}
		}
		groups[language][group] = map[string][]string{}
		for kind, text := range one.texts[language] {
			groups[language][group][kind] = parameters(text)
		}
	}
	return groups
}

// The formats and plural forms of every text can be read. A plural has as many forms as the language's rule names.
func TestTextsCanBeRead(t *testing.T) {
	for _, language := range Languages() {
		forms := current().plurals[language].forms()
		for kind, text := range catalogues()[language] {
			for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
				if layouts[m[2]] == "" && dates[m[2]] == "" && m[2] != "" && m[2] != "quote" && m[2] != "decimal" {
					t.Errorf("%s: %s has the unknown format %q", language, kind, m[2])
				}
				if got := strings.Count(m[3], "|"); got != 0 && got != forms {
					t.Errorf("%s: %s has %d plural forms, want %d", language, kind, got, forms)
				}
			}
			if rest := placeholder.ReplaceAllString(text, ""); text == "" || rest != clean(rest) {
				t.Errorf("%s: %s has a parameter that cannot be read: %s", language, kind, text)
			}
		}
	}
}

// A French sign with a space before it never begins a line, and a Spanish question begins with its own sign.
func TestPunctuation(t *testing.T) {
	for language, wrong := range map[string]*regexp.Regexp{
		"fr": regexp.MustCompile(`[^ ] [:;?!»]|« `),
		"es": regexp.MustCompile(`^[^¿]*\?|^[^¡]*!`),
		"de": regexp.MustCompile(`[«»”]`),
	} {
		for kind, text := range catalogues()[language] {
			if found := wrong.FindString(text); found != "" {
				t.Errorf("%s: %s has %q: %s", language, kind, found, text)
			}
		}
	}
}

// saturday is the moment of the tests of dates.
var saturday = time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC)

// A region has the texts of its language, and a language without texts those of English.
func TestRegions(t *testing.T) {
	for language, want := range map[string]string{"de-AT": "Zurück", "xx-YY": "Back", "": "Back"} {
		if got := (Reader{Language: language}).Text(Message{Kind: "web.back"}); got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
}

func clean(s string) string {
	out := []rune{}
	for _, r := range s {
		if r != '{' && r != '}' {
			out = append(out, r)
		}
	}
	return string(out)
}

func TestText(t *testing.T) {
	at := time.Date(2026, 11, 21, 23, 30, 5, 0, time.UTC)
	zone := time.FixedZone("", 3600)
	for _, test := range []struct {
		m    Message
		want string
	}{
		{Message{}, ""},
		{Message{Kind: "unknown.kind"}, "unknown.kind"},
		{Message{Kind: "late", Params: Params{"at": at}}, "This happened on 22 Nov 2026, 00:30; the bridge could report it only now."},
		{Message{Kind: "late"}, "This happened on ?; the bridge could report it only now."},
		{Message{Kind: "jammed.lock", Params: Params{"lock": "A\n", "late": nil}}, `Lock “A\n” is jammed: its bolt does not move, and no code opens it. Check the lock at the door.`},
		{Message{Kind: "notice.endpointFailing", Params: Params{"app": "App", "failures": 1, "action": "getSpaces", "problem": "no {answer}"}},
			"App failed 1 call of getSpaces in a row (last: no {answer}). Ask its vendor to repair it."},
		{Message{Kind: "notice.arrivalAtRisk", Params: Params{"number": "N", "from": at, "fixes": []Message{
			{Kind: "fix.atDoor", Params: Params{"door": "Room 1", "problem": Message{Kind: "fix.noBridge"}}}, {Kind: "fix.more"},
		}}}, "Stay N, which begins on 22 Nov 2026, 00:30, may not open to its guest. Room 1: The lock has no bridge. Enrol one, or hand out a key. There is more: see the arrivals."},
		{Message{Kind: "staff.messages.title", Params: Params{"name": "Ana محمد", "number": "2001"}}, "Messages with \u2068Ana محمد\u2069 · #2001"},
		{Message{Kind: "conflicts.more", Params: Params{"count": int64(3)}}, "And 3 more."},
	} {
		if got := (Reader{Zone: zone}).Text(test.m); got != test.want {
			t.Errorf("%s: %q, want %q", test.m.Kind, got, test.want)
		}
		encoded, err := json.Marshal(test.m)
		if err != nil {
			t.Fatal(err)
		}
		var back Message
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatal(err)
		}
		if got := (Reader{Language: "xx", Zone: zone}).Text(back); got != test.want {
			t.Errorf("%s, stored as JSON: %q, want %q", test.m.Kind, got, test.want)
		}
	}
}

func TestSame(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	params := Params{"count": 3, "at": at, "what": Message{Kind: "late", Params: Params{"at": at}}, "all": []Message{{Kind: "fix.more"}}, "none": nil}
	stored, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var loaded Params
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	if !Same(params, loaded) {
		t.Errorf("%v and %v differ", params, loaded)
	}
	loaded["count"] = 4
	if Same(params, loaded) || Same(Params{}, nil) {
		t.Error("other parameters are the same")
	}
}

// A number of any kind that callers use has its plural form.
func TestPluralOfEachNumber(t *testing.T) {
	for _, n := range []any{3, int32(3), int64(3), 3.0} {
		if got := (Reader{Language: English}).Text(Message{Kind: "duration.minutes", Params: Params{"count": n}}); got != "3 minutes" {
			t.Errorf("%T: %q", n, got)
		}
	}
}

// A name is written in the quotation marks of the reader's language. Line breaks in it are escaped, and a long name is shortened.
func TestQuotationMarks(t *testing.T) {
	for language, want := range map[string]string{"en": "“Front \"1\"\\n”", "de": "„Front \"1\"\\n“", "es": "«Front \"1\"\\n»", "fr": "«\u202fFront \"1\"\\n\u202f»"} {
		text := Reader{Language: language}.Text(Message{Kind: "code.backup", Params: Params{"lock": "Front \"1\"\n"}})
		if !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q in it", language, text, want)
		}
	}
	long := Reader{Language: English}.Text(Message{Kind: "code.backup", Params: Params{"lock": strings.Repeat("ä", maxQuoted+1)}})
	if !strings.Contains(long, "“"+strings.Repeat("ä", maxQuoted)+"…”") {
		t.Errorf("a long name is not cut: %s", long)
	}
}

// An amount has the decimal mark of the reader's language, also one in a message that was stored as JSON.
func TestDecimalMarks(t *testing.T) {
	for language, want := range map[string]string{"en": "84.00 EUR", "de": "84,00 EUR", "es": "84,00 EUR", "fr": "84,00 EUR", "pt": "84.00 EUR"} {
		for _, m := range []Message{
			{Kind: "checkIn.stop.owing", Params: Params{"amount": "84.00 EUR"}},
			{Kind: "language.amount", Params: Params{"amount": "84.00", "currency": "EUR"}},
			{Kind: "notice.checkInOwing", Params: Params{"number": "1.2", "amount": "84.00 EUR", "limit": "5.00 EUR"}},
		} {
			if text := (Reader{Language: language}).Text(m); !strings.Contains(text, want) {
				t.Errorf("%s, %s: %q, want %q in it", language, m.Kind, text, want)
			}
		}
	}
	number := Reader{Language: "de"}.Text(Message{Kind: "notice.checkInOwing", Params: Params{"number": "1.2", "amount": "84.00 EUR", "limit": "5.00 EUR"}})
	if !strings.Contains(number, "1.2") || !strings.Contains(number, "5,00 EUR") {
		t.Errorf("a number that is no amount changed, or the limit did not: %s", number)
	}
}
