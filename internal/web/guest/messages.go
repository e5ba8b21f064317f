package guest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// shownMessages is how many messages a page shows.
const shownMessages = 100

// messagesView is the guest's conversation with the property.
type messagesView struct {
	List   []*guestv1.Message // oldest first
	Last   int32              // the number of the newest message of List; 0 if List is empty
	Older  string             // URL of the page with older messages, or ""
	Newest string             // URL of the page with the newest messages, or "" on that page
	Typed  string             // a text that the API refused
	Closed bool               // the guest found the booking with number and name at the property: such a device has no conversation
}

// showMessages handles the page of the conversation. The page with the newest messages marks them as read.
func (s *site) showMessages(x *exchange) error {
	token := x.R.URL.Query().Get("page")
	v, err := x.messages(token)
	switch {
	case err != nil:
		return err
	case token != "" && len(v.List) == 0: // the messages of this page were deleted
		return x.Redirect(x.flow.Below("messages"))
	case token == "" && slices.ContainsFunc(v.List, func(m *guestv1.Message) bool { return m.GetSender() == "property" && m.GetReadAt() == nil }):
		if _, err := s.api.Messages.ReadMessages(x.callContext(), &guestv1.ReadMessagesRequest{Number: v.Last}); err != nil {
			return err
		}
	}
	return x.messagesPage(http.StatusOK, v)
}

// messages loads a page of the conversation: the newest messages, or those of a page token. For a device without a conversation, v is
// Closed.
func (x *exchange) messages(token string) (v messagesView, err error) {
	got, err := x.site.api.Messages.ListMessages(x.callContext(), &guestv1.ListMessagesRequest{NewestFirst: true, PageToken: token, PageSize: shownMessages})
	if err != nil {
		if f := x.site.Fault(err); f.Kind == fault.Denied {
			return messagesView{Closed: true}, nil
		}
		return v, err
	}
	first := x.flow.Below("messages")
	if token != "" {
		v.Newest = first
	}
	if next := got.GetData().GetNextPageToken(); next != "" {
		v.Older = first + "?" + url.Values{"page": {next}}.Encode()
	}
	if v.List = got.GetData().GetList(); len(v.List) > 0 {
		v.Last = v.List[0].GetNumber()
	}
	slices.Reverse(v.List)
	return v, nil
}

// messagesPage renders the conversation. wrongs are the lines of its error summary.
func (x *exchange) messagesPage(status int, v messagesView, wrongs ...wrong) error {
	p := x.stayPage("web.messages.title")
	p.Data, p.Wrong = v, wrongs
	return x.render(status, "messages", p)
}

// sendMessage handles the form with a new message to the property. An empty text sends nothing. A text that is too long, or one of too
// many, is shown again with an error.
func (s *site) sendMessage(x *exchange) error {
	text := x.Value("text")
	if text == "" {
		return x.Redirect(x.flow.Below("messages"))
	}
	_, err := s.api.Messages.SendMessage(x.callContext(), &guestv1.SendMessageRequest{Text: text})
	if err == nil {
		return x.Redirect(x.flow.Below("messages") + "#end-of-messages")
	}
	kind := ""
	switch f := s.Fault(err); f.Kind {
	case fault.Invalid:
		kind = "web.messages.tooLong"
	case fault.Exhausted:
		kind = "web.messages.tooMany"
	default:
		return err
	}
	v, err := x.messages("")
	if err != nil {
		return err
	}
	v.Typed = text
	return x.messagesPage(http.StatusUnprocessableEntity, v, wrong{ID: "f-text", Text: x.words(x.flow.Stay.GetProperty()).T(kind)})
}

// followMessages handles the event stream of the open conversation. It sends an event for each new message after the last one that the page
// knows. The page then reloads its messages.
func (s *site) followMessages(x *exchange) error {
	after, _ := strconv.ParseInt(cmp.Or(x.R.Header.Get("Last-Event-ID"), x.R.URL.Query().Get("after")), 10, 32)
	stream, err := s.api.Messages.WatchMessages(x.callContext(), &guestv1.WatchMessagesRequest{After: int32(max(after, 0))})
	if err != nil {
		return err
	}
	return x.Follow(func() (string, error) {
		got, err := stream.Recv()
		n := got.GetData().GetNumber()
		return fmt.Sprintf("id: %d\ndata: %d\n\n", n, n), err
	})
}
