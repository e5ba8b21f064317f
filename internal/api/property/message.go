package property

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/reservation"
)

// Messages is the staff's side of the conversations of a property with its guests.
type Messages struct {
	propertyv1.UnimplementedMessageServiceServer
	Deps
	Feed *conversation.Feed
}

// watchBeat is the interval in which a stream reads again without a wake-up, which can be lost between nodes.
const watchBeat = 20 * time.Second

// ListConversations lists a page of conversations, the latest message first, with the number of unread messages of all guests. With a
// query, a page can be short or empty although there is a next one.
func (s *Messages) ListConversations(ctx context.Context, r *propertyv1.ListConversationsRequest) (*propertyv1.ListConversationsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if r.GetPageToken() != "" && !id.Valid(id.Message, r.GetPageToken()) {
		return nil, fault.BadPageToken()
	}
	size := int(r.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	view := s.DB.View(ctx)
	found, next, err := conversation.Find(view, s.Keys, propertyID, conversation.Search{UnreadOnly: r.GetUnreadOnly(), Query: r.GetQuery(), Before: r.GetPageToken(), Limit: size})
	if err != nil {
		return nil, err
	}
	unread, err := conversation.AllUnread(view, propertyID)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.ConversationList{NextPageToken: next, Unread: int32(unread)}
	for _, c := range found {
		m, err := s.conversationMessage(view, c)
		if err != nil {
			return nil, err
		}
		list.List = append(list.List, m)
	}
	return &propertyv1.ListConversationsResponse{Data: list}, nil
}

// ListMessages lists a page of the messages of a conversation. It does not mark them as read. A stay without a guest has no messages, which
// is no error.
func (s *Messages) ListMessages(ctx context.Context, r *propertyv1.ListMessagesRequest) (*propertyv1.ListMessagesResponse, error) {
	view := s.DB.View(ctx)
	k, err := conversationOf(ctx, view, r.GetGuestId(), nil)
	if err != nil {
		return nil, err
	}
	list, next, err := conversation.ListPage(view, s.Keys, k, conversation.Page{
		After: int(r.GetAfter()), NewestFirst: r.GetNewestFirst(), Token: r.GetPageToken(), Size: cmp.Or(int(r.GetPageSize()), defaultPage),
	})
	if err != nil {
		return nil, err
	}
	out := &propertyv1.MessageList{More: next != "", NextPageToken: next}
	for _, m := range list {
		out.List = append(out.List, messageMessage(m))
	}
	of, err := s.introduce(view, k)
	if err != nil {
		return nil, err
	}
	if err := s.nameAuthors(view, k.PropertyID, out.List...); err != nil {
		return nil, err
	}
	return &propertyv1.ListMessagesResponse{Data: out, Conversation: of}, nil
}

var errErasedGuests = fault.New(fault.NotFound, fault.GuestNotFound, "the data of the guests of this stay were erased on request: no message reaches them")

// SendMessage sends a message to a guest, and marks the earlier messages of the guest as read. For a reservation that no guest has opened,
// it stores the main guest. It fails if the guests' data were erased, and beyond the limits of a conversation: see [conversation.Send].
func (s *Messages) SendMessage(ctx context.Context, r *propertyv1.SendMessageRequest) (*propertyv1.SendMessageResponse, error) {
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.SendMessageResponse, error) {
		k, err := conversationOf(ctx, tx, r.GetGuestId(), func(propertyID string) error {
			_, err := guest.LoadParty(tx, s.Keys, propertyID, r.GetGuestId())
			return err
		})
		if err != nil {
			return nil, err
		}
		if k.GuestID == "" {
			return nil, errErasedGuests
		}
		who, _ := actor.From(ctx)
		author, err := staffName(tx, who)
		if err != nil {
			return nil, err
		}
		m, err := conversation.Send(tx, s.Keys, conversation.Message{Key: k, Sender: conversation.Property, Author: author, Text: r.GetText()})
		if err != nil {
			return nil, err
		}
		out := messageMessage(m)
		return &propertyv1.SendMessageResponse{Data: out}, s.nameAuthors(tx, k.PropertyID, out)
	})
}

