package guest

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/test/pseudo"
)

// The guest chooses among the languages by their own names; the choice counts more than the browser's languages, and it holds for each
// text, also on pages without a session.
func TestLanguage(t *testing.T) {
	link := "/g/l/" + linkSecret
	pseudo.Add(t, pseudo.Long)
	pseudo.Add(t, pseudo.RightToLeft)
	b := newFake().client(t)
	self := pseudo.Text(pseudo.RightToLeft, "English")
	b.shows(link, "Hello A.", self)
	b.moves(link+"?look", url.Values{"lang": {pseudo.RightToLeft}}, link)
	if a := b.shows(link, pseudo.Text(pseudo.RightToLeft, "Open my stay")); !strings.Contains(a.body, `<html lang="ar-XB" dir="rtl"`) || strings.Contains(plain(a.body), "Hello") {
		t.Errorf("after a choice: %s", a.body[:min(200, len(a.body))])
	}
	b.moves(link+"?look", url.Values{"lang": {"tlh"}}, link) // a language without texts
	b.shows("/q/door_1", pseudo.Text(pseudo.RightToLeft, "Find your booking"))
	b.moves("/q/door_1?look", url.Values{"lang": {"en"}}, "/q/door_1")
	b.shows("/q/door_1", "Find your booking")
}

// A call asks for texts in the language of the page: the choice, else that of the browser, else none, so that the property's counts.
func TestCallsAskForThePagesLanguage(t *testing.T) {
	b := newFake().client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	rules := "/g/stays/rsv_1/form/rules"
	if a := b.shows(rules, "No candles."); strings.Contains(a.body, "In ") {
		t.Errorf("without a language: %s", plain(a.body))
	}
	b.headers = map[string]string{"Accept-Language": "tlh, de-AT;q=0.8"}
	b.shows(rules, "In de.")
	b.setCookie("lk-lang", "fr")
	b.shows(rules, "In fr.")
}

// A text of the property that is not in the language of the page says in which language it is, for screen readers.
func TestTextsOfThePropertyHaveALanguage(t *testing.T) {
	f := newFake()
	face, _ := proto.Clone(theProperty).(*guestv1.PropertyFace)
	face.DirectionsLanguage = "pt"
	f.stay.Property, f.stay.HouseRulesLanguage = face, "en"
	b := f.client(t)
	b.setCookie("lk-stay-rsv_1", staySession)
	b.setCookie("lk-lang", "fr")
	rules, directions := `<p dir="auto" lang="en">No candles.</p>`, `<p dir="auto" lang="pt">To the end</p>`
	for path, want := range map[string][]string{"/form/rules": {rules}, "": {rules, directions}} {
		page := b.get("/g/stays/rsv_1" + path)
		for _, text := range want {
			if !strings.Contains(page.body, text) {
				t.Errorf("%q has no %s:\n%s", path, text, page.body)
			}
		}
	}
}

// A guest at a tablet chooses the language for the visit. The next guest, and the page that the service worker keeps, have the property's.
func TestLanguageAtKiosk(t *testing.T) {
	pseudo.Add(t, pseudo.RightToLeft)
	b := newFake().client(t)
	b.enrol()
	other := func(english string) string { return pseudo.Text(pseudo.RightToLeft, english) }
	action := regexp.MustCompile(`action="(\?look[^"]*)"`).FindStringSubmatch(b.shows("/k/", "Welcome", other("English")).body)
	if action == nil {
		t.Fatal("the start page offers no language")
	}
	b.moves("/k/"+html.UnescapeString(action[1]), url.Values{"lang": {pseudo.RightToLeft}}, "/k/?chosen")
	b.shows("/k/?chosen", other("Check in here"))
	b.shows("/k/find", other("Find your booking"))
	b.shows("/k/cut", other("Please go on by phone or at the desk")[:4])
	b.shows("/k/closed", "is closed for the moment")
	b.shows("/k/", "Welcome")
	b.shows("/k/find", "Find your booking")
	if a := b.do(http.MethodGet, "/k/", nil); strings.Contains(a.header.Get("Set-Cookie"), "lk-lang") {
		t.Error("the cookie of the last guest's language was still there")
	}
}

var (
	readable = regexp.MustCompile(`\b(?:alt|title|placeholder|aria-label|value)="([^"]*)"`)
	asciiRun = regexp.MustCompile(`[A-Za-z]{2,}`)
	hidden   = regexp.MustCompile(`<input type="(?:hidden|radio|checkbox)"[^>]*>|<option[^>]*>|<button[^>]*>|<bdi[^>]*>|</bdi>`)
)

