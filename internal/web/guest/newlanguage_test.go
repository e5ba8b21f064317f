package guest

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
)

var (
	pluralText = regexp.MustCompile(`\{(\w+)\|([^{}|]*)\|([^{}|]*)\}`)
	oneText    = regexp.MustCompile(`(?m)^language\.(self|plurals) = .*$`)
)

// newLanguageFiles returns the files of a language with three plural forms and a name that the program does not know, made of the English files.
func newLanguageFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	english := os.DirFS("../../message/catalogue")
	names, err := fs.Glob(english, "*.en.txt")
	if err != nil || len(names) < 6 {
		t.Fatalf("files %v, %v", names, err)
	}
	files := fstest.MapFS{}
	for _, name := range append(names, "en.txt") {
		content, err := fs.ReadFile(english, name)
		if err != nil {
			t.Fatal(err)
		}
		text := pluralText.ReplaceAllString(string(content), "{$1|one $2|few $3|many $3}")
		text = oneText.ReplaceAllStringFunc(text, func(line string) string {
			if strings.Contains(line, "plurals") {
				return "language.plurals = n = 1 | n = 2..4 | other"
			}
			return "language.self = Novina"
		})
		files[strings.TrimSuffix(name, "en.txt")+"nv.txt"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// A translator adds a language by adding files: pages offer it, and pages and mails use its name and its plural forms.
func TestNewLanguage(t *testing.T) {
	t.Cleanup(message.AddFiles(newLanguageFiles(t)))
	f := newFake()
	b := f.client(t)
	b.shows("/g/l/"+linkSecret, "Novina")
	b.headers = map[string]string{"Accept-Language": "nv-US, en;q=0.3"}
	if a := b.shows("/g/l/"+linkSecret, "Language: Novina"); !strings.Contains(a.body, `<html lang="nv" dir="ltr"`) {
		t.Errorf("the page is %s", a.body[:80])
	}
	for n, want := range map[int]string{1: "one 1 minute", 3: "few 3 minutes", 5: "many 5 minutes"} {
		got := message.Reader{Language: "nv"}.Text(message.Message{Kind: "web.find.tooMany", Params: message.Params{"minutes": n}})
		if !strings.Contains(got, want) {
			t.Errorf("%d: %s", n, got)
		}
	}
	letter := mail.Occasion{
		Kind: mail.Invitation, Reader: message.Reader{Language: "nv"}, Property: "Miramar", Elsewhere: 2,
		Stays: []mail.OccasionStay{{Number: "1", From: time.Now(), To: time.Now(), Link: "https://stay.example/g/l/x"}},
	}.Content()
	text, err := mail.Compose("ana@example.com", letter)
	if err != nil || !strings.Contains(text.HTML, `<html lang="nv" dir="ltr">`) || !strings.Contains(text.Text, "mails to you: 2.") {
		t.Errorf("the mail is %s, %v", text.Text, err)
	}
}