// ReadMessages marks messages of a guest as read by the property, up to and with the message that has the number of the request. If it
// marks any, it also resolves the notice about unread messages, even if later ones are unread.
func (s *Messages) ReadMessages(ctx context.Context, r *propertyv1.ReadMessagesRequest) (*propertyv1.ReadMessagesResponse, error) {
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.ReadMessagesResponse, error) {
		k, err := conversationOf(ctx, tx, r.GetGuestId(), nil)
		if err != nil {
			return nil, err
		}
		return &propertyv1.ReadMessagesResponse{}, conversation.MarkRead(tx, k, conversation.Property, int(r.GetNumber()))
	})
}

// conversationStream is a stream of the conversations of a property to one client.
type conversationStream struct {
	grpc.ServerStreamingServer[propertyv1.WatchConversationsResponse]
	s          *Messages
	propertyID string
	sent       map[string]conversationState // last sent state, by guest id
}

// conversationState is the part of a conversation that changes. A stream sends a conversation again only if its state differs.
type conversationState struct {
	number, unread int32
	read           bool // the receiver has read the last message
}

// markIfChanged reports whether the state of a conversation differs from the last sent one, and records it as sent.
func (w *conversationStream) markIfChanged(c *propertyv1.Conversation) bool {
	now := conversationState{number: c.GetLast().GetNumber(), unread: c.GetUnread(), read: c.GetLast().GetReadAt() != nil}
	former, known := w.sent[c.GetGuestId()]
	w.sent[c.GetGuestId()] = now
	return !known || former != now
}

// WatchConversations streams all conversations with unread messages, and then each conversation that changes. If a wake-up is lost, or too
// many conversations change at once, it sends only those that sendUnread finds, so other changes of a read one can be missed. It runs until
// the call ends or the server stops. It fails if the caller or the property has too many streams.
func (s *Messages) WatchConversations(_ *propertyv1.WatchConversationsRequest, stream grpc.ServerStreamingServer[propertyv1.WatchConversationsResponse]) error {
	ctx := stream.Context()
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return err
	}
	watcher, err := s.Feed.WatchProperty(propertyID, streamCaller(ctx))
	if err != nil {
		return err
	}
	defer watcher.Stop()
	beat := time.NewTicker(watchBeat)
	defer beat.Stop()
	out := &conversationStream{stream, s, propertyID, map[string]conversationState{}}
	if err := out.sendUnread(); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Feed.Closed():
			return fault.New(fault.Unavailable, "", "the service stops: call again")
		case <-beat.C: // a wake-up of another node can be lost
			err = out.sendUnread()
		case <-watcher.Woken():
			err = out.sendChanged(watcher)
		}
		if err != nil {
			return err
		}
	}
}

// sendChanged sends the conversations that changed since the last call, or only those that sendUnread finds if the watcher does not know
// all that changed.
func (w *conversationStream) sendChanged(watcher *conversation.Watcher) error {
	guests, all := watcher.Changed()
	if all {
		return w.sendUnread()
	}
	return w.sendOf(guests)
}

