package server

import (
	"crypto/tls"
	"log/slog"
	"path/filepath"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"latchkey.dev/internal/certfile"
	"latchkey.dev/internal/config"
)

// openTLS returns the TLS configuration of the HTTP and gRPC listeners, or nil without TLS. They share it, so that ACME does not issue
// certificates twice. It fails if a configured certificate cannot be read. ACME is called only at a handshake.
func openTLS(cfg config.Config, log *slog.Logger) (*tls.Config, error) {
	switch t := cfg.TLS; {
	case t.Cert != "":
		pair, err := certfile.Open(t.Cert, t.Key, log)
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.Get}, nil
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
