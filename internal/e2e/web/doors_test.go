package web_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// An owner looks for a lock, sees what is known about it, puts it on no door and names it, opens it with a reason, and connects a bridge.
func TestStaffSeesLocks(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}, {size: browser.Phone, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			show := func(name string) {
				p.Wait("main[data-ready] h1")
				p.Axe()
				p.Fits()
				p.Screenshot(name)
			}
			p.Visit(w.Base + "/app/locks")
			p.KeyboardWalk()
			if m.language == "" {
				p.WaitText("30 slots free")
			}
			show("locks")
			p.Visit(w.Base + "/app/locks?q=nothing-has-this-name")
			p.Wait(".empty")
			show("locks-none")
			p.Visit(w.Base + "/app/locks")
			p.Script(`document.querySelector("tbody th a").click()`)
			p.Wait("main dl.facts")
			p.KeyboardWalk()
			show("lock")
			if m.language == "" {
				p.Click("Open now")
				p.WaitText("Say why you open the door")
				show("lock-why")
				p.Fill("Reason", "The guest forgot the code")
				p.Click("Open now")
				p.WaitText("Opened: the lock confirmed it.")
				p.Fill("Name", "Lock of the cellar")
				p.Click("Save the name")
				p.WaitText("The lock has its new name.")
				p.Choose("Door", "Not on a door")
				p.Click("Put on this door")
				p.WaitText("The door is changed")
				p.WaitText("The lock is on no door")
			}
			p.Visit(w.Base + "/app/bridges")
			show("bridges")
			p.Visit(w.Base + "/app/bridges/new")
			show("bridge-new")
			if m.language != "" {
				return
			}
			p.Click("Make a join code")
			p.Wait(".is-wrong")
			p.Axe()
			p.Fill("Name", "Back office")
			p.Next("Make a join code", "Join code of Back office")
			show("join")
			if code := p.QR(); !strings.HasPrefix(code, "lkj_") || !strings.Contains(p.Text(), code) {
				t.Error("the QR code is not the join code of the page")
			}
			p.Next("Has it connected?", "Bridge Back office")
			p.WaitText("has not joined yet")
			p.KeyboardWalk()
			show("bridge")
			p.Click("Revoke this bridge")
			p.Next("Revoke it", "Bridges")
			p.WaitText("The bridge is revoked.")
			show("bridges-revoked")
		})
	}
}

// An owner reads what needs attention, answers a guest, makes a code, shows its PIN with a reason, revokes it, and verifies the audit log.
func TestStaffDesk(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, scriptOff: true}, {size: browser.Desktop}, {size: browser.Tablet, dark: true}, {size: browser.Phone, dark: true}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			w.book("B-1", "1001", "R101", nil)
			p := browser.Open(t, m.options()...)
			p.Tolerate("status of 422")
			w.signUp(p)
			if m.language != "" {
				p.SetCookie(w.Base, "lk-lang", m.language)
			}
			show := func(path, name string) {
				if path != "" {
					p.Visit(w.Base + path)
				}
				p.Wait("main[data-ready] h1")
				p.Axe()
				p.Fits()
				p.Screenshot(name)
			}
			for _, name := range []string{"notices", "messages", "codes", "codes/new", "audit"} {
				show("/app/"+name, strings.ReplaceAll(name, "/", "-"))
			}
			if m.language != "" {
				return
			}
			w.guestWrites("Where can I park?\nWe come by car.")
			show("/app/messages", "messages-new")
			p.WaitText("1 new")
			p.Next("Ada Lovelace", "Messages with Ada Lovelace · #1001")
			p.Fill("Answer", "Behind the house.")
			p.Click("Send")
			p.WaitText("Behind the house.")
			p.KeyboardWalk()
			show("", "conversation")
			w.bookUnknownRoom()
			show("/app/notices", "notices-new")
			p.Click("Mark all as read")
			p.WaitText("Marked as read.")
			show("/app/notices?show=all", "notices-all")
			p.Script(`document.querySelector("tbody a.button").click()`)
			p.WaitHeading("Ada Lovelace · #1002")
			p.Visit(w.Base + "/app/codes/new")
			p.Click("Create the code")
			p.WaitText("Choose the kind")
			show("", "code-wrong")
			p.Click("One-time code ends after its first use")
			p.Fill("Who uses it", "Plumber")
			p.Click("Room 101")
			p.Next("Create the code", "Code of Plumber")
			p.KeyboardWalk()
			show("", "code")
			p.Fill("Reason", "The plumber is at the door")
			p.Click("Show the PIN")
			p.Wait(".pin")
			show("", "code-pin")
			p.Next("Hide it", "Code of Plumber")
			p.Click("Revoke this code")
			p.Click("Revoke it")
			p.WaitText("The code is revoked.")
			show("/app/codes?ended=yes", "codes-ended")
			p.WaitText("Plumber")
			show("/app/audit?verify=yes", "audit-verified")
			p.WaitText("The chain verifies")
			p.WaitText("The plumber is at the door")
		})
	}
}

// guestWrites sends a message as the guest of the only booking.
func (w *world) guestWrites(text string) {
	w.t.Helper()
	g := browser.Open(w.t, browser.WithSize(browser.Phone))
	g.Visit(w.link())
	g.Next("Open my stay", "Your stay")
	g.Next("Messages", "Messages")
	g.Fill("Your message", text)
	g.Click("Send")
	g.Wait("#messages li")
}

// bookUnknownRoom sends a started stay in a room that the listing of the PMS does not have, and waits for the notice about it. Before the
// hour of check-in there is a second one, about the arrival.
func (w *world) bookUnknownRoom() {
	w.t.Helper()
	w.book("B-2", "1002", "R999", map[string]any{"state": "started"})
	w.Await("the notice", func(ctx context.Context) (bool, error) {
		found, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(ctx), &propertyv1.ListNoticesRequest{})
		about := func(n *propertyv1.Notice) bool { return n.GetKind() == "spaceUnknown" }
		return slices.ContainsFunc(found.GetData().GetList(), about), err
	})
}
