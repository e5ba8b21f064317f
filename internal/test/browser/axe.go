package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axeScript returns axe-core, which scripts/need axe installs.
var axeScript = sync.OnceValues(func() (string, error) {
	_, here, _, _ := goruntime.Caller(0)
	for _, root := range []string{filepath.Dir(here), "."} {
		dir, err := filepath.Abs(root)
		if err != nil {
			return "", err
		}
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			script, err := os.ReadFile(filepath.Join(dir, "internal/tools/axe/node_modules/axe-core/axe.min.js"))
			if err == nil {
				return string(script), nil
			}
		}
	}
	return "", fmt.Errorf("axe-core is missing, run scripts/need axe")
})

// violation is a rule of axe that a page breaks, with the elements that break it.
type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML           string
		Target         []any
		FailureSummary string
	}
}

// Axe fails the test for each rule of WCAG 2.2 AA and of best practice that axe-core finds broken.
func (p *Page) Axe() {
	p.t.Helper()
	for _, v := range p.violations() {
		for _, n := range v.Nodes {
			p.t.Errorf("%s: axe %s: %s\n  %v\n  %s\n  %s", evaluate[string](p, `location.pathname`), v.ID, v.Help, n.Target, n.HTML, n.FailureSummary)
		}
	}
}

// unjudged returns the rules to switch off, as a list in JavaScript. In forced colors the browser chooses the colors of texts and
// backgrounds, but axe-core reads the page's own.
func (p *Page) unjudged() string {
	if p.forced {
		return `"color-contrast"`
	}
	return ""
}

// violations runs axe-core on the page in an isolated JavaScript world, which the page's scripts and Content-Security-Policy do not
// affect. It leaves out frames: axe-core is not loaded in them, and a message to a sandboxed frame that is still loading is an error in the
// console.
func (p *Page) violations() (found []violation) {
	p.t.Helper()
	p.disableScript(false)
	defer p.disableScript(true)
	script, err := axeScript()
	p.check(err)
	frame := call(p, page.GetFrameTree, cdp.Empty{}).FrameTree.Frame.ID
	world := call(p, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: frame, WorldName: "axe"})
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	in := func(e *runtime.EvaluateParams) { e.ContextID = world.ExecutionContextID }
	_, err = chromedp.Run(ctx, chromedp.Evaluate[bool](script+"\n;true", in))
	p.check(err)
	result, err := chromedp.Run(ctx, chromedp.Evaluate[string](`axe.run(document, {
		rules: Object.fromEntries([`+p.unjudged()+`].map(rule => [rule, {enabled: false}])),
		iframes: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"]
	}).then(r => JSON.stringify(r.violations))`, in, chromedp.EvalAwaitPromise))
	p.check(err)
	p.check(json.NewDecoder(strings.NewReader(result)).Decode(&found))
	return found
}
