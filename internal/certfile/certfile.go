// Package certfile reads certificates from PEM files.
package certfile

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Pair is a certificate with its private key in two files, which another program renews while this one runs.
type Pair struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate // the certificate that was loaded last
	read    time.Time        // modification time of the certificate's file when current was loaded
	warned  string           // the error that was logged last; empty: none since current was loaded
}

// Open reads the certificate and the key in the PEM files at the paths cert and key. The certificate's file may hold its chain.
func Open(cert, key string, log *slog.Logger) (*Pair, error) {
	p := &Pair{cert: cert, key: key, log: log}
	if err := p.load(); err != nil {
		return nil, fmt.Errorf("read the TLS certificate: %w", err)
	}
	return p, nil
}

// load reads both files, unless the modification time of the certificate's file is that of the last successful reading.
func (p *Pair) load() error {
	about, err := os.Stat(p.cert)
	if err != nil {
		return err
	}
	if p.current != nil && about.ModTime().Equal(p.read) {
		return nil
	}
	c, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return err
	}
	p.current, p.read, p.warned = &c, about.ModTime(), ""
	return nil
}

// Get implements [tls.Config.GetCertificate]. It loads changed files again. If that fails, because a file is half-written or not readable,
// it logs each error once and returns the certificate that it loaded before, also an expired one. It never returns an error.
func (p *Pair) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(); err != nil && err.Error() != p.warned {
		p.warned = err.Error()
		p.log.Warn("cannot read the changed TLS certificate, and continue with the former one", "error", err, "expires", p.current.Leaf.NotAfter)
	}
	return p.current, nil
}

// Pool returns the certificates in the PEM file at a path as the only ones to trust. It fails if the file has none.
func Pool(path string) (*x509.CertPool, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s contains no certificate in PEM", path)
	}
	return pool, nil
}
