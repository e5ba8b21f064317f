package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type messageCommands struct {
	remote `embed:""`

	List  messageList  `cmd:"" help:"List conversations with guests, the latest message first."`
	Show  messageShow  `cmd:"" help:"Show a conversation, and mark its messages as read."`
	Send  messageSend  `cmd:"" help:"Send a message to a guest."`
	Watch messageWatch `cmd:"" help:"Print conversations with new messages as they come, until Ctrl+C."`
}

type messageList struct {
	Unread bool   `help:"Only conversations with a message that staff have not read."`
	Search string `placeholder:"TEXT" help:"Only conversations with a message that contains this text."`
	Limit  int32  `default:"50" help:"At most this many, up to 200."`
}

// Help returns examples for --help.
func (messageList) Help() string {
	return `Examples:
  latchkey message list --unread
  latchkey message list --search "late arrival"`
}

// Run prints the latest conversations that match, at most --limit.
func (c *messageList) Run(ctx context.Context, r *remote, out *streams) error {
	return r.asStaff(ctx, out, func(s *session) error {
		all, err := c.load(s)
		return s.printAnswer(&propertyv1.ListConversationsResponse{Data: all}, err, func() {
			var rows [][]string
			for _, one := range all.GetList() {
				rows = append(rows, conversationRow(one))
			}
			s.printTable("No conversations.", []string{"guest", "name", "number", "room", "unread", "last", "from", "message"}, rows)
		})
	})
}

// load returns the latest conversations that match, at most --limit. It reads further pages, because a page of a search can be short or
// empty although later ones match.
func (c *messageList) load(s *session) (*propertyv1.ConversationList, error) {
	all := &propertyv1.ConversationList{}
	for {
		answer, err := propertyv1.NewMessageServiceClient(s.conn).ListConversations(s, &propertyv1.ListConversationsRequest{
			UnreadOnly: c.Unread, Query: c.Search, PageSize: c.Limit - int32(len(all.GetList())), PageToken: all.GetNextPageToken(),
		})
		if err != nil {
			return nil, err
		}
		page := answer.GetData()
		all.List, all.Unread, all.NextPageToken = append(all.GetList(), page.GetList()...), page.GetUnread(), page.GetNextPageToken()
		if all.GetNextPageToken() == "" || len(all.GetList()) >= int(c.Limit) {
			return all, nil
		}
	}
}

// conversationRow returns the row of a conversation in a table: the guest, and the last message.
func conversationRow(c *propertyv1.Conversation) []string {
	last := c.GetLast()
	return []string{c.GetGuestId(), dash(c.GetName()), c.GetPmsNumber(), spaceText(c.GetParentSpaceName(), c.GetSpaceName()), strconv.Itoa(int(c.GetUnread())), formatTime(last.GetSentAt()), last.GetSender(), strings.Join(strings.Fields(last.GetText()), " ")}
}

// guestArgument is the argument with which a command names a guest.
type guestArgument struct {
	Guest string `arg:"" name:"guest" help:"The id of a guest (gst_...), or the number, id or booker of a reservation: its main guest."`
}

// find returns the id of the guest that the argument names. If the argument names a reservation, find returns the id of the reservation,
// which the message service accepts for its main guest. It does not check that the id of a guest exists, and fails unless exactly one
// reservation matches.
func (a guestArgument) find(s *session) (guestID string, err error) {
	if strings.HasPrefix(a.Guest, "gst_") {
		return a.Guest, nil
	}
	x, err := s.findReservation(a.Guest)
	if err != nil {
		return "", err
	}
	return x.GetId(), nil
}

type messageShow struct {
	guestArgument `embed:""`
}

// Help returns examples for --help.
func (messageShow) Help() string {
	return `Examples:
  latchkey message show 4711
  latchkey message show gst_01jd3k5x9v2m8q4w6z7c1b0nfe`
}