// sendOf sends the conversations with guests, except those whose state the client has. It skips guests without messages.
func (w *conversationStream) sendOf(guests []string) error {
	for _, guestID := range guests {
		view := w.s.DB.View(w.Context())
		c, err := conversation.Summarize(view, w.s.Keys, w.propertyID, guestID)
		if err == nil && c != nil {
			err = w.send(view, *c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendUnread sends the conversations with a message that the property has not read, and those that the client has as unread, but were read
// meanwhile; except those whose state the client has.
func (w *conversationStream) sendUnread() error {
	if err := w.sendOf(w.sentUnread()); err != nil {
		return err
	}
	for before := ""; ; {
		view := w.s.DB.View(w.Context())
		found, next, err := conversation.Find(view, w.s.Keys, w.propertyID, conversation.Search{UnreadOnly: true, Before: before, Limit: defaultPage})
		if err != nil {
			return err
		}
		for _, c := range found {
			if err := w.send(view, c); err != nil {
				return err
			}
		}
		if before = next; before == "" {
			return nil
		}
	}
}

// sentUnread returns the guests whose conversation was last sent with unread messages.
func (w *conversationStream) sentUnread() (guests []string) {
	for guestID, last := range w.sent {
		if last.unread > 0 {
			guests = append(guests, guestID)
		}
	}
	return guests
}

// send sends a conversation, unless the client has its state.
func (w *conversationStream) send(view *db.Tx, c conversation.Summary) error {
	m, err := w.s.conversationMessage(view, c)
	if err != nil || !w.markIfChanged(m) {
		return err
	}
	return w.Send(&propertyv1.WatchConversationsResponse{Data: m})
}

// conversationOf returns the conversation with a guest of the caller's property. named is the id of a guest, or of a reservation, which
// means its main guest. create, which can be nil, stores the main guest if no guest has opened the stay yet. If none is stored then, also
// after an erasure, the key has no guest.
func conversationOf(ctx context.Context, tx *db.Tx, named string, create func(propertyID string) error) (conversation.Key, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return conversation.Key{}, err
	}
	if !id.Valid(id.Reservation, named) {
		row, err := guest.Get(tx, propertyID, named)
		if err != nil {
			return conversation.Key{}, err
		}
		return conversation.Key{PropertyID: propertyID, ReservationID: row.ReservationID, GuestID: row.ID}, nil
	}
	if _, err := reservation.Get(tx, reservation.Scope{PropertyID: propertyID}, named); err != nil {
		return conversation.Key{}, err
	}
	if create != nil {
		if err := create(propertyID); err != nil {
			return conversation.Key{}, err
		}
	}
	k := conversation.Key{PropertyID: propertyID, ReservationID: named}
	all, err := guest.ListGuests(tx, propertyID, named)
	if err == nil && len(all) > 0 {
		k.GuestID = all[0].ID
	}
	return k, err
}

// conversationMessage converts a conversation with its last message and the name of its guest.
func (s *Messages) conversationMessage(view *db.Tx, c conversation.Summary) (*propertyv1.Conversation, error) {
	out, err := s.introduce(view, c.Last.Key)
	if err != nil {
		return nil, err
	}
	out.Unread, out.Last = int32(c.Unread), messageMessage(c.Last)
	return out, s.nameAuthors(view, c.Last.PropertyID, out.Last)
}

// nameAuthors replaces the ids of the people who wrote messages by their names. Other authors, such as a token's name, stay.
func (s *Messages) nameAuthors(view *db.Tx, propertyID string, list ...*propertyv1.Message) error {
	names, err := namesOf(view, s.Keys, propertyID, list, (*propertyv1.Message).GetAuthor)
	for _, m := range list {
		m.Author = cmp.Or(names[m.GetAuthor()], m.GetAuthor())
	}
	return err
}

// introduce returns a conversation without its messages: the guest's name, the reservation and the space.
func (s *Messages) introduce(view *db.Tx, k conversation.Key) (*propertyv1.Conversation, error) {
	var who guest.Introduction
	var err error
	if k.GuestID == "" {
		who, err = guest.IntroduceBooker(view, s.Keys, k.PropertyID, k.ReservationID)
	} else {
		who, err = guest.Introduce(view, s.Keys, k.PropertyID, k.GuestID)
	}
	if err != nil {
		return nil, err
	}
	place, err := reservation.PlaceOf(view, who.Reservation)
	if err != nil {
		return nil, err
	}
	out := &propertyv1.Conversation{GuestId: k.GuestID, ReservationId: k.ReservationID, PmsNumber: who.Reservation.PmsNumber, Name: who.Name}
	out.Erased = k.GuestID == "" && who.Reservation.ErasedAt != nil
	if place.Space != nil {
		out.SpaceName, out.ParentSpaceName = place.Space.Name, place.ParentName()
	}
	return out, nil
}

// messageMessage converts a message. Its author is the recorded one: see nameAuthors.
func messageMessage(m conversation.Message) *propertyv1.Message {
	out := &propertyv1.Message{Number: int32(m.Number), Sender: string(m.Sender), Author: m.Author, Text: m.Text, SentAt: timestamppb.New(m.SentAt)}
	if m.ReadAt != nil {
		out.ReadAt = clock.Timestamp(*m.ReadAt)
	}
	return out
}
