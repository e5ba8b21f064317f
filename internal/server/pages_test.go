package server

import (
	"context"
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/web/kit"
)

// A page's call carries the address of the browser, its token and its key, and no other header.
func TestPagesCallAsTheBrowser(t *testing.T) {
	r := httptest.NewRequest("POST", "/g/stays/x", nil)
	r.RemoteAddr = "203.0.113.9:4711"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	r.Header.Set("Authorization", "Bearer lkp_of_staff")
	r.Header.Set("Api-Key", "lkk_key")
	ctx := pageContext(context.Background(), r, kit.Credential{Token: "lks_token", Property: "prp_1", Key: "KEY", Language: "de"})
	md, _ := metadata.FromOutgoingContext(ctx)
	want := metadata.MD{"x-forwarded-for": {"198.51.100.1"}, "authorization": {"Bearer lks_token"}, "idempotency-key": {"KEY"}, "latchkey-property": {"prp_1"}, "accept-language": {"de"}}
	if diff := cmp.Diff(want, md); diff != "" {
		t.Error(diff)
	}
	if p, ok := peer.FromContext(ctx); !ok || p.Addr.String() != r.RemoteAddr {
		t.Errorf("the call's address is %v", p)
	}
	md, _ = metadata.FromOutgoingContext(pageContext(context.Background(), r, kit.Credential{}))
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

// Bridges enrol at the port of the gRPC listener, at the public host of the server or that of the browser.
func TestEnrolmentAddress(t *testing.T) {
	files := config.TLS{Cert: "cert.pem", Key: "key.pem"}
	for _, test := range []struct {
		public      string
		tls         config.TLS
		bound, host string
		want        string
		plaintext   bool
	}{
		{"", config.TLS{}, "127.0.0.1:7070", "localhost", "localhost:7070", true},
		{"", config.TLS{}, "127.0.0.1:17070", "127.0.0.1", "127.0.0.1:17070", true},
		{"", config.TLS{}, "[::1]:17070", "::1", "[::1]:17070", true},
		{"", config.TLS{}, "[::]:17070", "10.0.0.5", "10.0.0.5:17070", false},
		{"", files, "[::]:443", "localhost", "localhost:443", false},
		{"https://checkin.example.com:8443/", config.TLS{}, "127.0.0.1:7071", "localhost", "checkin.example.com:7071", false},
	} {
		address, plaintext := enrolmentAddress(config.Config{PublicURL: test.public, TLS: test.tls}, test.bound, test.host)
		if address != test.want || plaintext != test.plaintext {
			t.Errorf("%+v: %s, plaintext %t", test, address, plaintext)
		}
	}
}
