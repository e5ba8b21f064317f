package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// If a connection fails because of TLS, the error names the flag that helps.
func TestTLSMismatch(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	token := s.json("admin token create Ana --ttl 1h")["token"].(string)
	front := httptest.NewUnstartedServer(http.NotFoundHandler())
	front.EnableHTTP2 = true
	front.StartTLS()
	defer front.Close()
	ca, other := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	strange := httptest.NewUnstartedServer(nil)
	strange.TLS = &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}, NextProtos: []string{"h2"}}
	strange.StartTLS()
	defer strange.Close()
	if err := os.WriteFile(other, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: strange.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	address := front.Listener.Addr().String()
	for what, c := range map[string]struct {
		args  []string
		says  []string
		never string
	}{
		"no TLS to a TLS server":       {[]string{"--server", address}, []string{"uses TLS, and this command did not", "--ca FILE"}, "Check that the server runs"},
		"a CA that signed another":     {[]string{"--server", address, "--ca", other}, []string{"does not trust", "--ca FILE"}, "Check that the server runs"},
		"TLS to a server without":      {[]string{"--server", s.grpc, "--ca", ca}, []string{"does not use TLS", "--plaintext"}, "Check that the server runs"},
		"another name":                 {[]string{"--server", strings.Replace(strange.Listener.Addr().String(), "127.0.0.1", "localhost", 1), "--ca", other}, []string{"for other names"}, "Check that the server runs"},
		"nothing listens":              {[]string{"--server", "127.0.0.1:1"}, []string{"no server answers"}, "TLS"},
		"TLS, but an HTTP listener":    {[]string{"--server", address, "--ca", ca}, []string{"HTTP listener"}, "trust"},
		"no TLS to a server without":   {[]string{"--server", s.grpc}, []string{"Europe/Lisbon"}, "TLS"},
		"the flags before the command": {[]string{"--server", s.grpc, "--token=" + token}, []string{"Europe/Lisbon"}, "unknown flag"},
	} {
		args := append([]string{"property", "list", "--token", token}, c.args...)
		if strings.Contains(what, "before") {
			args = append(c.args, "property", "list")
		}
		_, out, errs := s.feed("", args...)
		for _, w := range c.says {
			if !strings.Contains(out+errs, w) {
				t.Errorf("%s: %q is not in:\n%s%s", what, w, out, errs)
			}
		}
		if strings.Contains(out+errs, c.never) {
			t.Errorf("%s: %q is in:\n%s%s", what, c.never, out, errs)
		}
	}
}

// selfSigned is a certificate for a name that no test dials.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"keys.example"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