// Run prints a conversation and marks its messages as read, for all staff. If the argument names a reservation, the conversation is that of
// its main guest.
func (c *messageShow) Run(ctx context.Context, r *remote, out *streams) error {
	return r.asStaff(ctx, out, func(s *session) error {
		guestID, err := c.find(s)
		if err != nil {
			return err
		}
		api := propertyv1.NewMessageServiceClient(s.conn)
		all := &propertyv1.ListMessagesResponse{Data: &propertyv1.MessageList{}}
		for after := int32(0); ; {
			answer, err := api.ListMessages(s, &propertyv1.ListMessagesRequest{GuestId: guestID, After: after, PageSize: 200})
			if err != nil {
				return err
			}
			list := answer.GetData().GetList()
			all.Data.List = append(all.Data.List, list...)
			if !answer.GetData().GetMore() || len(list) == 0 {
				break
			}
			after = list[len(list)-1].GetNumber()
		}
		if list := all.GetData().GetList(); len(list) > 0 {
			if _, err := api.ReadMessages(s, &propertyv1.ReadMessagesRequest{GuestId: guestID, Number: list[len(list)-1].GetNumber()}); err != nil {
				return err
			}
		}
		return s.printAnswer(all, nil, func() { s.printMessages(all.GetData().GetList()) })
	})
}

// printMessages prints the messages of a conversation in the order of list, which is oldest first.
func (s *session) printMessages(list []*propertyv1.Message) {
	if len(list) == 0 {
		s.say("No messages.")
	}
	for _, m := range list {
		from := m.GetSender()
		if m.GetAuthor() != "" {
			from += " (" + m.GetAuthor() + ")"
		}
		read := "not read"
		if m.GetReadAt() != nil {
			read = "read " + formatTime(m.GetReadAt())
		}
		s.say("%d. %s, %s, %s:", m.GetNumber(), from, formatTime(m.GetSentAt()), read)
		for line := range strings.SplitSeq(m.GetText(), "\n") {
			s.say("   %s", line)
		}
	}
}

type messageSend struct {
	guestArgument `embed:""`
	Text          string `arg:"" help:"The text, at most 2,000 characters."`
}

func (messageSend) Help() string {
	return `Example:
  latchkey message send 4711 "Your room is ready. See you soon."`
}

// Run sends a message of the staff to a guest, and marks the earlier messages of the guest as read. If the argument names a reservation,
// its main guest gets the message.
func (c *messageSend) Run(ctx context.Context, r *remote, out *streams) error {
	return r.asStaff(ctx, out, func(s *session) error {
		guestID, err := c.find(s)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewMessageServiceClient(s.conn).SendMessage(s, &propertyv1.SendMessageRequest{GuestId: guestID, Text: c.Text})
		return s.printAnswer(answer, err, func() { s.say("Sent as message %d.", answer.GetData().GetNumber()) })
	})
}

type messageWatch struct{}

func (messageWatch) Help() string {
	return `Example:
  latchkey message watch`
}

// Run prints the conversations with unread messages, then each that gets a new message from either side, until the user interrupts it or
// the server closes the stream without an error. A stop of the server is an error. It also prints a conversation that it has not printed
// yet if one of its messages is read.
func (c *messageWatch) Run(ctx context.Context, r *remote, out *streams) error {
	return r.asStaff(ctx, out, func(s *session) error {
		stream, err := propertyv1.NewMessageServiceClient(s.conn).WatchConversations(ctx, &propertyv1.WatchConversationsRequest{})
		if err != nil {
			return err
		}
		printed := map[string]int32{} // number of the last printed message, by guest
		for {
			answer, err := stream.Recv()
			switch {
			case ended(ctx, err):
				return nil
			case err != nil:
				return err
			}
			guestID, number := answer.GetData().GetGuestId(), answer.GetData().GetLast().GetNumber()
			if number <= printed[guestID] { // the change is only that messages were read
				continue
			}
			printed[guestID] = number
			row := conversationRow(answer.GetData())
			if err := s.printAnswer(answer, nil, func() { s.say("%s", strings.Join(row, "  ")) }); err != nil {
				return err
			}
		}
	})
}

// ended reports whether err, the error of a stream, is its regular end: the user interrupted the command, or the server closed the stream
// without an error or as canceled. It is false for nil.
func ended(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled)
}
