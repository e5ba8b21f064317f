package web_test

import (
	"context"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/test/browser"
)

// A message that comes while the page of its conversation is open is read as soon as a person uses the page, and not before.
func TestOpenConversationIsReadByAPerson(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", nil)
	ana := browser.Open(t, browser.WithSize(browser.Phone))
	ana.Visit(w.link())
	ana.Next("Open my stay", "Your stay")
	ana.Next("Messages", "Messages")
	write := func(text string) {
		t.Helper()
		ana.Fill("Your message", text)
		ana.Click("Send")
		ana.WaitText(text)
	}
	write("Where can I park?")
	api := propertyv1.NewMessageServiceClient(w.Public)
	unread := func(ctx context.Context) []*propertyv1.Conversation {
		t.Helper()
		found, err := api.ListConversations(w.Staff(ctx), &propertyv1.ListConversationsRequest{UnreadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		return found.GetData().GetList()
	}
	of := unread(t.Context())
	if len(of) != 1 {
		t.Fatalf("%d conversations are unread", len(of))
	}
	desk := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(desk)
	desk.Visit(w.Base + "/app/messages/" + of[0].GetGuestId())
	desk.WaitUntil("a stream", `document.querySelector(".live") !== null && !document.querySelector(".live").hidden`)
	if n := len(unread(t.Context())); n != 0 {
		t.Fatalf("%d conversations are unread after the page was opened", n)
	}
	write("I found it.")
	desk.WaitText("I found it.")
	if n := len(unread(t.Context())); n != 1 {
		t.Errorf("%d conversations are unread while no person uses the page, want 1", n)
	}
	desk.Press("Tab")
	w.Await("the message is read", func(ctx context.Context) (bool, error) { return len(unread(ctx)) == 0, nil })
	write("Thank you!")
	desk.WaitText("Thank you!")
	w.Await("the next message is read by the same person", func(ctx context.Context) (bool, error) { return len(unread(ctx)) == 0, nil })
}

// The page of a stay follows the lock of the room to which the PMS moves the stay.
func TestStayFollowsTheLockOfItsNewRoom(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.book("B-1", "1001", "R101", map[string]any{"state": "started"})
	p := browser.Open(t, browser.WithSize(browser.Desktop))
	w.signUp(p)
	found, err := propertyv1.NewReservationServiceClient(w.Public).ListReservations(w.Staff(t.Context()), &propertyv1.ListReservationsRequest{Query: "1001"})
	if err != nil || len(found.GetData().GetList()) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	p.Visit(w.Base + "/app/reservations/" + found.GetData().GetList()[0].GetId())
	p.WaitUntil("a stream", `document.querySelector(".live") !== null && !document.querySelector(".live").hidden`)
	p.Script(`globalThis.former = document.querySelector("[data-of]").dataset.of`)
	e2etest.PushReservation(t, w.World, "B-1", map[string]any{"roomId": "R102"})
	p.WaitText("Room 102")
	p.WaitUntil("the locks of the new room", `document.querySelector("[data-of]").dataset.of !== globalThis.former`)
}
