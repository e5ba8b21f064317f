package guest

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// Messages is the guest's side of a conversation with the property.
type Messages struct {
	guestv1.UnimplementedMessageServiceServer
	Deps
	Feed *conversation.Feed
}

const (
	defaultMessages = 50 // messages on a page if the request sets no size, and in one reading of a stream
	// watchBeat is the interval in which a stream reads again without a wake-up, which can be lost between nodes.
	watchBeat = 20 * time.Second
)

// ListMessages lists a page of the caller's conversation with the property, with the number of messages that the guest has not read. A page
// has defaultMessages unless the request sets a size. It marks none as read. It fails for a session of two facts (booking number and name),
// unless that checked the guest in and the stay has not ended.
func (s *Messages) ListMessages(ctx context.Context, r *guestv1.ListMessagesRequest) (*guestv1.ListMessagesResponse, error) {
	k, err := s.conversation(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	list, next, err := conversation.ListPage(view, s.Keys, k, conversation.Page{
		After: int(r.GetAfter()), NewestFirst: r.GetNewestFirst(), Token: r.GetPageToken(), Size: cmp.Or(int(r.GetPageSize()), defaultMessages),
	})
	if err != nil {
		return nil, err
	}
	unread, err := conversation.Unread(view, k, conversation.Guest)
	if err != nil {
		return nil, err
	}
	out := &guestv1.MessageList{More: next != "", NextPageToken: next, Unread: int32(unread)}
	for _, m := range list {
		out.List = append(out.List, convert.Message(m))
	}
	return &guestv1.ListMessagesResponse{Data: out}, nil
}

// SendMessage sends a message to the property, and marks the earlier messages of the property as read. It fails for an empty text, if too
// many messages were sent in an hour or in all (see [conversation.Send]), and for a session of two facts (booking number and name), unless
// that checked the guest in and the stay has not ended.
func (s *Messages) SendMessage(ctx context.Context, r *guestv1.SendMessageRequest) (*guestv1.SendMessageResponse, error) {
	k, err := s.conversation(ctx)
	if err != nil {
		return nil, err
	}
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, _ actor.Actor) (*guestv1.SendMessageResponse, error) {
		m, err := conversation.Send(tx, s.Keys, conversation.Message{Key: k, Sender: conversation.Guest, Text: r.GetText()})
		if err != nil {
			return nil, err
		}
		return &guestv1.SendMessageResponse{Data: convert.Message(m)}, nil
	})
}

// ReadMessages marks messages of the property as read by the guest, up to and with the message that has the number of the request. It fails
// for a session of two facts (booking number and name), unless that checked the guest in and the stay has not ended.
func (s *Messages) ReadMessages(ctx context.Context, r *guestv1.ReadMessagesRequest) (*guestv1.ReadMessagesResponse, error) {
	k, err := s.conversation(ctx)
	if err != nil {
		return nil, err
	}
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, _ actor.Actor) (*guestv1.ReadMessagesResponse, error) {
		return &guestv1.ReadMessagesResponse{}, conversation.MarkRead(tx, k, conversation.Guest, int(r.GetNumber()))
	})
}

// WatchMessages streams the messages of the conversation after a number, and then each new one, until the call ends or the server stops. It
// fails for too many streams of a guest, and for a session of two facts (booking number and name), unless that checked the guest in and the
// stay has not ended.
func (s *Messages) WatchMessages(r *guestv1.WatchMessagesRequest, stream grpc.ServerStreamingServer[guestv1.WatchMessagesResponse]) error {
	ctx := stream.Context()
	k, err := s.conversation(ctx)
	if err != nil {
		return err
	}
	watcher, err := s.Feed.WatchGuest(k.GuestID)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	beat := time.NewTicker(watchBeat)
	defer beat.Stop()
	for after := int(r.GetAfter()); ; {
		list, more, err := conversation.List(s.DB.View(ctx), s.Keys, k, after, defaultMessages)
		if err != nil {
			return err
		}
		for _, m := range list {
			if err := stream.Send(&guestv1.WatchMessagesResponse{Data: convert.Message(m)}); err != nil {
				return err
			}
			after = m.Number
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Feed.Closed():
			return fault.New(fault.Unavailable, "", "the service stops: call again with the last number")
		case <-watcher.Woken():
		case <-beat.C:
		}
	}
}

// conversation returns the key of the caller's conversation with the property. It fails for a session that the booking number and a name
// opened, unless it checked the guest in and the stay has not ended.
func (s *Messages) conversation(ctx context.Context) (conversation.Key, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return conversation.Key{}, err
	}
	p, err := s.loadPartyAtUse(ctx, a)
	if err != nil {
		return conversation.Key{}, err
	}
	guestID, err := p.Correspondent(a)
	return conversation.Key{PropertyID: a.PropertyID, ReservationID: a.ReservationID, GuestID: guestID}, err
}
