package web_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
)

// world is a running server with a property whose guests check in alone.
type world struct {
	*e2etest.World
	t *testing.T
}

func open(t *testing.T) *world {
	t.Helper()
	return &world{World: e2etest.Open(t, func(c *sandbox.Config) { c.Play = true }), t: t}
}

// book sends a reservation for tonight in a room of the PMS.
func (w *world) book(id, number, room string, more map[string]any) {
	w.t.Helper()
	fields := map[string]any{
		"pmsNumber": number, "state": "confirmed", "roomId": room, "adultCount": 1,
		"booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com"},
	}
	maps.Copy(fields, more)
	e2etest.PushReservation(w.t, w.World, id, fields)
}

var linkPath = regexp.MustCompile(`/g/l/[A-Za-z0-9_-]+`)

// mails returns the texts of the mails of a kind to an address, the newest first.
func (w *world) mails(ctx context.Context, kind, to string) (texts []string, err error) {
	client := propertyv1.NewMailServiceClient(w.Public)
	listed, err := client.ListMails(w.Staff(ctx), &propertyv1.ListMailsRequest{})
	if err != nil {
		return nil, err
	}
	for _, m := range listed.GetData().GetList() {
		if m.GetKind() != kind {
			continue
		}
		read, err := client.GetMail(w.Staff(ctx), &propertyv1.GetMailRequest{Id: m.GetId()})
		if err != nil {
			return nil, err
		}
		if read.GetText().GetTo() == to {
			texts = append(texts, read.GetText().GetText())
		}
	}
	return texts, nil
}

// link waits for the invitation of a booking, and returns the address of its link.
func (w *world) link() (address string) {
	w.t.Helper()
	w.Await("the invitation", func(ctx context.Context) (bool, error) {
		texts, err := w.mails(ctx, "invitation", "ada@example.com")
		if err != nil || len(texts) == 0 {
			return false, err
		}
		address = w.Base + linkPath.FindString(texts[0])
		return address != w.Base, nil
	})
	return address
}

// scan opens a link as the scanner of a mail server does. Some scanners post, too, without the form.
func (w *world) scan(address string) {
	w.t.Helper()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodGet} {
		r, err := http.NewRequestWithContext(w.t.Context(), method, address, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		answer, err := w.HTTP.Do(r)
		if err != nil {
			w.t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			w.t.Errorf("%s of a mail's link answers %d", method, answer.StatusCode)
		}
	}
}

// internet is a way to the server that can be cut, or lose what it carries.
type internet struct {
	base   string
	server *httptest.Server
	cut    atomic.Bool // cut means that each request ends at once
	lost   atomic.Bool // lost means that requests get no answer, and no error either
	away   atomic.Bool // away means that a proxy answers that it does not reach the server
}

// newInternet starts a way to the server.
func (w *world) newInternet() *internet {
	w.t.Helper()
	target, err := url.Parse(w.Base)
	if err != nil {
		w.t.Fatal(err)
	}
	way, ended := &internet{}, make(chan struct{})
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if way.lost.Load() {
			select {
			case <-r.Context().Done(): // the browser gave up
			case <-ended:
			}
		}
		if way.cut.Load() || way.lost.Load() {
			panic(http.ErrAbortHandler)
		}
		if way.away.Load() {
			http.Error(rw, "bad gateway", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(func() {
		close(ended)
		server.Close()
	})
	way.base, way.server = server.URL, server
	return way
}

// enrol opens the kiosk and enrols it.
func (w *world) enrol(options ...browser.Option) *browser.Page {
	w.t.Helper()
	return w.enrolAt(w.Base, options...)
}

// enrolAt is enrol for a kiosk that reaches the server at another address.
func (w *world) enrolAt(base string, options ...browser.Option) *browser.Page {
	w.t.Helper()
	k := browser.Open(w.t, append(options, browser.WithSize(browser.Kiosk))...)
	k.Visit(base + "/k/")
	k.WaitHeading("Set up this tablet")
	k.Fill("Enrolment code", w.KioskCode())
	k.Next("Set up", "Check in here")
	return k
}

var pinText = regexp.MustCompile(`aria-label="Your code: ([0-9, ]+)"`)

// pinOn returns the PIN that the page shows.
func (w *world) pinOn(p *browser.Page) string {
	w.t.Helper()
	m := pinText.FindStringSubmatch(p.HTML())
	if m == nil {
		w.t.Fatalf("the page shows no PIN: %s", p.Text())
	}
	return strings.NewReplacer(" ", "", ",", "").Replace(m[1])
}

// opens waits until a PIN opens the door of a room.
func (w *world) opens(room, pin string) {
	w.t.Helper()
	w.Await("the door of "+room+" opens", func(ctx context.Context) (bool, error) {
		press, err := w.TypePIN(ctx, w.Spaces[room], pin)
		return press.Opened, err
	})
}

// opensOnly types a PIN once and checks whether it opens the door of a room.
func (w *world) opensOnly(room, pin string, want bool) {
	w.t.Helper()
	press, err := w.TypePIN(w.t.Context(), w.Spaces[room], pin)
	if err != nil || press.Opened != want {
		w.t.Errorf("the PIN at %s: opened %t, %v", room, press.Opened, err)
	}
}
