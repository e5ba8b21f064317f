package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"latchkey.dev/internal/server"
)

const acmeName = "keys.example.com"

// authority is a small ACME certificate authority (RFC 8555). It checks the server as tls-alpn-01 (RFC 8737) wants, and
// takes every signature of an account on trust.
type authority struct {
	t       *testing.T
	at      string // its own address
	looksAt string // the server's HTTP listener
	key     *ecdsa.PrivateKey
	root    *x509.Certificate

	mu     sync.Mutex
	proven bool
	failed bool
	issued []byte // PEM
	orders int
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	if a.root, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.at = s.URL
	return a
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Replay-Nonce", rand.Text())
	payload := a.payload(r)
	switch r.URL.Path {
	case "/directory":
		a.answer(w, http.StatusOK, "", map[string]any{"newNonce": a.at + "/nonce", "newAccount": a.at + "/account", "newOrder": a.at + "/orders"})
	case "/nonce":
	case "/account":
		a.answer(w, http.StatusCreated, "/account/1", map[string]any{"status": "valid"})
	case "/orders":
		a.orders++
		a.answer(w, http.StatusCreated, "/order", a.order())
	case "/order":
		a.answer(w, http.StatusOK, "", a.order())
	case "/proof":
		a.answer(w, http.StatusOK, "", map[string]any{"status": a.state("pending", "valid"), "identifier": identifier(), "challenges": []any{a.challenge()}})
	case "/challenge":
		a.proven = a.look()
		a.failed = !a.proven
		a.answer(w, http.StatusOK, "", a.challenge())
	case "/finalize":
		a.issue(payload)
		a.answer(w, http.StatusOK, "/order", a.order())
	case "/certificate":
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		_, _ = w.Write(a.issued)
	default:
		a.t.Errorf("the authority is asked for %s", r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	}
}

func (a *authority) payload(r *http.Request) []byte {
	if r.Method != http.MethodPost {
		return nil
	}
	var signed struct{ Payload string }
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &signed)
	}
	payload, err2 := base64.RawURLEncoding.DecodeString(signed.Payload)
	if err != nil || err2 != nil {
		a.t.Errorf("%s: %v %v", r.URL.Path, err, err2)
	}
	return payload
}

func (a *authority) answer(w http.ResponseWriter, status int, location string, v any) {
	if location != "" {
		w.Header().Set("Location", a.at+location)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func identifier() map[string]any { return map[string]any{"type": "dns", "value": acmeName} }

func (a *authority) state(before, after string) string {
	switch {
	case a.proven:
		return after
	case a.failed:
		return "invalid"
	}
	return before
}

func (a *authority) order() map[string]any {
	o := map[string]any{
		"status": a.state("pending", "ready"), "identifiers": []any{identifier()}, "authorizations": []string{a.at + "/proof"}, "finalize": a.at + "/finalize",
	}
	if a.issued != nil {
		o["status"], o["certificate"] = "valid", a.at+"/certificate"
	}
	return o
}

func (a *authority) challenge() map[string]any {
	return map[string]any{"type": "tls-alpn-01", "url": a.at + "/challenge", "token": "token", "status": a.state("pending", "valid")}
}

// look shakes hands with the server as the proof asks: another protocol, and a certificate that holds the token's hash.
func (a *authority) look() bool {
	conn, err := tls.Dial("tcp", a.looksAt, &tls.Config{InsecureSkipVerify: true, ServerName: acmeName, NextProtos: []string{acme.ALPNProto}})
	if err != nil {
		a.t.Errorf("the proof: %v", err)
		return false
	}
	defer conn.Close()
	for _, e := range conn.ConnectionState().PeerCertificates[0].Extensions {
		if e.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}) && e.Critical {
			return conn.ConnectionState().NegotiatedProtocol == acme.ALPNProto
		}
	}
	a.t.Error("the certificate of the proof holds no hash")
	return false
}

func (a *authority) issue(payload []byte) {
	var asked struct{ CSR string }
	if err := json.Unmarshal(payload, &asked); err != nil {
		a.t.Error(err)
		return
	}
	der, err := base64.RawURLEncoding.DecodeString(asked.CSR)
	if err != nil {
		a.t.Error(err)
		return
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil || !a.proven {
		a.t.Errorf("a request for a certificate: %v, proven %t", err, a.proven)
		return
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(4711), DNSNames: csr.DNSNames, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leaf, err := x509.CreateCertificate(rand.Reader, about, a.root, csr.PublicKey, a.key)
	if err != nil {
		a.t.Error(err)
		return
	}
	for _, der := range [][]byte{leaf, a.root.Raw} {
		a.issued = append(a.issued, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
}

// A certificate is fetched at the first handshake, serves both listeners, and is there after a start without asking again.
func TestCertificateByACME(t *testing.T) {
	a := newAuthority(t)
	c := settings(t, "")
	c.TLS.Domains, c.TLS.ACME = []string{acmeName}, a.at+"/directory"
	roots := x509.NewCertPool()
	roots.AddCert(a.root)
	shake := func(address, name string) error {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: name, NextProtos: []string{"h2"}})
		if err != nil {
			return err
		}
		defer conn.Close()
		if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
			t.Errorf("%s: protocol %q", address, p)
		}
		return nil
	}
	for range 2 {
		n := open(t, c, server.Options{})
		a.mu.Lock()
		a.looksAt = n.HTTPAddr()
		a.mu.Unlock()
		for _, address := range []string{n.HTTPAddr(), n.GRPCAddr()} {
			if err := shake(address, acmeName); err != nil {
				t.Fatalf("%s: %v", address, err)
			}
		}
		if err := shake(n.HTTPAddr(), "other.example.com"); err == nil {
			t.Error("a certificate for a name that is not ours")
		}
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if a.orders != 1 {
		t.Errorf("%d certificates were ordered", a.orders)
	}
}
