package property

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
)

// A stream sends a conversation again only after a change: a client that reads it again and again would announce the same message each
// time.
func TestStreamSendsChangesOnly(t *testing.T) {
	w := &conversationStream{sent: map[string]conversationState{}}
	for i, c := range []struct {
		guest          string
		number, unread int32
		read, want     bool
	}{
		{"gst_1", 1, 1, false, true},
		{"gst_1", 1, 1, false, false},
		{"gst_2", 1, 1, false, true},
		{"gst_1", 2, 2, false, true},
		{"gst_1", 2, 0, true, true},
		{"gst_1", 2, 0, true, false},
		{"gst_1", 3, 0, false, true},
		{"gst_1", 3, 0, true, true},
		{"gst_2", 1, 1, false, false},
	} {
		last := &propertyv1.Message{Number: c.number}
		if c.read {
			last.ReadAt = timestamppb.Now()
		}
		if got := w.markIfChanged(&propertyv1.Conversation{GuestId: c.guest, Unread: c.unread, Last: last}); got != c.want {
			t.Errorf("%d: sent %t, want %t", i, got, c.want)
		}
	}
}

// sentConversations is a stream that collects what it sends.
type sentConversations struct {
	grpc.ServerStreamingServer[propertyv1.WatchConversationsResponse]
	ctx  context.Context
	list []*propertyv1.Conversation
}

func (s *sentConversations) Context() context.Context { return s.ctx }

func (s *sentConversations) Send(r *propertyv1.WatchConversationsResponse) error {
	s.list = append(s.list, r.GetData())
	return nil
}

// A client whose stream missed a wake-up learns that a conversation was read elsewhere.
func TestStreamSendsWhatWasReadElsewhere(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		k := conversation.Key{PropertyID: a.id, ReservationID: a.reserve(a.integration(), "1", nil)}
		a.w.write(t, func(tx *db.Tx) error {
			if _, err := guest.LoadParty(tx, a.w.deps.Keys, a.id, k.ReservationID); err != nil {
				return err
			}
			guests, err := guest.ListGuests(tx, a.id, k.ReservationID)
			if err != nil {
				return err
			}
			k.GuestID = guests[0].ID
			_, err = conversation.Send(tx, a.w.deps.Keys, conversation.Message{Key: k, Sender: conversation.Guest, Text: "Hello"})
			return err
		})
		out := &sentConversations{ctx: a.ctx}
		w := &conversationStream{out, &Messages{Deps: a.w.deps}, a.id, map[string]conversationState{}}
		expect := func(want ...int32) {
			a.Helper()
			check(a, w.sendUnread())
			if got := unreadOf(out); !slices.Equal(got, want) {
				a.Errorf("unread %v, want %v", got, want)
			}
		}
		expect(1)
		expect()
		a.w.write(t, func(tx *db.Tx) error { return conversation.MarkRead(tx, k, conversation.Property, 1) })
		expect(0)
		expect()
	})
}

// unreadOf takes what a stream sent, and returns the numbers of unread messages.
func unreadOf(out *sentConversations) (unread []int32) {
	for _, c := range out.list {
		unread = append(unread, c.GetUnread())
	}
	out.list = nil
	return unread
}

// No message reaches the guests of a stay whose data were erased, and the page knows it: it shows no form.
func TestNoMessageReachesAnErasedStay(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		stay := a.reserve(a.integration(), "1", nil)
		s := &Messages{Deps: a.w.deps}
		read := func() *propertyv1.Conversation {
			return must(s.ListMessages(a.ctx, &propertyv1.ListMessagesRequest{GuestId: stay}))(t).GetConversation()
		}
		if read().GetErased() {
			t.Error("a stay that no guest opened is erased")
		}
		a.w.write(t, func(tx *db.Tx) error {
			if _, err := guest.LoadParty(tx, a.w.deps.Keys, a.id, stay); err != nil {
				return err
			}
			if _, err := guest.RequestErasureFor(tx, a.w.deps.Keys, a.id, stay, "", "Ada"); err != nil {
				return err
			}
			due, err := guest.ListPendingErasures(tx, "", 10)
			if err != nil {
				return err
			}
			_, err = guest.Erase(tx, a.w.deps.Keys, due[0])
			return err
		})
		if !read().GetErased() {
			t.Error("the page shows the form")
		}
		if _, err := s.SendMessage(a.ctx, &propertyv1.SendMessageRequest{GuestId: stay, Text: "Welcome"}); !fault.Has(err, fault.GuestNotFound) {
			t.Errorf("the message is answered with %v", err)
		}
	})
}
