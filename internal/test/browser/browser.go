// Package browser drives Chromium for tests of web pages. A test opens a page, acts on it as a person does, and checks what a person
// reads. Errors in the console and violations of the Content-Security-Policy fail the test.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// patience is how long a page may take to reach an awaited state. It is long, because the machine of a test can be busy: a kiosk registers
// its service worker again after half a minute.
const patience = time.Minute

// Size is the size of a window in CSS pixels, and whether a finger is used in place of a mouse.
type Size struct {
	Width, Height int64
	Touch         bool
	Scale         float64 // device pixels of a CSS pixel; 0 is 1
}

// The sizes of windows that the tests use.
var (
	Narrow  = Size{Width: 320, Height: 640, Touch: true}
	Phone   = Size{Width: 390, Height: 844, Touch: true}
	Tablet  = Size{Width: 768, Height: 1024, Touch: true}
	Desktop = Size{Width: 1280, Height: 800}
	Kiosk   = Size{Width: 1280, Height: 800, Touch: true}
)

// Zoom returns the window of a browser that zooms in: it has fewer CSS pixels, and each is larger. 2 is 200 %.
func (s Size) Zoom(factor int64) Size {
	return Size{Width: s.Width / factor, Height: s.Height / factor, Touch: s.Touch, Scale: float64(factor)}
}

// String names the size for the names of subtests.
func (s Size) String() string {
	if s.Scale > 1 {
		return fmt.Sprintf("%d-zoom%g", s.Width, s.Scale)
	}
	return fmt.Sprint(s.Width)
}

type settings struct {
	size      Size
	dark      bool
	still     bool
	forced    bool
	scriptOff bool
	clock     bool
	scripts   []string // run in each document before its own
	tolerated []string
	sharing   *Page
}

// Option changes how Open opens a page.
type Option func(*settings)

// WithSize sets the size of the window. The default is Desktop.
func WithSize(s Size) Option { return func(c *settings) { c.size = s } }

// Dark makes the browser prefer dark colors.
func Dark(c *settings) { c.dark = true }

// ReducedMotion makes the browser prefer reduced motion.
func ReducedMotion(c *settings) { c.still = true }

// ForcedColors makes the browser replace the colors of pages.
func ForcedColors(c *settings) { c.forced = true }

// WithoutScript disables JavaScript.
func WithoutScript(c *settings) { c.scriptOff = true }

// WithScript runs a script in each document before the document's own scripts, for example to remove a feature of the browser.
func WithScript(source string) Option {
	return func(c *settings) { c.scripts = append(c.scripts, source) }
}

// Tolerate makes console messages that contain a text not fail the test.
func Tolerate(message string) Option {
	return func(c *settings) { c.tolerated = append(c.tolerated, message) }
}

// SameDevice opens the page as another tab on the device of p: with the same cookies, storage and service workers.
func SameDevice(p *Page) Option { return func(c *settings) { c.sharing = p } }

// Page is a tab. Each page that Open returns is a device of its own, with its own cookies, storage and service workers.
type Page struct {
	t       testing.TB
	ctx     context.Context
	size    Size
	watcher *watcher
	// scriptOff means that the page runs no script of its own.
	scriptOff bool
	forced    bool // the browser replaces the page's colors
}

// process is the Chromium of this test binary. All pages are tabs of it.
var process struct {
	sync.Mutex
	ctx   context.Context
	close func()
}

// PlainHost is a name of this machine that Chromium does not treat as secure, unlike 127.0.0.1. So a page at http://PlainHost is like
// that of a server without TLS elsewhere in the network.
const PlainHost = "plain.test"

// Main runs the tests of a package and then stops Chromium: func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }.
func Main(m *testing.M) int {
	defer func() {
		if process.close != nil {
			process.close()
		}
	}()
	return m.Run()
}

// Open opens an empty page, which closes when the test ends.
func Open(t testing.TB, options ...Option) *Page {
	t.Helper()
	s := settings{size: Desktop}
	for _, o := range options {
		o(&s)
	}
	parent, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	var cancel func()
	if s.sharing == nil {
		ctx, cancel = chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	} else {
		ctx, cancel = chromedp.NewContext(s.sharing.ctx)
	}
	t.Cleanup(cancel)
	p := &Page{t: t, ctx: ctx, size: s.size, scriptOff: s.scriptOff, forced: s.forced, watcher: &watcher{tolerated: s.tolerated}}
	if err := chromedp.Listen(ctx, p.watcher.onEvent); err != nil {
		t.Fatalf("open a page: %v", err)
	}
	p.configure(s)
	t.Cleanup(func() { p.watcher.report(t) })
	return p
}

// chromium returns the context of the running browser. The first call starts it.
func chromium() (context.Context, error) {
	process.Lock()
	defer process.Unlock()
	if process.ctx != nil {
		return process.ctx, nil
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("chromium is missing, run scripts/need chromium axe: %w", err)
	}
	ctx, err := start(program)
	if err != nil { // on a busy machine Chromium sometimes crashes while it starts
		ctx, err = start(program)
	}
	if err != nil {
		return nil, err
	}
	process.ctx = ctx
	return ctx, nil
}

// start starts the program, Chromium, with an empty profile and returns its context.
func start(program string) (context.Context, error) {
	profile, err := os.MkdirTemp("", "latchkey-chromium-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.WSURLReadTimeout(patience),
		chromedp.UserDataDir(profile),
		chromedp.Env("HOME="+profile),
		chromedp.Flag("no-sandbox", os.Getuid() == 0),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-smooth-scrolling", true), // an element with the focus is in view at once
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("lang", "en-US"),
		// The tests use only servers on this machine. All other names do not resolve.
		chromedp.Flag("host-resolver-rules", "MAP "+PlainHost+" 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	process.close = func() {
		cancel()
		stop()
		_ = os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		process.close()
		process.close = nil
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return ctx, nil
}

// configure applies the settings to a new page, and enables the events that the watcher needs.
func (p *Page) configure(s settings) {
	p.t.Helper()
	touch := []chromedp.EmulateViewportOption{}
	if s.size.Touch {
		touch = append(touch, chromedp.EmulateTouch)
	}
	if s.size.Touch && s.size.Width < s.size.Height {
		touch = append(touch, chromedp.EmulateMobile, chromedp.EmulatePortrait)
	}
	if s.size.Scale > 0 {
		touch = append(touch, chromedp.EmulateScale(s.size.Scale))
	}
	p.do(chromedp.EmulateViewport(s.size.Width, s.size.Height, touch...))
	call(p, accessibility.Enable, cdp.Empty{})
	call(p, audits.Enable, cdp.Empty{})
	call(p, inspector.Enable, cdp.Empty{})
	call(p, network.Enable, network.EnableParams{})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: either(s.dark, "dark", "light")},
		{Name: "prefers-reduced-motion", Value: either(s.still, "reduce", "no-preference")},
		{Name: "forced-colors", Value: either(s.forced, "active", "none")},
	}})
	if s.clock {
		s.scripts = append(s.scripts, strings.TrimSpace(clock))
	}
	for _, source := range s.scripts {
		call(p, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: source})
	}
	p.disableScript(s.scriptOff)
}

// disableScript switches script of a page opened WithoutScript off or on. While it is off, the timers and frame callbacks of a check do
// not run either.
func (p *Page) disableScript(off bool) {
	p.t.Helper()
	if p.scriptOff {
		call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off})
	}
}

// either returns yes if the condition is true, otherwise no.
func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
