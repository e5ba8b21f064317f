package web_test

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// Every page with a state that changes shows the change while it is open: locks, a lock, bridges, notices, conflicts and messages. A page that
// loses its stream says since when, and shows what it missed when it is back.
func TestPagesAreLive(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	guest := browser.Open(t, browser.WithSize(browser.Phone))
	guest.Visit(w.link())
	guest.Next("Open my stay", "Your stay")
	locks := propertyv1.NewLockServiceClient(w.Public)
	listed, err := locks.ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	lock := listed.GetData().GetList()[0]

	way := w.newInternet()
	staff := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(staff)
	show := func(path string) *browser.Page {
		t.Helper()
		p := browser.Open(t, browser.SameDevice(staff), browser.WithSize(browser.Desktop))
		p.Visit(way.base + path)
		p.WaitUntil("a stream", `document.querySelector(".live") !== null && !document.querySelector(".live").hidden`)
		return p
	}
	one := show("/app/locks/" + lock.GetId())
	w.Site.SetBattery(lock.GetAddress(), 8)
	one.WaitText("Battery 8 %")
	one.Axe()
	one.Visit(way.base + "/app/account") // a browser opens at most six streams to a server

	bridges := show("/app/bridges")
	if _, err := propertyv1.NewBridgeServiceClient(w.Public).CreateBridge(w.Staff(t.Context()), &propertyv1.CreateBridgeRequest{Name: "Attic"}); err != nil {
		t.Fatal(err)
	}
	bridges.WaitText("Attic")
	bridges.Axe()
	bridges.Visit(way.base + "/app/account")

	spaces := show("/app/spaces")
	w.PMS.SetSpaces(append(sandbox.PMSSpaces(), sandbox.Space{ID: "R401", Type: "Room", Name: "Suite 401", IsPrivate: true, IsActive: true}))
	if _, err := propertyv1.NewIntegrationServiceClient(w.Public).ReadSpaces(w.Staff(t.Context()), &propertyv1.ReadSpacesRequest{Id: w.IntegrationID}); err != nil {
		t.Fatal(err)
	}
	spaces.WaitText("Suite 401")
	spaces.Visit(way.base + "/app/account")

	messages := show("/app/messages")
	guest.Next("Messages", "Messages")
	guest.Fill("Your message", "Is there a bath?")
	guest.Click("Send")
	messages.WaitText("Is there a bath?")
	messages.Click("Ada Lovelace")
	messages.WaitUntil("a stream", `document.querySelector("textarea") !== null && !document.querySelector(".live").hidden`)
	guest.Fill("Your message", "And a towel?")
	guest.Click("Send")
	messages.WaitText("And a towel?")
	messages.Visit(way.base + "/app/account")

	lists, notices := show("/app/locks"), show("/app/notices")
	for _, p := range []*browser.Page{lists, notices} {
		p.Tolerate("Failed to load resource")
		p.Tolerate("ERR_")
	}
	way.cut.Store(true)
	way.server.CloseClientConnections()
	notices.WaitText("Not live since")
	lists.WaitText("Not live since")
	w.Site.SetJammed(lock.GetAddress(), true)
	way.cut.Store(false)
	notices.WaitText("is jammed")
	lists.WaitText("Jammed")
	lists.Axe()
	lists.Screenshot("locks-live")
}
