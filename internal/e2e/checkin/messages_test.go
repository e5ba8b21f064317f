package checkin

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/gen/latchkey/guest/v1/guestv1connect"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// Guest and staff write to each other. Each side receives a message on an open stream, in order and once, also over Connect, and a stream goes
// on where another one ended.
func TestMessages(t *testing.T) {
	t.Parallel()
	w := open(t)
	g := w.bind(w.book("B-1", "1001", "R101"))
	own, desk := guestv1.NewMessageServiceClient(w.Public), propertyv1.NewMessageServiceClient(w.Public)
	staff := w.Staff(t.Context())
	write := func(text string) {
		t.Helper()
		_, err := own.SendMessage(g.as, &guestv1.SendMessageRequest{Text: text})
		w.must(err)
	}
	write("Is there parking?")
	watch, err := desk.WatchConversations(staff, &propertyv1.WatchConversationsRequest{})
	w.must(err)
	hears := func(unread int32, text string) *propertyv1.Conversation {
		t.Helper()
		for {
			got, err := watch.Recv()
			w.must(err)
			if c := got.GetData(); c.GetUnread() == unread && c.GetLast().GetText() == text { // a state may come twice
				return c
			}
		}
	}
	c := hears(1, "Is there parking?")
	if c.GetName() != "Ada Lovelace" || c.GetPmsNumber() != "1001" || c.GetSpaceName() != "Room 101" || c.GetReservationId() != g.stay {
		t.Errorf("staff read %v", c)
	}
	for _, named := range []string{c.GetGuestId(), g.stay} {
		read, err := desk.ListMessages(staff, &propertyv1.ListMessagesRequest{GuestId: named})
		w.must(err)
		if of := read.GetConversation(); of.GetGuestId() != c.GetGuestId() || of.GetReservationId() != g.stay || of.GetName() != "Ada Lovelace" || of.GetPmsNumber() != "1001" {
			t.Errorf("the messages of %s belong to %v", named, of)
		}
	}
	write("For two cars.")
	hears(2, "For two cars.")

	// The guest's phone has a stream over gRPC, and a page has one over Connect.
	ctx, leave := context.WithCancel(g.as)
	phone, err := own.WatchMessages(ctx, &guestv1.WatchMessagesRequest{After: 1})
	w.must(err)
	page, err := guestv1connect.NewMessageServiceClient(http.DefaultClient, w.Base).WatchMessages(bearer(t.Context(), g.token), &guestv1.WatchMessagesRequest{})
	w.must(err)
	defer func() { _ = page.Close() }()
	phoneHears := func(number int32, text string) {
		t.Helper()
		got, err := phone.Recv()
		if err != nil || got.GetData().GetNumber() != number || got.GetData().GetText() != text {
			t.Fatalf("the phone hears %v, %v; want %d %s", got, err, number, text)
		}
	}
	pageHears := func(number int32) {
		t.Helper()
		if !page.Receive() || page.Msg().GetData().GetNumber() != number {
			t.Fatalf("the page hears %v, %v; want %d", page.Msg(), page.Err(), number)
		}
	}
	phoneHears(2, "For two cars.")
	pageHears(1)
	pageHears(2)
	answer := func(text string) e2etest.Outcome {
		t.Helper()
		o, err := w.Do(t.Context(), w.Owner(), http.MethodPost, "/v1/property/conversations/"+c.GetGuestId()+"/messages", map[string]any{"text": text})
		w.must(err)
		return o
	}
	if o := answer("Yes, behind the house.\nIt is free."); !o.OK() {
		t.Fatal(o)
	}
	phoneHears(3, "Yes, behind the house.\nIt is free.")
	pageHears(3)
	hears(0, "Yes, behind the house.\nIt is free.") // who answers has read
	leave()
	answer("See you soon.")
	phone, err = own.WatchMessages(g.as, &guestv1.WatchMessagesRequest{After: 3})
	w.must(err)
	phoneHears(4, "See you soon.")

	listed, err := own.ListMessages(g.as, &guestv1.ListMessagesRequest{})
	w.must(err)
	var lines []string
	for _, m := range listed.GetData().GetList() {
		lines = append(lines, fmt.Sprint(m.GetNumber(), m.GetSender(), m.GetReadAt() != nil))
	}
	if got, want := fmt.Sprint(lines, listed.GetData().GetUnread()), "[1guesttrue 2guesttrue 3propertyfalse 4propertyfalse] 2"; got != want {
		t.Errorf("the guest has %s, want %s", got, want)
	}
	_, err = own.ReadMessages(g.as, &guestv1.ReadMessagesRequest{Number: 4})
	w.must(err)
	found, err := desk.ListConversations(staff, &propertyv1.ListConversationsRequest{Query: "BEHIND the house"})
	w.must(err)
	if list := found.GetData().GetList(); len(list) != 1 || list[0].GetLast().GetReadAt() == nil {
		t.Errorf("staff find %v", list)
	}

	// A session that ends takes its streams along.
	_, err = guestv1.NewStayServiceClient(w.Public).EndSession(g.as, &guestv1.EndSessionRequest{})
	w.must(err)
	if _, err := own.SendMessage(g.as, &guestv1.SendMessageRequest{Text: "late"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a session that has ended writes: %v", err)
	}
}

// bearer returns the context of a call over Connect as a guest's session.
func bearer(ctx context.Context, token string) context.Context {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set("Authorization", "Bearer "+token)
	return ctx
}

// A conversation belongs to one guest and one property: not to a person with two facts, a companion, or the staff of another property.
func TestMessagesArePrivate(t *testing.T) {
	t.Parallel()
	w := open(t, anyPartner)
	g := w.bind(w.book("B-1", "1001", "R101"))
	own, desk := guestv1.NewMessageServiceClient(w.Public), propertyv1.NewMessageServiceClient(w.Public)
	_, err := own.SendMessage(g.as, &guestv1.SendMessageRequest{Text: "Is there parking?"})
	w.must(err)
	forms := guestv1.NewFormServiceClient(w.Public)
	_, err = forms.SetParty(g.as, &guestv1.SetPartyRequest{AdultCount: 2})
	w.must(err)
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	_, err = forms.InviteCompanion(g.as, &guestv1.InviteCompanionRequest{GuestId: stay.GetData().GetGuests()[1].GetId(), Email: "companion@example.com"})
	w.must(err)
	companion := w.bind(w.linkMailedTo("companion@example.com"))
	listed, err := own.ListMessages(companion.as, &guestv1.ListMessagesRequest{})
	w.must(err)
	if len(listed.GetData().GetList()) != 0 {
		t.Errorf("a companion reads %v", listed)
	}
	_, err = own.SendMessage(companion.as, &guestv1.SendMessageRequest{Text: "I come later."})
	w.must(err)
	all, err := desk.ListConversations(w.Staff(t.Context()), &propertyv1.ListConversationsRequest{UnreadOnly: true})
	w.must(err)
	if all.GetData().GetUnread() != 2 || len(all.GetData().GetList()) != 2 {
		t.Errorf("staff have %v", all)
	}
	other := w.OpenProperty()
	guestID := stay.GetData().GetGuests()[0].GetId()
	if _, err := desk.ListMessages(other.Staff(t.Context()), &propertyv1.ListMessagesRequest{GuestId: guestID}); status.Code(err) != codes.NotFound {
		t.Errorf("staff of another property read a conversation: %v", err)
	}
	if found, err := desk.ListConversations(other.Staff(t.Context()), &propertyv1.ListConversationsRequest{}); err != nil || len(found.GetData().GetList()) != 0 {
		t.Errorf("staff of another property have %v, %v", found, err)
	}

	for name, c := range map[string]struct {
		as   context.Context
		want codes.Code
	}{"a caller without a credential": {t.Context(), codes.Unauthenticated}, "staff": {w.Staff(t.Context()), codes.Unauthenticated}} {
		stream, err := own.WatchMessages(c.as, &guestv1.WatchMessagesRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != c.want {
			t.Errorf("%s watches a guest's messages: %v", name, err)
		}
	}
	stream, err := desk.WatchConversations(g.as, &propertyv1.WatchConversationsRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("a guest watches the property's conversations: %v", err)
	}

	tablet := e2etest.EnrolTablet(t, w.World, "Messages")
	early := w.guest(tablet.GuestSession(t, "1001", "Lovelace"))
	if _, err := own.ListMessages(early.as, &guestv1.ListMessagesRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a person with two facts reads the messages before the check-in: %v", err)
	}
	alone := w.bind(w.book("B-2", "1002", "R102"))
	alone.prepare()
	alone.press(true)
	alone.awaits("checkedIn")
	stranger := w.guest(tablet.GuestSession(t, "1002", "Lovelace"))
	if _, err := own.ListMessages(stranger.as, &guestv1.ListMessagesRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a person with two facts reads the messages: %v", err)
	}
}
