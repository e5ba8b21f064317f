package guest

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// The guest's choice of colors is kept on the device and holds on every page of the guest, also before there is a session.
func TestLook(t *testing.T) {
	f := newFake()
	b := f.client(t)
	look := func(path, theme, to string) { b.t.Helper(); b.moves(path, url.Values{"theme": {theme}}, to) }
	wears := func(path, want string) {
		t.Helper()
		m := regexp.MustCompile(`<html [^>]*data-theme="(\w+)"`).FindStringSubmatch(b.get(path).body)
		if got := strings.Join(m[min(1, len(m)):], ""); got != want {
			t.Errorf("%s has the theme %q, want %q", path, got, want)
		}
	}
	link := "/g/l/" + linkSecret
	wears(link, "")
	look(link+"?look", "dark", link)
	wears(link, "dark")
	if f.bound {
		t.Error("a choice of colors bound the link")
	}
	if body := b.get(link).body; !strings.Contains(body, `<meta name="color-scheme" content="dark">`) || strings.Contains(body, `"light dark"`) {
		t.Error("the browser's own colors do not follow the choice")
	}
	b.moves(link, formOfLink(), "/g/stays/rsv_1")
	wears("/g/stays/rsv_1/form/gst_1/birth?check", "dark")
	if body := b.get("/g/stays/rsv_1/form/gst_1/birth?check").body; !strings.Contains(body, `action="?look&amp;check"`) {
		t.Error("the page with a query has no form that keeps it")
	}
	look("/g/stays/rsv_1/form/gst_1/birth?look&check", "light", "/g/stays/rsv_1/form/gst_1/birth?check")
	wears("/q/door_1", "light")
	look("/g/stays/rsv_1?look", "purple", "/g/stays/rsv_1")
	wears("/g/stays/rsv_1", "light")
	look("/g/stays/rsv_1?look", "system", "/g/stays/rsv_1")
	wears("/g/stays/rsv_1", "")
	look("/g/stays/rsv_1?look", "dark", "/g/stays/rsv_1")
	b.enrol()
	wears("/k/", "")

	// A page that the browser cannot load again has no form: it would lead nowhere.
	if body := b.do(http.MethodPost, "/g/stays/rsv_1/help", url.Values{}).body; strings.Contains(body, "?look") || !strings.Contains(body, `data-theme="dark"`) {
		t.Errorf("the page of a posted form: %s", plain(body))
	}
	for _, path := range []string{"//elsewhere.example/?look", "/elsewhere?look"} {
		if a := b.do(http.MethodPost, path, url.Values{"theme": {"dark"}}); a.status != http.StatusNotFound || a.moved != "" {
			t.Errorf("%s: %d to %q", path, a.status, a.moved)
		}
	}
}

// What a guest has typed and not saved is there after a choice of the look, and is not saved by it.
func TestLookKeepsWhatIsTyped(t *testing.T) {
	f := newFake()
	f.stay.NeedsMailAddress, f.stay.MaskedEmail = true, ""
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	for path, test := range map[string]struct {
		typed url.Values
		shown string
	}{
		"/g/stays/rsv_1/form/gst_1/name":  {form("firstName", "Anabela", "lastName", ""), `value="Anabela"`},
		"/g/stays/rsv_1/form/gst_1/birth": {form("birthDate.day", "31", "birthDate.month", "feb<"), `value="feb&lt;"`},
		"/g/stays/rsv_1/email":            {form("email", "ana@"), `value="ana@"`},
		"/g/stays/rsv_1/form/arrival":     {form("time", "19:00"), `<option value="19:00" selected>`},
		"/g/stays/rsv_1/form/share":       {form("share.contact", "yes"), `name="share.contact" value="yes" checked`},
		"/q/door_1":                       {form("number", "8790", "name", "Silva"), `value="8790"`},
	} {
		if body := b.get(path).body; !strings.Contains(body, `form="answers" formaction="?look"`) || !strings.Contains(body, `<form id="answers"`) || strings.Contains(body, test.shown) {
			t.Errorf("%s: %s", path, body)
		}
		if body := b.get(path).body; strings.Index(body, `form="answers"`) != strings.Index(body, `form="answers" tabindex="-1"`) {
			t.Errorf("%s: the Enter key chooses a look", path)
		}
		calls := len(f.answers)
		for _, theme := range []string{"dark", "system"} {
			test.typed.Set("key", pageKey)
			test.typed.Set("theme", theme)
			a := b.do(http.MethodPost, path+"?look", test.typed)
			if a.status != http.StatusOK || !strings.Contains(a.body, test.shown) || strings.Contains(a.body, `data-theme="dark"`) != (theme == "dark") {
				t.Errorf("%s: status %d, %s", path, a.status, a.body)
			}
		}
		if len(f.answers) != calls {
			t.Errorf("%s: a choice of colors saved %v", path, f.answers)
		}
	}
	if body := b.get("/g/stays/rsv_1/people").body; strings.Contains(body, "?look") {
		t.Error("the page of several forms offers a choice that keeps one of them")
	}
}

// Pages are never shown from a cache to a guest who made another choice.
func TestPagesVary(t *testing.T) {
	header := newFake().client(t).get("/g/l/" + linkSecret).header
	for _, name := range []string{"Cookie", "Accept-Language"} {
		if !strings.Contains(strings.Join(header.Values("Vary"), ","), name) {
			t.Errorf("Vary lacks %s: %v", name, header.Values("Vary"))
		}
	}
}
