package main

import (
	"strings"
	"testing"
	"time"
)

// Staff write to a guest who has not opened the stay yet, and see messages as they come.
func TestMessages(t *testing.T) {
	s, w := newWorld(t)
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "confirmed", "R101", 2)
	s.ok("message list", "No conversations.")
	s.ok("message show 4711", "No messages.")
	s.ok("message send 4711 'Your room is ready.'", "Sent as message 1.")
	s.ok("message list", "4711", "Ada Lovelace", "Room 101", "Your room is ready.")
	s.ok("message list --unread", "No conversations.")
	s.ok("message list --search READY", "4711")
	s.ok("message show 4711", "1. property", "not read", "Your room is ready.")
	s.fails(1, "message send 4711 ''", "text")
	s.fails(1, "message show 4712", "no reservation 4712")

	push(t, w, "B-2", "4713", "Grace", "Hopper", "confirmed", "R102", 2)
	push(t, w, "B-3", "4714", "Alan", "Turing", "confirmed", "R102", 30)
	s.ok("message send 4713 'No match.'", "Sent")
	s.ok("message send 4714 'Ready too.'", "Sent")
	s.ok("message list --search READY --limit 2", "4714", "4711")

	code, line, stop := s.follow("message", "watch")
	for seen := false; !seen; { // the stream may begin after a message
		s.ok("message send 4711 'Breakfast is at eight.'", "Sent")
		select {
		case text := <-line:
			seen = true
			if !strings.Contains(text, "Breakfast is at eight.") {
				t.Errorf("watch prints %q", text)
			}
		case <-time.After(200 * time.Millisecond):
		}
	}
	stop()
	if got := <-code; got != 0 {
		t.Errorf("watch ends with %d", got)
	}
}
