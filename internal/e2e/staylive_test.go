package e2e

import (
	"bufio"
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// The page of a stay shows its doors, so the change of a lock reaches the stream of the page.
func TestStayFollowsItsLocks(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "started", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace"}})
	stay := s.stay("1001")
	page := s.do(http.MethodGet, stay, nil).text
	feed := regexp.MustCompile(`data-feed="([^"]+)"`).FindStringSubmatch(page)
	of := regexp.MustCompile(`data-of="([^"]+)"`).FindStringSubmatch(page)
	if feed == nil || of == nil || !strings.Contains(of[1], " lck_") {
		t.Fatalf("the page follows %q of %q", feed, of)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+html.UnescapeString(feed[1]), nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lock, name, renamed := strings.Fields(of[1])[1], "Another name", false
	for lines.Scan() {
		if renamed && strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), lock) {
			return
		}
		if renamed || !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		renamed = true // the stream has begun
		if _, err := propertyv1.NewLockServiceClient(w.Public).UpdateLock(w.Staff(t.Context()), &propertyv1.UpdateLockRequest{Id: lock, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("the stream ended without the change: %v", lines.Err())
}
