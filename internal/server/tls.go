package server

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"latchkey.dev/internal/config"
)

// openTLS returns the TLS configuration of the HTTP and gRPC listeners, or nil without TLS. They share it, so that ACME does not issue
// certificates twice. It fails if a configured certificate cannot be read. ACME is called only at a handshake.
func openTLS(cfg config.Config) (*tls.Config, error) {
	switch t := cfg.TLS; {
	case t.Cert != "":
		f := &certificateFile{cert: t.Cert, key: t.Key}
		if _, err := f.get(nil); err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: f.get}, nil
	case len(t.Domains) > 0:
		m := &autocert.Manager{Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(t.Domains...), Cache: autocert.DirCache(filepath.Join(cfg.DataDir, "acme"))}
		if t.ACME != "" {
			m.Client = &acme.Client{DirectoryURL: t.ACME}
		}
		config := m.TLSConfig()
		config.MinVersion = tls.VersionTLS12
		return config, nil
	}
	return nil, nil
}

// certificateFile is a certificate that is reloaded when its file changes.
type certificateFile struct {
	cert, key string // paths of the PEM files
	mu        sync.Mutex
	read      time.Time        // modification time of the certificate's file when current was loaded
	current   *tls.Certificate // the certificate that was loaded last, or nil
}

// get implements tls.Config.GetCertificate. It loads certificate and key again if the modification time of the certificate's file has
// changed. If that fails, it returns the certificate that it loaded before, and an error only if there is none.
func (f *certificateFile) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	about, err := os.Stat(f.cert)
	if err == nil && f.current != nil && about.ModTime().Equal(f.read) {
		return f.current, nil
	}
	if err == nil {
		var c tls.Certificate
		if c, err = tls.LoadX509KeyPair(f.cert, f.key); err == nil {
			f.current, f.read = &c, about.ModTime()
		}
	}
	if f.current == nil {
		return nil, fmt.Errorf("read the TLS certificate: %w", err)
	}
	// The file may be half-written. Continue with the loaded certificate; the next handshake reads the file again.
	return f.current, nil
}
