package kit

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"latchkey.dev/internal/fault"
)

func testKit(t *testing.T) *Kit {
	t.Helper()
	k, err := New(Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Secure: func(*http.Request) bool { return true }, Now: time.Now,
		As:    func(ctx context.Context, _ *http.Request, _ Credential) context.Context { return ctx },
		Fault: func(error) *fault.Fault { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// Static files are immutable under their hash. Other names are unknown.
func TestStaticFiles(t *testing.T) {
	k := testKit(t)
	a := get(k.mux, k.files.URL("guest.css"))
	if a.Code != http.StatusOK || a.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || a.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%d %v", a.Code, a.Header())
	}
	for _, path := range []string{"/static/sw.js", "/static/guest.css", "/static/..%2fweb.go", "/theme/x.css", "/theme/12345.css", "/theme/gggggg.css"} {
		if a := get(k.mux, path); a.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, a.Code)
		}
	}
	a = get(k.ServeWorker("sw.js", "kiosk.js"), "/k/sw.js")
	if a.Header().Get("Cache-Control") != "no-cache" || !strings.Contains(a.Body.String(), k.files.URL("kiosk.js")) || !strings.Contains(a.Body.String(), "/k/closed") {
		t.Errorf("the service worker: %v %s", a.Header(), a.Body)
	}
}

// Scripts and style sheets stay small before compression.
func TestSizesOfFiles(t *testing.T) {
	files := testKit(t).files
	for name, most := range map[string]int{"guest.js": 25 << 10, "kiosk.js": 15 << 10, "guest.css": 25 << 10, "kiosk.css": 5 << 10, "staff.js": 30 << 10, "staff.css": 25 << 10} {
		f := files.byName[files.names[name]]
		if f == nil || len(f.plain) > most || len(f.plain) == 0 {
			t.Errorf("%s is missing, empty or larger than %d bytes", name, most)
		}
	}
}

// Each colour of a property becomes readable on light and dark pages.
func TestThemes(t *testing.T) {
	k := testKit(t)
	colours := regexp.MustCompile(`--accent:(#\w{6});--on-accent:(#\w{6})`)
	for _, accent := range []string{"#ffffff", "#000000", "#ffff00", "#3366cc", "#ff0000", "#808080"} {
		a := get(k.mux, ThemeURL(accent))
		found := colours.FindAllStringSubmatch(a.Body.String(), -1)
		if a.Code != http.StatusOK || len(found) != 3 {
			t.Fatalf("%s: %d %s", accent, a.Code, a.Body)
		}
		for i, m := range found {
			ground := []colour{lightGround, darkGround, darkGround}[i] // light, dark by the device, dark by choice
			c, _ := parseColour(m[1])
			on, _ := parseColour(m[2])
			if contrast(c, ground) < 4.5 || contrast(c, on) < 4.5 {
				t.Errorf("%s becomes %s with %.2f on the page and %.2f below its text", accent, m[1], contrast(c, ground), contrast(c, on))
			}
		}
	}
	if got := ThemeURL("red;}"); got != "" {
		t.Errorf("%q", got)
	}
}

// The contrasts of the tokens: 4.5 for text, 3 for borders of inputs and the focus, on every ground.
func TestContrasts(t *testing.T) {
	css, err := os.ReadFile("css/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("there are no dark colours")
	}
	token := regexp.MustCompile(`--([\w-]+): (#[0-9a-f]{6});`)
	for name, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]colour{}
		for _, m := range token.FindAllStringSubmatch(text, -1) {
			colours[m[1]], _ = parseColour(m[2])
		}
		if _, has := colours["link"]; !has {
			colours["link"] = colours["accent"]
		}
		check := func(front string, least float64, grounds ...string) {
			for _, ground := range grounds {
				f, ok := colours[front]
				g, ok2 := colours[ground]
				if !ok || !ok2 {
					t.Errorf("%s: %s or %s is not defined", name, front, ground)
				} else if got := contrast(f, g); got < least {
					t.Errorf("%s: %s on %s has %.2f, want %.1f", name, front, ground, got, least)
				}
			}
		}
		for _, front := range []string{"text", "text2", "link"} {
			check(front, 4.5, "bg", "surface", "sunken")
		}
		check("on-accent", 4.5, "accent")
		for _, status := range []string{"ok", "warn", "bad", "unknown", "info"} {
			check(status, 4.5, status+"-bg", "surface", "bg")
		}
		check("control", 3, "bg", "surface")
		check("focus", 3, "bg", "surface", "sunken")
	}
}

// The dark colors of a device and those of a guest's choice are the same.
func TestDarkTokens(t *testing.T) {
	css, err := os.ReadFile("css/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?s)color-scheme: dark;(.*?)\}`).FindAllStringSubmatch(string(css), -1)
	if len(blocks) != 2 {
		t.Fatalf("there are %d dark blocks", len(blocks))
	}
	if device, chosen := strings.Fields(blocks[0][1]), strings.Fields(blocks[1][1]); strings.Join(device, " ") != strings.Join(chosen, " ") {
		t.Errorf("the dark colors differ:\n%v\n%v", device, chosen)
	}
}

// Without a choice the first of the browser's languages that has texts counts, then the property's, then English. A region does not
// matter.
func TestLanguageWithoutChoice(t *testing.T) {
	k := testKit(t)
	for _, test := range []struct{ accept, property, want string }{
		{"de-CH, de;q=0.9, en;q=0.8", "en", "de"}, {"en-GB, de;q=0.5", "de", "en"}, {"ja, de;q=0.5", "en", "de"},
		{"ja", "de-AT", "de"}, {"", "de", "de"}, {"ja", "ja", "en"}, {"", "", "en"},
	} {
		if got := k.Words("", test.accept, Locale{Language: test.property}).Lang; got != test.want {
			t.Errorf("%q at a property of %q: %s, want %s", test.accept, test.property, got, test.want)
		}
	}
}

// A line never breaks between a date and the punctuation after it.
func TestPunctuationStaysWithItsDate(t *testing.T) {
	w := Words{Lang: "en"}
	at := template.HTML(`<time datetime="2026-11-21">Sat 21 Nov</time>`)
	got := w.T("web.data.asked", "day", at, "at", at, "dueDay", at, "dueAt", "11:00")
	if strings.Contains(string(got), "</time>,") || strings.Contains(string(got), "</time>.") || !strings.Contains(string(got), "Sat 21 Nov,</time> ") {
		t.Error(got)
	}
}

// Pages share one set of templates, so a block that two pages define would replace the block of one of them.
func TestBlocksOfPagesHaveNamesOfTheirOwn(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"parts/layout.html": file(`{{define "layout"}}{{.Main}}{{end}}`),
		"pages/a.html":      file(`{{define "main"}}a{{template "row" .}}{{end}}{{define "row"}}1{{end}}`),
		"pages/b.html":      file(`{{define "main"}}b{{end}}`),
	}
	k := &Kit{}
	if _, err := k.NewArea(files, nil); err != nil {
		t.Fatal(err)
	}
	files["pages/b.html"] = file(`{{define "main"}}b{{end}}{{define "row"}}2{{end}}`)
	if _, err := k.NewArea(files, nil); err == nil || !strings.Contains(err.Error(), `pages/b.html: the block "row" exists already`) {
		t.Errorf("a block of two pages: %v", err)
	}
}
