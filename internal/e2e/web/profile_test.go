package web_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// A guest keeps the answers for the next stay, finds them there, and keeps them while the stay is erased. Without a stay the guest opens them with a
// link that is mailed, and deletes them.
func TestGuestKeepsAndDeletesAProfile(t *testing.T) {
	t.Parallel()
	w := &world{World: e2etest.Open(t, func(c *sandbox.Config) { c.Play, c.Options.SweepsEvery = true, 50*time.Millisecond }), t: t}
	w.book("B-1", "1001", "R101", nil)
	first := w.link()
	p := browser.Open(t, browser.WithSize(browser.Narrow))
	p.Visit(first)
	p.Next("Open my stay", "Your stay")
	fillName(p, "Ada", "Lovelace")
	p.Visit(w.Base + "/g/stays/" + stayIn(p) + "/form/share")
	p.Click("Keep my answers for my next stay here")
	p.Next("Continue", "Your stay")
	p.Next("My data", "My data")
	p.WaitText("Ada Lovelace")
	p.Axe()

	w.book("B-2", "1002", "R102", nil)
	next := browser.Open(t, browser.WithSize(browser.Phone))
	next.Visit(w.linkOtherThan(first))
	next.Next("Open my stay", "Your stay")
	next.Visit(w.Base + "/g/stays/" + stayIn(next) + "/form/check")
	next.WaitText("Lovelace")

	p.Click("Keep them for my next stay")
	p.Click("Yes, erase my data. They cannot be restored.")
	p.Screenshot("profile-choice")
	p.Fits()
	p.Next("Erase my data", "Your data will be erased")
	w.Await("the erasure", func(ctx context.Context) (bool, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Address(), nil)
		if err != nil {
			return false, err
		}
		answer, err := w.HTTP.Do(r)
		if err != nil {
			return false, err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return strings.Contains(string(text), "Your data are erased"), err
	})
	p.Reload()
	p.WaitText("What the property keeps for your next stay, if anything, is not erased.")
	p.Next("Kept for my next stay", "Kept for my next stay")

	p.Tolerate("status of 422")
	p.Fill("Email address", "ada")
	p.Click("Send me a link")
	p.WaitText("Enter an email address")
	p.Axe()
	p.Fill("Email address", "Ada@example.com")
	p.Click("Send me a link")
	p.WaitText("a mail with a link is on its way")
	p.Screenshot("profile-asked")
	var link string
	w.Await("the link to the profile", func(ctx context.Context) (bool, error) {
		texts, err := w.mails(ctx, "profile", "Ada@example.com")
		if err != nil || len(texts) == 0 {
			return false, err
		}
		link = w.Base + linkPath.FindString(texts[0])
		return link != w.Base, nil
	})
	w.scan(link)
	p.Visit(link)
	p.Next("Show what is kept", "Kept for my next stay")
	p.WaitText("Lovelace")
	p.Axe()
	p.Fits()
	p.Screenshot("profile")
	other := browser.Open(t, browser.WithSize(browser.Phone))
	other.Visit(link)
	other.WaitText("This link was opened before")
	other.Next("Ask for a new link", "Kept for my next stay")
	p.Click("Delete what is kept")
	p.WaitText("has deleted the details")
	p.Visit(w.Base + "/g/profile")
	p.WaitText("Enter the email address of your booking")
	next.Visit(w.Base + "/g/stays/" + stayIn(next) + "/data")
	if next.Has("#profile") {
		t.Error("the next stay still shows a profile")
	}
}

var stayID = regexp.MustCompile(`/g/stays/([^/?]+)`)

// stayIn returns the id of the stay in the address of a page.
func stayIn(p *browser.Page) string { return stayID.FindStringSubmatch(p.Address())[1] }
