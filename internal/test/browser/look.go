package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
)

// Screenshot writes an image of the whole page to the directory of the test's artifacts. Without "go test -artifacts", which "make
// test-web" sets, the directory is removed with the test, so there is no image.
func (p *Page) Screenshot(name string) {
	p.t.Helper()
	if !keepsArtifacts() {
		return
	}
	capture := chromedp.FullScreenshot(100)
	if m := call(p, page.GetLayoutMetrics, cdp.Empty{}); m.CSSContentSize.Height <= float64(m.CSSLayoutViewport.ClientHeight) {
		capture = chromedp.CaptureScreenshot() // the other one shifts a page from right to left that does not scroll
	}
	p.await("picture of the page", func(ctx context.Context) (bool, error) { // a page may have no width before its first layout
		png, err := chromedp.Run(ctx, capture)
		if err == nil {
			p.save(name, png)
		}
		return err == nil, err
	})
}

// keepsArtifacts reports whether the files of the tests remain when the tests have ended.
func keepsArtifacts() bool { return flag.Lookup("test.artifacts").Value.String() == "true" }

// save writes an image to the directory of the test's artifacts, under a name.
func (p *Page) save(name string, png []byte) {
	p.t.Helper()
	path := filepath.Join(p.t.ArtifactDir(), name+".png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		p.t.Error(err)
	}
}

// LayoutShift fails the test if elements moved since the page began to load. Chromium takes an emulated size for recent input, so
// shifts after input count too: call LayoutShift before acting on the page.
func (p *Page) LayoutShift() {
	p.t.Helper()
	until := "Infinity"
	if p.scriptOff { // the check needs script, and elements for pages with script appear then
		until = fmt.Sprint(evaluate[float64](p, "performance.now()"))
	}
	p.disableScript(false)
	defer p.disableScript(true)
	moved := evaluate[[]string](p, `new Promise(resolve => {
		const moved = [];
		const box = (r) => [r.x, r.y, r.width, r.height].map(Math.round).join(" ");
		new PerformanceObserver(list => {
			for (const e of list.getEntries().filter(e => e.startTime < `+until+`))
				moved.push(e.value.toFixed(4) + " " + e.sources.map(s => (s.node?.outerHTML?.slice(0, 120) ?? s.node?.textContent?.slice(0, 60) ?? "") + " from " + box(s.previousRect) + " to " + box(s.currentRect)).join(" | ") + " at " + Math.round(e.startTime) + " ms");
		}).observe({type: "layout-shift", buffered: true});
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(moved))));
	})`)
	for _, m := range moved {
		p.t.Errorf("%s: elements move while the page loads: %s", p.Address(), m)
	}
}

// Weight returns how many bytes the browser loaded for the page and its files, with about 300 for the header of each answer. Files from
// its cache do not count.
func (p *Page) Weight() int {
	p.t.Helper()
	return evaluate[int](p, `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource")).reduce((sum, e) => sum + e.transferSize, 0)`)
}

// SpaceText increases the spacing of the page's text to the values that a page must support by WCAG 1.4.12.
func (p *Page) SpaceText() {
	p.t.Helper()
	p.Script(`(() => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync("* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-block-end: 2em !important }");
		document.adoptedStyleSheets = [sheet];
	})()`)
}

// KeepsStill fails the test if an element has an animation or a transition although the reader prefers reduced motion.
func (p *Page) KeepsStill() {
	p.t.Helper()
	for _, fault := range evaluate[[]string](p, `[...document.querySelectorAll("*")].flatMap(e => [e, "::before", "::after"].flatMap(part => {
		const s = part === e ? getComputedStyle(e) : getComputedStyle(e, part);
		const moves = [];
		if (s.animationName !== "none") moves.push("animation " + s.animationName);
		if (s.transitionDuration.split(", ").some(d => parseFloat(d) > 0)) moves.push("transition of " + s.transitionProperty);
		if (s.scrollBehavior === "smooth") moves.push("smooth scrolling");
		return moves.map(m => e.outerHTML.slice(0, 100) + (part === e ? "" : part) + " has " + m);
	}))`) {
		p.t.Errorf("%s: with reduced motion, %s", p.Address(), fault)
	}
}

// ShowsInForcedColors fails the test if forced colors hide something: the border of a control, the moving part of a spinner, or the
// contrast of a QR code.
func (p *Page) ShowsInForcedColors() {
	p.t.Helper()
	for _, fault := range evaluate[[]string](p, `(() => {
		const faults = [], name = e => e.outerHTML.slice(0, 100);
		for (const e of document.querySelectorAll("button:not(.link, .hidden), .button, input:not([type=hidden], [type=radio], [type=checkbox]), select, textarea, canvas, dialog[open], .card, .note, .errors, .tasks")) {
			if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
			const s = getComputedStyle(e); // its colors are those of the page, not those that the browser shows in their place
			const edge = ["Top", "Left"].some(side => s["border" + side + "Style"] !== "none" && parseFloat(s["border" + side + "Width"]) > 0);
			if (!edge) faults.push(name(e) + " has no edge");
		}
		const probe = document.createElement("p");
		document.body.append(probe);
		probe.style.color = "CanvasText";
		for (const e of document.querySelectorAll("canvas")) {
			if (getComputedStyle(e).color !== getComputedStyle(probe).color) faults.push(name(e) + " is drawn on in " + getComputedStyle(e).color);
		}
		probe.remove();
		for (const e of document.querySelectorAll(".spin")) {
			const s = getComputedStyle(e, "::before");
			if (s.forcedColorAdjust !== "none" || s.borderTopColor === s.borderBottomColor) faults.push(name(e) + " has no part that turns");
		}
		const code = document.querySelector(".qr"), fill = part => getComputedStyle(code.querySelector(part)).fill;
		if (code && (getComputedStyle(code).forcedColorAdjust !== "none" || fill(".qr-ground") !== "rgb(255, 255, 255)" || fill(".qr-dots") !== "rgb(0, 0, 0)"))
			faults.push("the QR code is " + fill(".qr-dots") + " on " + fill(".qr-ground"));
		return faults;
	})()`) {
		p.t.Errorf("%s: in forced colors, %s", p.Address(), fault)
	}
}

