package guest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// shownMessages is how many messages the page shows: the last ones.
const shownMessages = 100

// messagesView is the guest's conversation with the property.
type messagesView struct {
	List   []*guestv1.Message
	Last   int32  // the number of the last message
	Typed  string // a text that was not sent
	Closed bool   // the device found the booking at the property, and has no conversation
}

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

// messages reads the conversation, and keeps its last messages.
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

func (x *exchange) messagesPage(status int, v messagesView, wrongs ...wrong) error {
	p := x.stayPage("web.messages.title")
	p.Data, p.Wrong = v, wrongs
	return x.render(status, "messages", p)
}

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

// messageBeat is the interval in which an open page hears that its stream lives, so that proxies keep it.
const messageBeat = 20 * time.Second

// followMessages tells an open page of each new message, as server-sent events. The page then loads the messages.
func (s *site) followMessages(x *exchange) error {
	after, _ := strconv.ParseInt(cmp.Or(x.R.Header.Get("Last-Event-ID"), x.R.URL.Query().Get("after")), 10, 32)
	stream, err := s.api.Messages.WatchMessages(x.callContext(), &guestv1.WatchMessagesRequest{After: int32(max(after, 0))})
	if err != nil {
		return err
	}
	control := http.NewResponseController(x.W)
	_ = control.SetWriteDeadline(time.Time{})
	x.W.Header().Set("Content-Type", "text/event-stream")
	x.W.Header().Set("X-Accel-Buffering", "no")
	numbers, ended := make(chan int32), make(chan error, 1)
	go func() {
		for {
			got, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			select {
			case numbers <- got.GetData().GetNumber():
			case <-x.R.Context().Done():
				return
			}
		}
	}()
	beat := time.NewTicker(messageBeat)
	defer beat.Stop()
	for event := ": \n\n"; ; {
		if _, err := io.WriteString(x.W, event); err != nil {
			return nil
		}
		if control.Flush() != nil {
			return nil
		}
		select {
		case <-x.R.Context().Done():
			return nil
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			if f := s.Fault(err); f.Kind == fault.Unauthenticated || f.Kind == fault.Denied {
				_, _ = io.WriteString(x.W, "event: refused\ndata:\n\n") // otherwise the browser would connect again and again
			}
			return nil
		case <-beat.C:
			event = ": \n\n"
		case n := <-numbers:
			event = fmt.Sprintf("id: %d\ndata: %d\n\n", n, n)
		}
	}
}
