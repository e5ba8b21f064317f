package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"latchkey.dev/internal/smartkey"
)

const guestApp = "https://keys.example.com"

// nearby is a bridge that phones reach, over real TLS.
type nearby struct {
	t      *testing.T
	client *http.Client
	url    string
}

func near(t *testing.T, b *Bridge) *nearby {
	t.Helper()
	certificate := httptest.NewTLSServer(nil) // for its certificate and for a client that knows it
	t.Cleanup(certificate.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	local := Local{Listener: tls.NewListener(l, &tls.Config{Certificates: certificate.TLS.Certificates}), Origin: guestApp}
	go func() { done <- b.serveLocal(ctx, local) }()
	n := &nearby{t: t, client: certificate.Client(), url: "https://" + l.Addr().String()}
	t.Cleanup(func() {
		n.client.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return n
}

// call returns the status, the body and the header of a call.
func (n *nearby) call(method, path, origin, kind string, body []byte) (int, []byte, http.Header) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.url+path, bytes.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	for name, v := range map[string]string{"Origin": origin, "Content-Type": kind} {
		if v != "" {
			req.Header.Set(name, v)
		}
	}
	resp, err := n.client.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, raw, resp.Header
}

func (n *nearby) use(p *smartkey.Phone, door smartkey.Door, op smartkey.Operation, list []byte) smartkey.Answer {
	n.t.Helper()
	_, raw, _ := n.call("POST", localGreeting, "", "", nil)
	g, err := smartkey.DecodeGreeting(raw)
	if err != nil {
		n.t.Fatal(err)
	}
	pr, err := p.Present(g, door, op, time.Now())
	if err != nil {
		n.t.Fatal(err)
	}
	pr.List = list
	status, raw, header := n.call("POST", localPresentation, guestApp, cborType, encoded(n.t, pr))
	if status != 200 || header.Get("Cache-Control") != "no-store" || header.Get("Access-Control-Allow-Origin") != guestApp {
		n.t.Errorf("status %d, header %v", status, header)
	}
	a, err := smartkey.DecodeAnswer(raw)
	if err != nil {
		n.t.Fatal(err)
	}
	return a
}

// TestPhoneOpensWithoutTheService restarts the bridge without a service. The bridge must serve a phone with its stored keys.
func TestPhoneOpensWithoutTheService(t *testing.T) {
	m := newMint(t, keyProperty)
	m.revoked = []uint32{9}
	r, c := keyed(t, m)
	front := smartkey.DoorID("brg_1", "front")
	p := keyPhone(t)
	give := func(index uint32) {
		p.SetToken(m.token(p, grant{bridge: "brg_1", door: front, start: -time.Hour, end: time.Hour, index: index}))
	}
	give(1)
	pr, err := p.Present(c.greeting(), front, smartkey.Check, time.Now()) // at this time the server's clock is known
	if err != nil {
		t.Fatal(err)
	}
	if got := c.carry("front", operationSmartKeyCheck, encoded(t, pr)).GetSmartkeyReason(); got != string(smartkey.OK) {
		t.Fatalf("before: %s", got)
	}
	r.stop()
	r.start() // the server's next session is never welcomed
	n := near(t, r.bridge)
	if a := n.use(p, front, smartkey.Unlock, nil); a.Reason != smartkey.OK || r.locks.UnlockCount("front") != 1 {
		t.Errorf("the server is away: %+v, opened %d times", a, r.locks.UnlockCount("front"))
	}
	if a := n.use(p, front, smartkey.Check, nil); a.Reason != smartkey.OK || r.locks.UnlockCount("front") != 1 {
		t.Errorf("a check: %+v, opened %d times", a, r.locks.UnlockCount("front"))
	}
	give(9)
	if a := n.use(p, front, smartkey.Unlock, nil); a.Reason != smartkey.Revoked {
		t.Errorf("a token that was revoked before: %+v", a)
	}
	m.revoked = []uint32{9, 1}
	give(1)
	if a := n.use(p, front, smartkey.Unlock, m.list(0)); a.Reason != smartkey.Revoked {
		t.Errorf("a token that the list it brings revokes: %+v", a)
	}
	give(2)
	r.locks.SetJammed("front", true)
	if a := n.use(p, front, smartkey.Unlock, nil); a.Reason != smartkey.LockFailed {
		t.Errorf("the lock jams: %+v", a)
	}
	events, err := r.bridge.store.entriesAfter(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for _, e := range events {
		if e.Kind == "opened" && e.Reason == "smartkey" {
			opened++
		}
	}
	if opened != 1 {
		t.Errorf("%d openings wait for the server, want 1", opened)
	}
}

func TestLocalServerIsBounded(t *testing.T) {
	r, _ := keyed(t, newMint(t, keyProperty))
	n := near(t, r.bridge)
	for _, tc := range []struct {
		what, method, path, origin, kind string
		body                             []byte
		status                           int
	}{
		{"a foreign page", "POST", localGreeting, "https://evil.example", "", nil, 403},
		{"a question before", "OPTIONS", localPresentation, guestApp, "", nil, 204},
		{"another way of asking", "GET", localGreeting, "", "", nil, 405},
		{"another place", "POST", "/", "", "", nil, 404},
		{"JSON", "POST", localPresentation, "", "application/json", []byte("{}"), 415},
		{"too much", "POST", localPresentation, "", cborType, make([]byte, smartkey.MaxPresentationSize+1), 413},
	} {
		if status, _, _ := n.call(tc.method, tc.path, tc.origin, tc.kind, tc.body); status != tc.status {
			t.Errorf("%s: status %d, want %d", tc.what, status, tc.status)
		}
	}
	status, raw, _ := n.call("POST", localPresentation, "", cborType, []byte("no CBOR"))
	if a, err := smartkey.DecodeAnswer(raw); err != nil || status != 200 || a.Reason != smartkey.Malformed {
		t.Errorf("garbage: status %d, %+v, %v", status, a, err)
	}
	limited := 0
	for range 2 * localBurst {
		if status, _, header := n.call("POST", localGreeting, "", "", nil); status == 429 && header.Get("Retry-After") != "" {
			limited++
		}
	}
	if limited < localBurst {
		t.Errorf("%d of %d calls in a row were too many", limited, 2*localBurst)
	}
}

func TestEachAddressHasABudget(t *testing.T) {
	d := &localServer{budgets: map[netip.Prefix]*budget{}}
	now := time.Now()
	spend := func(remote string) (n int) {
		for d.allow(remote, now) {
			n++
		}
		return n
	}
	for _, remote := range []string{"192.0.2.1:1", "192.0.2.2:1", "[2001:db8::1]:1"} {
		if n := spend(remote); n != localBurst {
			t.Errorf("%s: %d calls at once", remote, n)
		}
	}
	for _, remote := range []string{"192.0.2.1:2", "[2001:db8::2]:9", "[::ffff:192.0.2.2]:1", "not an address"} {
		if n := spend(remote); n != 0 {
			t.Errorf("%s has a budget of its own: %d", remote, n)
		}
	}
	now = now.Add(10 * time.Second)
	if n := spend("192.0.2.1:1"); n != localPerMinute/6 {
		t.Errorf("10 s later: %d calls", n)
	}
	for i := range 2 * localAddresses {
		d.allow(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1).String(), now)
	}
	if len(d.budgets) > localAddresses {
		t.Errorf("%d addresses are remembered", len(d.budgets))
	}
}
