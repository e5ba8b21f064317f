package web_test

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// Guest and staff write to each other while the page is open: each message is there without loading the page.
func TestGuestAndStaffWrite(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Phone))
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	p.Next("Messages", "Messages")
	p.Axe()
	p.Fill("Your message", "Where can I park?")
	p.Click("Send")
	p.Wait("#messages li")
	api, staff := propertyv1.NewMessageServiceClient(w.Public), w.Staff(t.Context())
	found, err := api.ListConversations(staff, &propertyv1.ListConversationsRequest{UnreadOnly: true})
	if err != nil || len(found.GetData().GetList()) != 1 || found.GetData().GetList()[0].GetLast().GetText() != "Where can I park?" {
		t.Fatalf("staff read %v, %v", found, err)
	}
	p.Script("globalThis.sameDocument = true")
	p.Script(`globalThis.heard = [], globalThis.cuts = 0, globalThis.events = new EventSource(document.querySelector("[data-feed]").dataset.feed),
		events.onmessage = e => heard.push(e.lastEventId), events.onerror = () => cuts++`)
	p.WaitUntil("a stream of messages", `events.readyState === EventSource.OPEN`)
	p.Fill("Your message", "not sent yet")
	_, err = api.SendMessage(staff, &propertyv1.SendMessageRequest{GuestId: found.GetData().GetList()[0].GetGuestId(), Text: "Behind the house."})
	if err != nil {
		t.Fatal(err)
	}
	p.WaitText("Behind the house.")
	p.WaitText("Read ")
	p.WaitUntil("the stream's message", `heard.length > 0`)
	if !p.Holds(`heard.join() === "2" && cuts === 0`) {
		t.Error("the stream does not deliver the one new message, or is cut")
	}
	if !p.Holds("globalThis.sameDocument === true") || p.Value("Your message") != "not sent yet" {
		t.Error("the page loaded again, or lost what the guest typed")
	}
	_, err = api.SendMessage(staff, &propertyv1.SendMessageRequest{GuestId: found.GetData().GetList()[0].GetGuestId(), Text: "מאחורי הבית."})
	if err != nil {
		t.Fatal(err)
	}
	p.WaitText("מאחורי הבית.")
	if !p.Holds(`getComputedStyle(document.querySelector("#messages li:last-child p[dir]")).direction === "rtl"`) {
		t.Error("a text in Hebrew does not run from right to left")
	}
	p.Axe()
	p.Fits()
	p.Screenshot("messages")
	p.Next("Back", "Your stay")
	if p.Has(".chip.todo") && p.Holds(`document.body.innerText.includes("1 new")`) {
		t.Error("a message that the guest has read is new")
	}
}
