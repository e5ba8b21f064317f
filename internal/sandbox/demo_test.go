package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/clock"
)

// logged writes the steps of the demo to the test's log.
type logged struct{ t *testing.T }

func (l logged) Begin(number int, title string) { l.t.Logf("step %d: %s", number, title) }

func (l logged) End(outcome []string, err error, _ time.Duration) { l.t.Log(outcome, err) }

// A guest checks in alone, a desk checks guests in, and each code ends: every step of the demo holds.
func TestDemo(t *testing.T) {
	w := build(t, Config{Play: true, MandatoryGroups: DemoGroups, WithoutStorage: true})
	if err := w.RunDemo(t.Context(), logged{t}); err != nil {
		t.Fatal(err)
	}
	a, err := http.Get(w.MailboxURL())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var box struct {
		Mails []struct {
			ID, Kind, To, Subject, Text string
			Links                       []string
		}
	}
	if err := json.NewDecoder(a.Body).Decode(&box); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, m := range box.Mails {
		kinds[m.Kind] = true
		if m.Kind == "invitation" && (len(m.Links) == 0 || m.Subject == "" || !strings.Contains(m.To, "@")) {
			t.Errorf("the mail %s has no link, subject or recipient", m.ID)
		}
		if m.Text == "" && m.Kind != "invitation" {
			continue // the mail waits for its job
		}
		status, page := openPage(t, w, "/mail/"+m.ID, nil)
		if status != 200 || !strings.Contains(page, "As HTML") {
			t.Errorf("the page of the mail %s answered %d", m.ID, status)
		}
		if status, page = openPage(t, w, "/mail/"+m.ID+"/html", nil); status != 200 || !strings.Contains(page, `<base target="_blank">`) {
			t.Errorf("the HTML of the mail %s answered %d", m.ID, status)
		}
	}
	if !kinds["invitation"] || kinds["companion"] {
		t.Errorf("the mailbox has %v, not the invitations of other guests alone", kinds)
	}
	if status, _ := openPage(t, w, "/mail/mai_unknown", nil); status != 404 {
		t.Errorf("an unknown mail answered %d", status)
	}
}

// The reservations of the demo begin on the property's day, wherever the demo runs.
func TestDateAt(t *testing.T) {
	tokyo, err := clock.Zone("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	night := time.Date(2026, 3, 1, 0, 30, 0, 0, tokyo)
	if today, later := dateAt(night, 0), dateAt(night, 3); today != "2026-02-28" || later != "2026-03-03" {
		t.Errorf("today is %s, three days later %s", today, later)
	}
}
