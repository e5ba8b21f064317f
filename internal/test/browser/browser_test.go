package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"latchkey.dev/internal/test/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// recorder is a test whose errors are recorded and do not count.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

const page = `<!doctype html><html lang="en"><head><title>Page</title><meta name="viewport" content="width=device-width">
<style>a,button{display:inline-block;min-width:48px;min-height:48px} :focus-visible{outline:3px solid #00f;outline-offset:2px}%s</style>
<link rel="icon" href="data:,"></head><body><main><h1>Page</h1><p><a href="#a">First</a> <a href="#b">Second</a></p>%s</main></body></html>`

// Each check finds a page with its fault, and nothing on a page without.
func TestChecksFindFaults(t *testing.T) {
	for _, c := range []struct {
		name, style, body string
		check             func(*browser.Page)
		want              string
	}{
		{"contrast", "", `<p style="color:#bbb">pale</p>`, (*browser.Page).Axe, "color-contrast"},
		{"label", "", `<input>`, (*browser.Page).Axe, "axe label"},
		{"trap", "", `<button onkeydown="event.preventDefault()">Trap</button>`, (*browser.Page).KeyboardWalk, "does not leave"},
		{"unreached", "", `<button onkeydown="event.preventDefault()">Trap</button><a href="#c">Last</a>`, (*browser.Page).KeyboardWalk, "does not leave"},
		{"invisible focus", ":focus-visible{outline:none}", "", (*browser.Page).KeyboardWalk, "does not show it"},
		{"covered focus", "", `<div style="position:fixed;inset:0;background:#fff"></div>`, (*browser.Page).KeyboardWalk, "below another"},
		{"too wide", "", `<p style="width:900px">wide</p>`, (*browser.Page).Fits, "wide"},
		{"cut off", "", `<p style="width:9rem;overflow:hidden;white-space:nowrap">A name that is longer than its box</p>`, (*browser.Page).Fits, "cut off"},
		{"small target", "", `<button style="all:unset;display:block;width:20px;height:20px">x</button>`, func(p *browser.Page) { p.Targets(48) }, "20 × 20"},
		{"shift", "", `<div id="late"></div><p>moved</p><script>
			new PerformanceObserver(() => requestAnimationFrame(() => { late.style.height = "300px"; document.body.dataset.moved = "" }))
				.observe({type: "paint", buffered: true})</script>`,
			func(p *browser.Page) { p.Wait("[data-moved]"); p.LayoutShift() }, "elements move"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, faulty := range []bool{true, false} {
				r := &recorder{TB: t}
				p := browser.Open(r, browser.WithSize(browser.Phone))
				style, body := "", `<div data-moved></div>`
				if faulty {
					style, body = c.style, c.body+`<div></div>`
				}
				p.Visit(serve(t, fmt.Sprintf(page, style, body), ""))
				c.check(p)
				if got := strings.Join(r.errors, "\n"); faulty != strings.Contains(got, c.want) || !faulty && got != "" {
					t.Errorf("a page with the fault %t reports: %s", faulty, got)
				}
			}
		})
	}
}

// The walk goes through a frame and reaches what follows it, and reports a frame that keeps the focus.
func TestKeyboardWalkThroughFrames(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"three links": {`<a href=#1>One</a> <a href=#2>Two</a> <a href=#3>Three</a>`, ""},
		"trap":        {`<button onkeydown=event.preventDefault()>Trap</button>`, "Tab does not leave iframe"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			p := browser.Open(r, browser.WithSize(browser.Phone))
			p.Visit(serve(t, fmt.Sprintf(page, "", `<p><iframe title="Letter" sandbox="allow-scripts" srcdoc="`+c.content+`"></iframe></p><p><a href="#c">Last</a></p>`), ""))
			p.KeyboardWalk()
			if got := strings.Join(r.errors, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("the walk reports: %q", got)
			}
		})
	}
}

func TestMessagesFailTheTest(t *testing.T) {
	for name, c := range map[string]struct{ policy, body, want string }{
		"console":   {"", `<script>console.error("broken thing")</script>`, "broken thing"},
		"exception": {"", `<script>throw new Error("thrown thing")</script>`, "thrown thing"},
		"missing":   {"", `<img alt="" src="/missing.png">`, "404"},
		"policy":    {"default-src 'none'", `<p style="color:red">x</p>`, "Content-Security-Policy"},
		"nothing":   {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := browser.Open(t)
			p.Visit(serve(t, fmt.Sprintf(page, "", c.body), c.policy))
			got := strings.Join(p.Faults(), "\n")
			if !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("reported %q, want %q", got, c.want)
			}
		})
	}
}

// A person can fill in and send a form, with and without script, and two pages are two devices.
func TestActions(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		form := `<form method="post"><label for="n">Family name</label> <input id="n" name="name" value="old">
			<label for="c">Country</label> <select id="c" name="country"><option value="">–</option><option value="PT">Portugal</option></select>
			<label><input type="checkbox" name="keep"> Keep</label> <button>Send</button></form>`
		fmt.Fprintf(w, page, "", form)
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "device", Value: "1"})
		fmt.Fprintf(w, strings.Replace(page, "<h1>Page", "<h1>Sent", 1), "", fmt.Sprint(r.FormValue("name"), "/", r.FormValue("country"), "/", r.FormValue("keep")))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, options := range [][]browser.Option{nil, {browser.WithoutScript}} {
		p := browser.Open(t, options...)
		p.Visit(server.URL)
		p.Fill("Family name", "Nuñez")
		p.Choose("Country", "Portugal")
		p.Click("Keep")
		if got := p.Value("Family name"); got != "Nuñez" {
			t.Errorf("the field has %q", got)
		}
		p.Next("Send", "Sent")
		p.WaitText("Nuñez/PT/on")
		if n := len(p.Cookies()); n != 1 {
			t.Errorf("the device has %d cookies", n)
		}
		other, tab := browser.Open(t), browser.Open(t, browser.SameDevice(p))
		if n := len(other.Cookies()); n != 0 {
			t.Errorf("another device has %d cookies", n)
		}
		if n := len(tab.Cookies()); n != 1 {
			t.Errorf("another tab of the device has %d cookies", n)
		}
		if !p.Back() || p.Heading() != "Page" {
			t.Errorf("the back button shows %q", p.Heading())
		}
	}
}

func TestWeight(t *testing.T) {
	p := browser.Open(t)
	p.Visit(serve(t, `<link rel="icon" href="data:,">`+strings.Repeat("<p>paragraph</p>", 1000), ""))
	if w := p.Weight(); w < 16_000 || w > 17_000 {
		t.Errorf("a page of 16,000 bytes weighs %d", w)
	}
}

func serve(t *testing.T, html, policy string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(html))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
