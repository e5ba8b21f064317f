package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// A page gets the fault that the API's handler returned: its kind, reason, fields and delay.
func TestPagesGetTheFault(t *testing.T) {
	for kind := fault.Internal; kind <= fault.Unimplemented; kind++ {
		sent := fault.New(kind, "someReason", "a message")
		if kind == fault.Invalid {
			sent = fault.Fields(fault.Field{Path: "answers.email", Reason: "notAnAddress", Message: "wrong"})
		}
		if kind == fault.Exhausted {
			sent = sent.Retry(7 * time.Second)
		}
		got := pageFault(envelope.Status(sent, "request").Err())
		want := kind
		switch kind {
		case fault.Unimplemented: // a page cannot tell it from an outage
			want = fault.Unavailable
		}
		if got.Kind != want || kind != fault.Internal && got.Reason != sent.Reason || sent.RetryAfter > 0 && got.RetryAfter != sent.RetryAfter {
			t.Errorf("%v: got %v, %q, %v", kind, got.Kind, got.Reason, got.RetryAfter)
		}
		if diff := cmp.Diff(sent.Fields, got.Fields); diff != "" {
			t.Errorf("%v: %s", kind, diff)
		}
	}
	if got := pageFault(errors.New("a defect")); got.Kind != fault.Internal {
		t.Errorf("an error without a status is %v", got.Kind)
	}
}

// A page's call carries the address of the browser, its token and its key, and no other header.
func TestPagesCallAsTheBrowser(t *testing.T) {
	r := httptest.NewRequest("POST", "/g/stays/x", nil)
	r.RemoteAddr = "203.0.113.9:4711"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	r.Header.Set("Authorization", "Bearer lkp_of_staff")
	r.Header.Set("Api-Key", "lkk_key")
	ctx := pageContext(context.Background(), r, "lks_token", "KEY")
	md, _ := metadata.FromOutgoingContext(ctx)
	want := metadata.MD{"x-forwarded-for": {"198.51.100.1"}, "authorization": {"Bearer lks_token"}, "idempotency-key": {"KEY"}}
	if diff := cmp.Diff(want, md); diff != "" {
		t.Error(diff)
	}
	if p, ok := peer.FromContext(ctx); !ok || p.Addr.String() != r.RemoteAddr {
		t.Errorf("the call's address is %v", p)
	}
	md, _ = metadata.FromOutgoingContext(pageContext(context.Background(), r, "", ""))
	if len(md["authorization"])+len(md["idempotency-key"]) > 0 {
		t.Errorf("a call without a session carries %v", md)
	}
}

// Only a trusted proxy's word counts for TLS in front of the server.
func TestSecureBrowsers(t *testing.T) {
	s := &Server{cfg: config.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	for _, test := range []struct {
		from, proto string
		tls, want   bool
	}{
		{"203.0.113.9:1", "", true, true},
		{"203.0.113.9:1", "", false, false},
		{"203.0.113.9:1", "https", false, false},
		{"10.1.2.3:1", "https", false, true},
		{"[::ffff:10.1.2.3]:1", "https", false, true},
		{"10.1.2.3:1", "http", false, false},
		{"@", "https", false, false},
	} {
		r := httptest.NewRequest("GET", "/g/", nil)
		r.RemoteAddr = test.from
		r.TLS = nil
		if test.proto != "" {
			r.Header.Set("X-Forwarded-Proto", test.proto)
		}
		if test.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := s.isSecure(r); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
