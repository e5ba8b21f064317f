package browser

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
)

// watcher collects what a page reports as wrong: exceptions, errors and warnings in the console, and violations of the
// Content-Security-Policy.
type watcher struct {
	sync.Mutex
	faults    []string
	tolerated []string
	crashes   int    // how often the process of the page crashed
	reloaded  bool   // the page was loaded again after its first crash
	end       func() // ends the present attempt of await, which a page without a process does not answer; may be nil
}

// onEvent records an event of the page if it is a fault.
func (w *watcher) onEvent(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			var parts []string
			for _, a := range e.Args {
				parts = append(parts, strings.Trim(string(a.Value), `"`)+a.Description)
			}
			w.add("console %s: %s", e.Type, strings.Join(parts, " "))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if o := e.ExceptionDetails.Exception; o != nil {
			text += " " + o.Description
		}
		w.add("exception: %s", text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			w.add("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *inspector.EventTargetCrashed:
		w.onCrash()
	case *audits.EventIssueAdded:
		if d := e.Issue.Details; d != nil && d.ContentSecurityPolicyIssueDetails != nil {
			c := d.ContentSecurityPolicyIssueDetails
			w.add("Content-Security-Policy: %s %s blocked %q", c.ViolatedDirective, c.ContentSecurityPolicyViolationType, c.BlockedURL)
		}
	}
}

// attempt records how a crash ends the present attempt of await.
func (w *watcher) attempt(end func()) {
	w.Lock()
	defer w.Unlock()
	w.end = end
}

// onCrash records that the process of the page crashed, and ends the present attempt.
func (w *watcher) onCrash() {
	w.Lock()
	defer w.Unlock()
	w.crashes++
	w.tolerated = append(w.tolerated, "error occurred when fetching the script") // the service worker that the process was loading
	if w.crashes > 1 {
		w.faults = append(w.faults, "the process of the page crashed again")
	}
	if w.end != nil {
		w.end()
	}
}

// needsReload reports whether the page crashed for the first time and was not loaded again. Chromium itself crashes once in a while, but a page
// that crashes again is at fault, and stays dead.
func (w *watcher) needsReload() bool {
	w.Lock()
	defer w.Unlock()
	if w.crashes != 1 || w.reloaded {
		return false
	}
	w.reloaded = true
	return true
}

// add records a fault.
func (w *watcher) add(format string, args ...any) {
	w.Lock()
	defer w.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// tolerate makes take ignore faults that contain a message.
func (w *watcher) tolerate(message string) {
	w.Lock()
	defer w.Unlock()
	w.tolerated = append(w.tolerated, message)
}

// take returns the recorded faults, without the tolerated ones, and clears the record.
func (w *watcher) take() []string {
	w.Lock()
	defer w.Unlock()
	faults := slices.DeleteFunc(w.faults, func(fault string) bool {
		return slices.ContainsFunc(w.tolerated, func(part string) bool { return strings.Contains(fault, part) })
	})
	w.faults = nil
	return faults
}

// report fails a test for each fault since the last call.
func (w *watcher) report(t testing.TB) {
	for _, fault := range w.take() {
		t.Error(fault)
	}
}

// For returns the same page for a subtest. Faults of the page from now on fail the subtest, and earlier ones the present test.
func (p *Page) For(t testing.TB) *Page {
	p.watcher.report(p.t)
	p.watcher.Lock()
	p.watcher.tolerated = nil
	p.watcher.Unlock()
	sub := *p
	sub.t = t
	t.Cleanup(func() { p.watcher.report(t) })
	return &sub
}

// Tolerate makes console messages that contain a text not fail the test from now on.
func (p *Page) Tolerate(message string) { p.watcher.tolerate(message) }

// Faults returns what the page reported as wrong since the last call. These faults no longer fail the test.
func (p *Page) Faults() []string { return p.watcher.take() }
