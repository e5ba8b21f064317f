package guest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"latchkey.dev/internal/fault"
)

// The pages of a canceled stay say so, on each device that had it open and behind its link, and whom to ask. They show nothing of the stay.
func TestCanceledStay(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.canceled = true
	says := func(a answer) {
		t.Helper()
		if a.status != http.StatusGone {
			t.Errorf("status %d", a.status)
		}
		a.contains(t, "This booking is canceled", "This booking at Hostel Miramar was canceled", "Call +351210000000")
		for _, private := range []string{"Ana", "Silva", "8790", "21 November", "rsv_1", "204", "<button>"} {
			if strings.Contains(a.body, private) {
				t.Errorf("the page shows %q: %s", private, a.body)
			}
		}
	}
	for range 2 { // the device keeps what it needs to say so again
		says(b.get("/g/stays/rsv_1"))
	}
	says(b.get("/g/stays/rsv_1/checkin"))
	says(b.do(http.MethodPost, "/g/stays/rsv_1/checkin", url.Values{"do": {"complete"}}))
	if a := b.get("/g/"); a.moved != "/g/stays/rsv_1" {
		t.Errorf("the start page moves to %q", a.moved)
	}
	says(b.get("/g/l/" + linkSecret))
	says(b.do(http.MethodPost, "/g/l/"+linkSecret, formOfLink()))
	says(b.do(http.MethodPost, "/g/l/"+linkSecret+"/renew", formOfLink()))
	if stranger := f.client(t).get("/g/stays/rsv_1"); stranger.status != http.StatusNotFound {
		t.Errorf("a stranger's device: status %d", stranger.status)
	}

	b.headers = map[string]string{"Latchkey-Script": "1"} // the page waits for a change
	if a := b.get("/g/stays/rsv_1/checkin"); a.status != http.StatusNoContent || a.header.Get("Latchkey-Location") != "/g/stays/rsv_1" {
		t.Errorf("a script gets %d, to %q", a.status, a.header.Get("Latchkey-Location"))
	}
	b.headers = nil
	f.fails = fault.New(fault.Unavailable, "", "away")
	if a := b.get("/g/stays/rsv_1"); a.status != http.StatusServiceUnavailable {
		t.Errorf("without the service: status %d", a.status)
	}
	f.fails = nil
	says(b.get("/g/stays/rsv_1"))
}

// A page that waits for a change does not go on showing a stay whose session has ended: its script is moved to the page that says so. The page
// says so each time, shows nothing of the stay, and leads to another stay of the device.
func TestEndedSession(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.revoked = true
	b.headers = map[string]string{"Latchkey-Script": "1"}
	for range 2 {
		if a := b.get("/g/stays/rsv_1/checkin"); a.status != http.StatusNoContent || a.header.Get("Latchkey-Location") != "/g/stays/rsv_1" {
			t.Errorf("a script gets %d, to %q", a.status, a.header.Get("Latchkey-Location"))
		}
	}
	b.headers = nil
	for range 2 {
		a := b.get("/g/stays/rsv_1")
		a.contains(t, "This device no longer opens the stay", "at Hostel Miramar was ended", "Call +351210000000")
		if a.status != http.StatusGone || strings.Contains(a.body, "Silva") || strings.Contains(a.body, "Open my stay") || strings.Contains(a.body, "<button>") {
			t.Errorf("the page answers %d: %s", a.status, plain(a.body))
		}
	}
	b.setCookie("lk-stay-rsv_2", staySession)
	if a := b.get("/g/stays/rsv_1"); !strings.Contains(a.body, `href="/g/stays/rsv_2"`) {
		t.Errorf("the page does not lead to the other stay: %s", a.body)
	}
}

// The guest at a tablet whose stay is canceled in the middle reads it, with nothing of the stay. The next guest reads nothing of it.
func TestCanceledAtTheTablet(t *testing.T) {
	for name, step := range map[string]func(b *client) answer{
		"a page":  func(b *client) answer { return b.get("/k/confirm") },
		"a press": func(b *client) answer { return b.do(http.MethodPost, "/k/confirm", form("do", "complete")) },
		"a script": func(b *client) answer {
			b.headers = map[string]string{"Latchkey-Script": "1"}
			defer func() { b.headers = nil }()
			a := b.get("/k/asking")
			a.moved = a.header.Get("Latchkey-Location")
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			b := f.client(t)
			b.enrol()
			b.moves("/k/find", form(facts("8790", "Silva")...), "/k/you")
			f.canceled = true
			if a := step(b); a.moved != "/k/canceled" || !strings.Contains(strings.Join(a.header.Values("Set-Cookie"), "\n"), visitCookie+"=;") {
				t.Fatalf("moves to %q with the cookies %q", a.moved, a.header.Values("Set-Cookie"))
			}
			page := b.shows("/k/canceled", "This booking is canceled", "This booking at Hostel Miramar was canceled", "+351210000000")
			for _, private := range []string{"Ana", "Silva", "8790", "21 November", "rsv_1", "204"} {
				if strings.Contains(page.body, private) {
					t.Errorf("the page shows %q: %s", private, plain(page.body))
				}
			}
			if a := b.get("/k/confirm"); a.moved != "/k/" {
				t.Errorf("the next request moves to %q", a.moved)
			}
			if next := b.get("/k/"); strings.Contains(plain(next.body), "canceled") {
				t.Errorf("the next guest reads it: %s", plain(next.body))
			}
		})
	}
}

// Nothing is stored about the session of an erased guest. The device says once what can be the reason, also if a script or a stream noticed first, and
// then asks for the link of a stay. It says the same of a stay that does not exist. A stranger's device does not say it.
func TestForgottenSession(t *testing.T) {
	f := newFake()
	says := func(b *client, path string) {
		t.Helper()
		a := b.get(path)
		a.contains(t, "Your stay is no longer open on this device", "the device was signed out, the stay ended some time ago, or its data were erased", "ask at its desk")
		if a.status != http.StatusNotFound || !strings.Contains(a.body, "data-gone") || strings.Contains(a.body, "This page does not exist") || strings.Contains(a.body, "Miramar") {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		b.shows("/g/", "Open your stay")
		if again := b.get(path); strings.Contains(again.body, "no longer open") {
			t.Errorf("the device keeps the token: %s", plain(again.body))
		}
	}
	for _, stay := range []string{"rsv_1", "rsv_9"} {
		b := f.client(t)
		b.setCookie("lk-stay-"+stay, "lks_erased")
		page := "/g/stays/" + stay
		for name, value := range map[string]string{"Latchkey-Script": "1", "Accept": "text/event-stream"} {
			b.headers = map[string]string{name: value}
			if a := b.get(page + "/messages/live"); len(a.header.Values("Set-Cookie")) > 0 {
				t.Errorf("%s: the answer deletes the token: %v", name, a.header)
			}
		}
		b.headers = nil
		says(b, page+"/messages")
	}
	stranger := f.client(t)
	stranger.setCookie("lk-stay-rsv_2", staySession)
	if a := stranger.get("/g/stays/rsv_1"); !strings.Contains(plain(a.body), "This page does not exist") {
		t.Errorf("a stranger's device: %s", plain(a.body))
	}
}
