package guest

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// shownMessages is how many messages the page shows. Older ones are left out.
const shownMessages = 100

// messagesView is the guest's conversation with the property.
type messagesView struct {
	List   []*guestv1.Message
	Last   int32  // the number of the last message
	Typed  string // a text that the API refused
	Closed bool   // the guest found the booking with number and name at the property: such a device has no conversation
}

// showMessages handles the page of the conversation, and marks its messages as read.
func (s *site) showMessages(x *exchange) error {
	v, err := x.messages()
	if err != nil {
		return err
	}
	if v.Last > 0 {
		if _, err := s.api.Messages.ReadMessages(x.callContext(), &guestv1.ReadMessagesRequest{Number: v.Last}); err != nil {
			return err
		}
	}
	return x.messagesPage(http.StatusOK, v)
}

// messages loads the conversation with its last messages.
func (x *exchange) messages() (v messagesView, err error) {
	for {
		got, err := x.site.api.Messages.ListMessages(x.callContext(), &guestv1.ListMessagesRequest{After: v.Last, PageSize: 200})
		if err != nil {
			if f := x.site.Fault(err); f.Kind == fault.Denied {
				return messagesView{Closed: true}, nil
			}
			return v, err
		}
		list := got.GetData().GetList()
		v.List = append(v.List, list...)
		v.List = v.List[max(0, len(v.List)-shownMessages):]
		if len(list) > 0 {
			v.Last = list[len(list)-1].GetNumber()
		}
		if !got.GetData().GetMore() || len(list) == 0 {
			return v, nil
		}
	}
}

// messagesPage renders the conversation. wrongs are the lines of its error summary.
func (x *exchange) messagesPage(status int, v messagesView, wrongs ...wrong) error {
	p := x.stayPage("web.messages.title")
	p.Data, p.Wrong = v, wrongs
	return x.render(status, "messages", p)
}

// sendMessage handles the form with a new message to the property.
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
	v, err := x.messages()
	if err != nil {
		return err
	}
	v.Typed = text
	return x.messagesPage(http.StatusUnprocessableEntity, v, wrong{ID: "f-text", Text: x.words(x.flow.Stay.GetProperty()).T(kind)})
}

// followMessages handles the event stream of the open conversation. It sends an event for each new message, and the page then reloads its
// messages.
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
