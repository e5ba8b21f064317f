package property

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// A stream sends a conversation again only after a change: a client that reads it again and again would announce the same message each time.
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
		if got := w.isChanged(&propertyv1.Conversation{GuestId: c.guest, Unread: c.unread, Last: last}); got != c.want {
			t.Errorf("%d: sent %t, want %t", i, got, c.want)
		}
	}
}
