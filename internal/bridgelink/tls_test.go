package bridgelink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/clock"
)

// later starts a node's listener whose clock is ahead.
func (s *site) later(d time.Duration) string {
	s.t.Helper()
	c := clock.At(time.Now().Add(d))
	n := New(Config{DB: s.db, Keys: s.keys, CA: s.ca, Bus: s.bus, Name: "nod_later", Clock: c, timings: s.pace})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	server := grpc.NewServer(ServerOptions(TLSConfig(s.ca, c))...)
	n.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.t.Cleanup(func() {
		server.Stop()
		s.must(<-served)
	})
	return listener.Addr().String()
}

func (b *device) renew(address string) error {
	b.s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	b.s.must(err)
	ctx, cancel := context.WithTimeout(b.s.t.Context(), patience)
	defer cancel()
	answer, err := lockv1.NewBridgeServiceClient(b.dial(address)).
		RenewCertificate(ctx, &lockv1.RenewCertificateRequest{CertificateRequest: request(b.s.t, key)})
	if err != nil {
		return err
	}
	b.cert = tls.Certificate{Certificate: [][]byte{answer.Certificate}, PrivateKey: key}
	return nil
}

func TestRenewedCertificateConnects(t *testing.T) {
	s := newSite(t, "sqlite")
	_, address := s.node("nod_a")
	b := s.enrol("front")
	s.must(b.renew(address))
	b.connect(address)
	b.conn = b.dial(address)
	if _, err := lockv1.NewBridgeServiceClient(b.conn).RenewCertificate(t.Context(), &lockv1.RenewCertificateRequest{CertificateRequest: []byte("x")}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no request at all: %v", err)
	}
}

func TestExpiredCertificateCanOnlyRenew(t *testing.T) {
	s := newSite(t, "sqlite")
	b := s.enrol("front")
	b.ahead = 121 * 24 * time.Hour
	if err := b.renew(s.later(b.ahead)); status.Code(err) != codes.Unavailable {
		t.Errorf("a certificate that ended 91 days ago: %v", err)
	}
	b.ahead = 60 * 24 * time.Hour
	late := s.later(b.ahead)
	b.open(late)
	if _, err := b.end(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a session under an ended certificate: %v", err)
	}
	if err := b.renew(late); err != nil {
		t.Errorf("a certificate that ended 30 days ago was not renewed: %v", err)
	}
}

func TestOnlyCertificatesOfTheServiceCAConnect(t *testing.T) {
	s := newSite(t, "sqlite")
	_, address := s.node("nod_a")
	b := s.enrol("front")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	leaf, err := x509.ParseCertificate(b.cert.Certificate[0])
	s.must(err)
	forged := &x509.Certificate{
		SerialNumber: leaf.SerialNumber, URIs: leaf.URIs, NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, forged, forged, key.Public(), key)
	s.must(err)
	b.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	if err := b.renew(address); status.Code(err) != codes.Unavailable {
		t.Errorf("a forged certificate: %v", err)
	}
	b.cert = tls.Certificate{}
	if err := b.renew(address); status.Code(err) != codes.Unavailable {
		t.Errorf("no certificate: %v", err)
	}
}
