package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

func TestEnrollTrustsOnlyTheCAOfTheJoinCode(t *testing.T) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		spoil func(s *service, e *Enrolment)
		want  string
	}{
		{"all well", func(*service, *Enrolment) {}, ""},
		{"another CA", func(s *service, _ *Enrolment) {
			s.spoil = func(r *lockv1.EnrollResponse) { r.CaCertificate = append(r.CaCertificate, 0) }
		}, "someone may be intercepting"},
		{"a certificate for another key", func(s *service, _ *Enrolment) {
			s.spoil = func(r *lockv1.EnrollResponse) {
				r.Certificate = s.certify(&x509.Certificate{}, stranger.Public()).Raw
			}
		}, "another key"},
		{"nowhere to connect", func(s *service, _ *Enrolment) {
			s.spoil = func(r *lockv1.EnrollResponse) { r.ConnectAddress = "" }
		}, "names no bridge"},
		{"half a join code", func(_ *service, e *Enrolment) { e.JoinCode = e.JoinCode[:20] }, "join code is incomplete"},
		{"a wrong join code", func(_ *service, e *Enrolment) { e.JoinCode = "x" + e.JoinCode }, "no such join code"},
		{"no port", func(_ *service, e *Enrolment) { e.Address = "127.0.0.1" }, "names no port"},
		{"a web address", func(_ *service, e *Enrolment) { e.Address = "http://127.0.0.1:7070/" }, "write it without http://: 127.0.0.1:7070"},
		{"a web address over TLS", func(_ *service, e *Enrolment) { e.Address, e.Plaintext = "https://127.0.0.1:7070", false }, "write it without https://: 127.0.0.1:7070"},
		{"another program", func(_ *service, e *Enrolment) { e.Address = hangingUp(t) }, "not the server's gRPC listener"},
		{"plaintext to elsewhere", func(_ *service, e *Enrolment) { e.Address = "192.0.2.1:443" }, "over TLS only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t)
			e := Enrolment{Dir: t.TempDir(), Address: s.public, JoinCode: s.joinCode(), Plaintext: true}
			tt.spoil(s, &e)
			id, err := Enroll(t.Context(), e)
			if tt.want == "" {
				if err != nil || id != "brg_1" {
					t.Fatalf("%q %v", id, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
			if _, err := tempStore(t, e.Dir).identity(); !errors.Is(err, errNotEnrolled) {
				t.Errorf("an identity was stored: %v", err)
			}
		})
	}
}

// hangingUp returns the address of a program that closes each connection.
func hangingUp(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return l.Addr().String()
}

// A server whose certificate is signed by the operator's own CA is trusted only if that CA is given.
func TestEnrolTrustsTheGivenCA(t *testing.T) {
	s := newService(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := s.certify(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, private.Public())
	secured := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: private})))
	lockv1.RegisterEnrolmentServiceServer(secured, s)
	e := Enrolment{Dir: t.TempDir(), Address: s.serve(secured), JoinCode: s.joinCode()}
	if _, err := Enroll(t.Context(), e); err == nil || !strings.Contains(err.Error(), "--ca FILE") {
		t.Errorf("error %v, want one about --ca", err)
	}
	e.Trusted = x509.NewCertPool()
	e.Trusted.AddCert(s.ca)
	if id, err := Enroll(t.Context(), e); err != nil || id != "brg_1" {
		t.Errorf("%q %v", id, err)
	}
}
