package pms

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// authority signs certificates for the TLS tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	a.cert, a.key = a.issue(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(1), pkix.Name{CommonName: "zoo"}
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func TestTLS(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	loopback := []net.IP{net.IPv4(127, 0, 0, 1)}
	long := time.Now().Add(-48 * time.Hour)
	for name, c := range map[string]struct {
		by       *authority
		template x509.Certificate
		most     uint16
		want     Cause
	}{
		"trusted":         {by: a, template: x509.Certificate{IPAddresses: loopback}},
		"expired":         {by: a, template: x509.Certificate{IPAddresses: loopback, NotBefore: long, NotAfter: long.Add(time.Hour)}, want: CauseTLS},
		"not yet valid":   {by: a, template: x509.Certificate{IPAddresses: loopback, NotBefore: time.Now().Add(time.Hour), NotAfter: time.Now().Add(2 * time.Hour)}, want: CauseTLS},
		"another name":    {by: a, template: x509.Certificate{DNSNames: []string{"pms.example.com"}}, want: CauseTLS},
		"self-signed":     {by: &authority{}, template: x509.Certificate{IPAddresses: loopback}, want: CauseTLS},
		"by a stranger":   {by: stranger, template: x509.Certificate{IPAddresses: loopback}, want: CauseTLS},
		"TLS 1.1 at most": {by: a, template: x509.Certificate{IPAddresses: loopback}, most: tls.VersionTLS11, want: CauseTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cert, key := c.by.issue(t, &c.template)
			z := newZoo(t, quick(), hang)
			z.Close()
			limits := DefaultLimits()
			limits.BreakerFailures, limits.Backoff = 100, time.Millisecond
			s := newTLSServer(t, tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}, c.most)
			z.URL, z.client = "https://"+s, z.newClient(t, limits, a.pool, s)
			if c.want != "" {
				z.expect(t, c.want)
				return
			}
			if _, err := z.client.Spaces(t.Context(), z.target(GetSpaces)); err != nil {
				t.Error(err)
			}
		})
	}
}

func newTLSServer(t *testing.T, cert tls.Certificate, most uint16) string {
	t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: most})
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: reply(200, "[]"), ErrorLog: quietLog()}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func TestPlainHTTPBehindAnHTTPSAddress(t *testing.T) {
	z := newZoo(t, quick(), reply(200, "[]"))
	z.URL = strings.Replace(z.URL, "http:", "https:", 1)
	z.expect(t, CauseTLS)
}
