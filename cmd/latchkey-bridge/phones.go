package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"

	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/certfile"
)

// phones has the flags for direct connections to the bridge from phones on the property's own network.
type phones struct {
	Listen string `help:"host:port on which phones with a SmartKey reach this bridge directly, over HTTPS. Empty: off." placeholder:"192.168.1.20:8443" env:"LISTEN"`
	Cert   string `help:"PEM file of the certificate for the name that phones use, with its chain. It is read again when the file changes." env:"CERT" type:"path"`
	Key    string `help:"PEM file of its key." env:"KEY" type:"path"`
	Origin string `help:"Origin of the guest app, the only web page that may call." placeholder:"https://keys.example.com" env:"ORIGIN"`
}

// listen opens the HTTPS listener for phones on the local network. It returns nil without an error if the flags do not enable it. It reads
// the certificate again when its file changes. The caller closes the listener.
func (p *phones) listen(log *slog.Logger) (*agent.Local, error) {
	if p.Listen == "" {
		return nil, nil
	}
	if p.Cert == "" || p.Key == "" {
		return nil, errors.New("--smartkey-listen needs --smartkey-cert and --smartkey-key: phones are served over HTTPS only")
	}
	if err := checkOrigin(p.Origin); err != nil {
		return nil, err
	}
	pair, err := certfile.Open(p.Cert, p.Key, log)
	if err != nil {
		return nil, fmt.Errorf("--smartkey-cert, --smartkey-key: %w", err)
	}
	l, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return nil, fmt.Errorf("--smartkey-listen: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: pair.Get}
	return &agent.Local{Listener: tls.NewListener(l, config), Origin: p.Origin}, nil
}

// checkOrigin checks that the value of --smartkey-origin is an https:// origin, or empty.
func checkOrigin(origin string) error {
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" || u.Host == "" || origin != "https://"+u.Host {
		return fmt.Errorf("--smartkey-origin %q: must be https:// and a host, and nothing else", origin)
	}
	return nil
}
