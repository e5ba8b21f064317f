package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
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
	p.Script("globalThis.sameDocument = true, globalThis.first = document.querySelector('#messages li p[dir]')")
	p.Script(`globalThis.received = [], globalThis.cuts = 0, globalThis.events = new EventSource(document.querySelector("[data-feed]").dataset.feed),
		events.onmessage = e => received.push(e.lastEventId), events.onerror = () => cuts++`)
	p.WaitUntil("a stream of messages", `events.readyState === EventSource.OPEN`)
	p.Fill("Your message", "not sent yet")
	_, err = api.SendMessage(staff, &propertyv1.SendMessageRequest{GuestId: found.GetData().GetList()[0].GetGuestId(), Text: "Behind the house."})
	if err != nil {
		t.Fatal(err)
	}
	p.WaitText("Behind the house.")
	p.WaitText("Read ")
	p.WaitUntil("the stream's message", `received.length > 0`)
	if !p.Holds(`received.join() === "2" && cuts === 0`) {
		t.Error("the stream does not deliver the one new message, or is cut")
	}
	if !p.Holds("globalThis.first.isConnected") {
		t.Error("the page replaces the former messages: a screen reader reads them again")
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

// A guest's page receives messages again after a proxy in front of the service answered for it with an error.
func TestMessagesAfterAnErrorOfAProxy(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	target, err := url.Parse(w.Base)
	if err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	feeds, refused := make(chan struct{}, 100), make(chan struct{}, 100)
	through := httputil.NewSingleHostReverseProxy(target)
	through.FlushInterval = -1
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		streams := r.Header.Get("Accept") == "text/event-stream"
		switch {
		case broken.Load():
			rw.WriteHeader(http.StatusBadGateway)
			if streams {
				refused <- struct{}{}
			}
			return
		case streams:
			feeds <- struct{}{}
		}
		through.ServeHTTP(rw, r)
	}))
	t.Cleanup(proxy.Close)
	p := browser.Open(t, browser.WithSize(browser.Phone))
	p.Tolerate("status of 502")
	p.Tolerate("net::ERR_")
	p.Visit(strings.Replace(w.link(), w.Base, proxy.URL, 1))
	p.Next("Open my stay", "Your stay")
	p.Next("Messages", "Messages")
	p.Fill("Your message", "Where can I park?")
	p.Click("Send")
	p.Wait("#messages li")
	api, staff := propertyv1.NewMessageServiceClient(w.Public), w.Staff(t.Context())
	found, err := api.ListConversations(staff, &propertyv1.ListConversationsRequest{UnreadOnly: true})
	if err != nil || len(found.GetData().GetList()) != 1 {
		t.Fatalf("staff read %v, %v", found, err)
	}
	<-feeds
	broken.Store(true)
	proxy.CloseClientConnections()
	<-refused
	_, err = api.SendMessage(staff, &propertyv1.SendMessageRequest{GuestId: found.GetData().GetList()[0].GetGuestId(), Text: "Behind the house."})
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(false)
	p.WaitText("Behind the house.")
}

// A guest and staff read the older messages of a long conversation, page by page. A new message moves one from the newest page to the older page, also on
// an open page, and no page with older messages becomes the newest.
func TestOlderMessages(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	p := browser.Open(t, browser.WithSize(browser.Phone))
	p.Visit(w.link())
	p.Next("Open my stay", "Your stay")
	session := ""
	for _, c := range p.Cookies() {
		if strings.HasPrefix(c.Name, "lk-stay-") {
			session = c.Value
		}
	}
	asGuest, staff := e2etest.AsGuest(t.Context(), session), w.Staff(t.Context())
	ofGuest, ofStaff := guestv1.NewMessageServiceClient(w.Public), propertyv1.NewMessageServiceClient(w.Public)
	send := func(n int, guest string) {
		t.Helper()
		var err error
		if text := fmt.Sprintf("Message %d.", n); guest == "" {
			_, err = ofGuest.SendMessage(asGuest, &guestv1.SendMessageRequest{Text: text})
		} else {
			_, err = ofStaff.SendMessage(staff, &propertyv1.SendMessageRequest{GuestId: guest, Text: text})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send(1, "")
	found, err := ofStaff.ListConversations(staff, &propertyv1.ListConversationsRequest{})
	if err != nil || len(found.GetData().GetList()) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	guest := found.GetData().GetList()[0].GetGuestId()
	for n := 2; n <= 103; n++ { // an hour has 60 messages of each side
		send(n, map[bool]string{true: guest}[n > 52])
	}
	p.Next("Messages", "Messages")
	p.Axe()
	p.Fits()
	p.Screenshot("messages-newest")
	text := `document.querySelector("#messages li:first-child p[dir]").textContent`
	if !p.Holds(text + ` === "Message 4."`) {
		t.Errorf("the page begins with another message: %s", p.Text())
	}
	p.Script(`globalThis.last = document.querySelector("#messages li:last-child p[dir]")`)
	send(104, guest)
	p.WaitText("Message 104.")
	if !p.Holds(text + ` === "Message 5." && globalThis.last.isConnected && globalThis.last.textContent === "Message 103."`) {
		t.Error("the page replaces its messages to show a new one")
	}
	p.Click("Older messages")
	p.WaitText("Newest messages")
	p.Axe()
	p.Fits()
	p.Screenshot("messages-older")
	send(105, guest)
	if p.Has("#messages") || p.Has("[data-feed]") || !p.Holds(`document.querySelectorAll(".messages li").length === 4`) {
		t.Errorf("the page with older messages: %s", p.Text())
	}
	p.Click("Newest messages")
	p.WaitText("Message 105.")

	desk := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(desk)
	desk.Visit(w.Base + "/app/messages/" + guest)
	desk.WaitText("Message 105.")
	desk.Axe()
	desk.Screenshot("staff-newest")
	desk.Click("Older messages")
	desk.WaitText("Newest messages")
	desk.Axe()
	desk.Fits()
	desk.Screenshot("staff-older")
	send(106, guest)
	if !desk.Holds(`document.querySelectorAll("#messages li").length === 5`) {
		t.Errorf("the page with older messages: %s", desk.Text())
	}
}