// No page has a text of its own: in a language without the letters a to z, these letters are only in the data.
func TestNothingIsHardCoded(t *testing.T) {
	pseudo.Add(t, pseudo.RightToLeft)
	f := newFake()
	f.start("failed")
	// These are data: what the views of this test hold, the names of devices, and the address of a calendar or a law.
	data := map[string]bool{"Wrong": true, "Title": true, "Guest": true, "https": true, "http": true, "example": true, "com": true, "iPhone": true, "Android": true, "ana": true}
	for _, m := range []proto.Message{f.stay, f.form, f.kiosk, f.pins, theProperty} {
		for _, word := range asciiRun.FindAllString(strings.ReplaceAll(protojson.Format(m), `\n`, " "), -1) {
			data[word] = true
		}
	}
	for name, views := range views() {
		for _, kiosk := range []bool{false, true} {
			x := newFake().exchange(t, pseudo.RightToLeft, kiosk)
			p := x.newPage(theProperty, "web.stay.title")
			p.Data, p.Back, p.Languages, p.Flow = views[0], "/back", []string{pseudo.RightToLeft}, flow{Kiosk: kiosk, Stay: f.stay}
			page := x.rendered(t, name, p)
			body := hidden.ReplaceAllString(page[strings.Index(page, "<body"):], "")
			read := plain(body)
			for _, m := range readable.FindAllStringSubmatch(body, -1) {
				read += " " + html.UnescapeString(m[1])
			}
			for _, word := range asciiRun.FindAllString(read, -1) {
				if !data[word] {
					t.Errorf("%s: %q is in no catalogue", name, word)
				}
			}
		}
	}
}

// A pseudo language has each text of English, and no letter of a to z.
func TestPseudoLanguages(t *testing.T) {
	for _, language := range []string{pseudo.Long, pseudo.RightToLeft} {
		pseudo.Add(t, language)
		if got, want := slices.Sorted(maps.Keys(message.Kinds(language))), slices.Sorted(maps.Keys(message.Kinds(message.English))); !slices.Equal(got, want) {
			t.Errorf("%s has %d texts, English %d", language, len(got), len(want))
		}
		text := message.Reader{Language: language}.Text(message.Message{Kind: "web.find.tooMany", Params: message.Params{"minutes": 5}})
		if asciiRun.MatchString(text) || !strings.Contains(text, fmt.Sprint(5)) {
			t.Errorf("%s: %s", language, text)
		}
	}
}

// Mails follow the language that the guest reads: pages send the choice, or else the browser's language, with what the guest does.
func TestLanguageOfMails(t *testing.T) {
	f := newFake()
	b := f.client(t)
	want := func(what, want string) {
		t.Helper()
		if f.language != want {
			t.Errorf("%s: %q, want %q", what, f.language, want)
		}
		f.language = "none"
	}
	b.headers = map[string]string{"Accept-Language": "de-CH, en;q=0.5"}
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	want("a bound link", "de")
	answers := form("firstName", "Ana", "lastName", "Silva")
	b.do(http.MethodPost, "/g/stays/rsv_1/form/gst_1/name", answers)
	if want("answers before a choice", "de"); !f.ofBrowser {
		t.Error("answers before a choice choose the browser's language")
	}
	b.do(http.MethodPost, "/g/stays/rsv_1/checkin", form("do", "start"))
	if want("a check-in before a choice", "de"); !f.ofBrowser {
		t.Error("a check-in before a choice chooses the browser's language")
	}
	b.moves("/g/stays/rsv_1?look", url.Values{"lang": {"fr"}}, "/g/stays/rsv_1")
	want("a choice", "fr")
	b.do(http.MethodPost, "/g/stays/rsv_1/form/gst_1/name", answers)
	if want("answers", "fr"); f.ofBrowser {
		t.Error("answers take a chosen language for that of the browser")
	}
	b.moves("/q/door_1?look", url.Values{"lang": {"es"}}, "/q/door_1")
	want("a page without a session", "none")
	b.headers["Accept-Language"] = "ja"
	b.moves("/g/stays/rsv_1?look", url.Values{"lang": {"tlh"}}, "/g/stays/rsv_1")
	want("a language without texts", "none")
}
