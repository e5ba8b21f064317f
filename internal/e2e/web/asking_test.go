package web_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"latchkey.dev/internal/test/browser"
)

// While the PMS is asked, a dialog covers the tablet's page: it keeps the focus, and no key closes it.
func TestDialogWhileThePMSIsAsked(t *testing.T) {
	t.Parallel()
	script := base()
	script.asking = make(chan struct{})
	stage("confirmDetails")(script)
	address := script.serve(t)
	k := browser.Open(t, browser.WithSize(browser.Kiosk))
	for _, name := range []string{"lk-kiosk", "lk-visit"} {
		k.SetCookie(address, name, "x")
	}
	k.Visit(address + "/k/you")
	k.Click("Yes, check in")
	const open = `document.getElementById("asking").matches(":modal")`
	k.WaitUntil("the dialog", open)
	for _, key := range []string{kb.Escape, kb.Escape, kb.Tab} {
		k.Press(key)
		if !k.Holds(open) || k.Holds(`document.getElementById("main").contains(document.activeElement)`) {
			t.Fatalf("after %q the dialog is closed, or the focus is behind it", key)
		}
	}
	close(script.asking)
	k.WaitHeading("Is this still right?")
}