// Fits fails the test if the page is wider than the window, if text is cut off or outside of the window, or if texts overlap.
func (p *Page) Fits() {
	p.t.Helper()
	for _, fault := range evaluate[[]string](p, `(() => {
		scrollTo({top: 0, behavior: "instant"}); // a part that stays in view may lie over others while the page is scrolled
		const faults = [], width = document.documentElement.clientWidth;
		const name = e => e.tagName.toLowerCase() + (e.className ? "." + e.className : "") + " " + JSON.stringify((e.innerText ?? "").slice(0, 60));
		if (document.documentElement.scrollWidth > width) faults.push("the page is " + document.documentElement.scrollWidth + " px wide");
		for (const e of document.body.querySelectorAll("*")) {
			if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
			const s = getComputedStyle(e), box = e.getBoundingClientRect();
			if (box.width <= 1 || box.height <= 1 || box.right <= 0) continue; // only for screen readers, or until it has the focus
			let scrolls = false;
			for (let a = e; a && a !== document.body; a = a.parentElement) scrolls ||= ["auto", "scroll"].includes(getComputedStyle(a).overflowX);
			if (scrolls) continue;
			if (e.matches("input, textarea, select")) continue; // their text scrolls
			if (box.right > width + 1 || box.left < -1) faults.push(name(e) + " reaches from " + Math.round(box.left) + " to " + Math.round(box.right) + " px");
			if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && (s.overflowX === "hidden" || s.overflowX === "clip")) faults.push(name(e) + " is cut off");
			if (e.scrollHeight > e.clientHeight + 1 && e.clientHeight > 0 && (s.overflowY === "hidden" || s.overflowY === "clip")) faults.push(name(e) + " is cut off below");
		}
		const lines = [], texts = document.createTreeWalker(document.querySelector("dialog[open]") ?? document.body, NodeFilter.SHOW_TEXT);
		for (let n = texts.nextNode(); n; n = texts.nextNode()) {
			if (!n.data.trim() || !n.parentElement.checkVisibility({opacityProperty: true, visibilityProperty: true}) || n.parentElement.closest("select, script, style")) continue;
			const box = n.parentElement.getBoundingClientRect();
			if (box.width <= 1 || box.height <= 1) continue;
			const range = document.createRange();
			range.selectNodeContents(n);
			for (const r of range.getClientRects()) lines.push({n, l: r.left + 1, r: r.right - 1, t: r.top + r.height / 4, b: r.bottom - r.height / 4});
		}
		for (const [i, a] of lines.entries()) for (const b of lines.slice(i + 1)) {
			if (a.n !== b.n && a.l < b.r && b.l < a.r && a.t < b.b && b.t < a.b) faults.push(JSON.stringify(a.n.data.trim().slice(0, 60)) + " lies over " + JSON.stringify(b.n.data.trim().slice(0, 60)));
		}
		return faults;
	})()`) {
		p.t.Errorf("%s at %s px: %s", p.Address(), p.size, fault)
	}
}

// Targets fails the test for each button, field, or link that is a block of its own, if it is smaller than least CSS pixels in one
// direction.
func (p *Page) Targets(least int) {
	p.t.Helper()
	for _, fault := range evaluate[[]string](p, fmt.Sprintf(`[...document.querySelectorAll("button, input, select, textarea, summary, a[href]")].flatMap(e => {
		if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true}) || getComputedStyle(e).display === "inline") return [];
		const boxes = [e, ...(e.labels ?? [])].map(n => n.getBoundingClientRect());
		const high = Math.max(...boxes.map(b => b.height)), wide = Math.max(...boxes.map(b => b.width));
		if (high <= 1 || wide <= 1 || e.getBoundingClientRect().right <= 0) return []; // only for screen readers, or until it has the focus
		return high < %[1]d - 0.5 || wide < %[1]d - 0.5 ? [e.outerHTML.slice(0, 120) + " is " + Math.round(wide) + " × " + Math.round(high)] : [];
	})`, least)) {
		p.t.Errorf("%s: the target %s px, less than %d", p.Address(), strings.TrimSpace(fault), least)
	}
}

var (
	qrBox = regexp.MustCompile(`<svg class="qr"[^>]*viewBox="0 0 (\d+) `)
	qrDot = regexp.MustCompile(`M(\d+) (\d+)h1v1h-1z`)
)

// quietZone is the empty border of a QR code, in modules.
const quietZone = 4

// QR returns the text of the page's QR code, as a phone's camera reads it.
func (p *Page) QR() string {
	p.t.Helper()
	html := p.HTML()
	box := qrBox.FindStringSubmatch(html)
	if box == nil {
		p.fatal("the page has no QR code")
	}
	size, err := strconv.Atoi(box[1])
	p.check(err)
	modules, err := gozxing.NewSquareBitMatrix(size - 2*quietZone)
	p.check(err)
	for _, dot := range qrDot.FindAllStringSubmatch(html, -1) {
		x, _ := strconv.Atoi(dot[1])
		y, _ := strconv.Atoi(dot[2])
		modules.Set(x-quietZone, y-quietZone)
	}
	read, err := decoder.NewDecoder().Decode(modules, nil)
	p.check(err)
	return read.GetText()
}
