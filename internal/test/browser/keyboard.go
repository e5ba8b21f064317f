package browser

import (
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// reachable lists the elements that a person who only has a keyboard must reach. One radio button of a group stands for the group.
const reachable = `(() => {
	const groups = new Set();
	return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex], iframe, [contenteditable=true]")].filter(e => {
		if (e.disabled || e.tabIndex < 0 || e.type === "hidden" || e.closest("[inert]")) return false;
		if (!e.checkVisibility({visibilityProperty: true})) return false;
		if (e.type === "radio") {
			const group = (e.form?.id ?? "") + "/" + e.name;
			if (groups.has(group)) return false;
			groups.add(group);
		}
		return true;
	});
})()`

// focused describes the element that has the focus.
type focused struct {
	Index   int  // in the order of reachable; -1 for the document itself
	Same    bool // Tab did not move the focus
	Frame   bool // a frame, or a field of a date, which keeps the focus while Tab goes through what it contains
	Label   string
	Outline bool // a visible outline or shadow
	Inside  bool // inside the window
	Covered bool // another element lies over its center
}

// maxInFrame is how often Tab may be pressed within a frame before the focus leaves it.
const maxInFrame = 30

// KeyboardWalk presses Tab from the start of the page to its end. It fails the test if an element is never reached, if the focus is not
// visible or is covered, or if the focus does not move on. It does not check the focus inside of frames, which cannot be seen from
// outside.
func (p *Page) KeyboardWalk() {
	p.t.Helper()
	p.disableScript(false)
	defer p.disableScript(true)
	total := evaluate[int](p, `(() => {
		document.body.tabIndex = -1; // the next Tab starts before the first element
		document.body.focus();
		document.body.removeAttribute("tabindex");
		scrollTo(0, 0);
		window.latchkeyFocus = null;
		window.latchkeyReachable = `+reachable+`;
		return window.latchkeyReachable.length;
	})()`)
	reached, inFrame := map[int]bool{}, 0
	for range 3*total + 50 + maxInFrame {
		p.do(chromedp.KeyEvent(kb.Tab))
		// A frame of another process gets the focus later than the event returns.
		f := evaluate[focused](p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(`+describeFocus+`))))`)
		if f.Same && f.Frame && inFrame < maxInFrame {
			inFrame++
			continue
		}
		if f.Same {
			p.t.Errorf("%s: Tab does not leave %s", p.Address(), f.Label)
			return
		}
		if f.Index == -1 || reached[f.Index] {
			break // past the end
		}
		for _, fault := range f.faults() {
			p.t.Errorf("%s: %s %s", p.Address(), f.Label, fault)
		}
		reached[f.Index], inFrame = true, 0
	}
	for i := range total {
		if reached[i] {
			continue
		}
		// A page may replace its parts: an element that is no longer there need not be reached.
		if left := evaluate[string](p, fmt.Sprintf(`(e => e.isConnected ? e.outerHTML.slice(0, 200) : "")(window.latchkeyReachable[%d])`, i)); left != "" {
			p.t.Errorf("%s: Tab does not reach %s", p.Address(), left)
		}
	}
}

// faults describes what is wrong with the way the element shows its focus; none if nothing is.
func (f focused) faults() (faults []string) {
	if !f.Outline && !f.Frame {
		faults = append(faults, "has the focus and does not show it")
	}
	if !f.Inside {
		faults = append(faults, "has the focus outside the window")
	}
	if f.Covered {
		faults = append(faults, "has the focus below another element")
	}
	return faults
}

const describeFocus = `(() => {
	const e = document.activeElement;
	const known = window.latchkeyReachable, same = e === window.latchkeyFocus;
	window.latchkeyFocus = e;
	if (!e || e === document.body || e === document.documentElement) return {Index: -1, Label: "the document"};
	let index = known.indexOf(e);
	if (index < 0 && e.type === "radio") index = known.findIndex(k => k.type === "radio" && k.name === e.name && k.form === e.form);
	if (index < 0) index = known.push(e) - 1; // it appeared since, or it is an area that scrolls
	// A hidden input shows its focus on its label or on the box that contains it.
	const shows = n => {
		const s = getComputedStyle(n);
		return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 || s.boxShadow !== "none";
	};
	const candidates = [e, e.nextElementSibling, e.closest("label"), e.labels?.[0], e.parentElement].filter(Boolean);
	const box = e.getBoundingClientRect();
	const x = box.x + box.width / 2, y = box.y + box.height / 2;
	const top = document.elementFromPoint(Math.min(Math.max(x, 0), innerWidth - 1), Math.min(Math.max(y, 0), innerHeight - 1));
	return {
		Index: index,
		Same: same,
		Frame: e instanceof HTMLIFrameElement || /^(date|datetime-local|month|time|week)$/.test(e.type),
		Label: e.tagName.toLowerCase() + " " + JSON.stringify((e.getAttribute("aria-label") || e.innerText || e.labels?.[0]?.innerText || e.name || "").slice(0, 60)),
		Outline: candidates.some(shows),
		Inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
		Covered: !!top && !e.contains(top) && !top.contains(e) && !candidates.some(c => c.contains(top)),
	};
})()`
