package server_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/certtest"
)

// certify writes a certificate with a serial number, and its key, as an ACME client would: one file after the other.
func certify(t *testing.T, cert, key string, serial int64, written time.Time) {
	t.Helper()
	certPEM, keyPEM := certtest.Pair(t, serial)
	for path, content := range map[string][]byte{cert: certPEM, key: keyPEM} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
}

// shown is the serial number and the protocol of what a listener presents.
func shown(t *testing.T, address string) (int64, string) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), conn.ConnectionState().NegotiatedProtocol
}

func TestChangedCertificateIsLoaded(t *testing.T) {
	dir := t.TempDir()
	c := settings(t, "")
	c.TLS.Cert, c.TLS.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	now := time.Now()
	certify(t, c.TLS.Cert, c.TLS.Key, 1, now.Add(-time.Hour))
	n := open(t, c, server.Options{})
	both := func(want int64) {
		t.Helper()
		for name, address := range map[string]string{"HTTP": n.HTTPAddr(), "gRPC": n.GRPCAddr()} {
			if serial, protocol := shown(t, address); serial != want || protocol != "h2" {
				t.Errorf("%s: certificate %d over %q, want %d over h2", name, serial, protocol, want)
			}
		}
	}
	both(1)
	if err := os.WriteFile(c.TLS.Cert, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	both(1)
	certify(t, c.TLS.Cert, c.TLS.Key, 2, now)
	both(2)
}

func TestCertificateIsMissing(t *testing.T) {
	c := settings(t, "")
	c.TLS.Cert, c.TLS.Key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	s, err := server.New(t.Context(), c, server.Options{Logger: logger(t)})
	if err == nil {
		_ = s.Close()
		t.Fatal("started without its certificate")
	}
}

// What becomes of the files after the certificate was read opens nothing to be overheard.
func TestCertificateGoesBeforeAnythingIsServed(t *testing.T) {
	dir := t.TempDir()
	c := settings(t, "")
	c.TLS.Cert, c.TLS.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certify(t, c.TLS.Cert, c.TLS.Key, 1, time.Now())
	s := build(t, c, server.Options{})
	if err := os.Remove(c.TLS.Cert); err != nil {
		t.Fatal(err)
	}
	n := run(t, s)
	for _, address := range []string{n.HTTPAddr(), n.GRPCAddr()} {
		if serial, _ := shown(t, address); serial != 1 {
			t.Errorf("certificate %d", serial)
		}
	}
}

// The operations listener uses TLS only with a token and for others.
func TestOperationsURLNamesTheProtocol(t *testing.T) {
	c := settings(t, "")
	c.TLS.Cert, c.TLS.Key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	certify(t, c.TLS.Cert, c.TLS.Key, 1, time.Now())
	c.OpsTokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(c.OpsTokenFile, []byte(strings.Repeat("a1", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for listen, want := range map[string]string{"127.0.0.1:0": "http://127.0.0.1:", "0.0.0.0:0": "https://"} {
		c.Listen.Ops = listen
		s := build(t, c, server.Options{})
		if got := s.OpsURL(); !strings.HasPrefix(got, want) {
			t.Errorf("at %s: %s, want %s", listen, got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
