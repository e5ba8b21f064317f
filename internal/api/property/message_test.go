package property

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
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
