package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/time/rate"

	"latchkey.dev/internal/certfile"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/connlimit"
	"latchkey.dev/internal/disk"
)

// listeners are opened before the server serves, so that the port chosen for port 0 is known early.
type listeners struct {
	http, grpc, bridge, ops, socket net.Listener
}

// checkAddresses fails if a configured address cannot be used, before the first start creates the data directory and the key: a start that
// fails leaves nothing behind. It does nothing if the data directory exists.
func checkAddresses(cfg config.Config) error {
	if _, err := os.Stat(cfg.DataDir); !errors.Is(err, fs.ErrNotExist) {
		return nil // the start continues, and fails later if it must
	}
	l, err := listenTCP(cfg)
	if err != nil {
		return err
	}
	return l.close()
}

// listen opens the listeners at the configured addresses and at the socket. After an error none stays open.
func listen(cfg config.Config) (*listeners, error) {
	l, err := listenTCP(cfg)
	if err != nil {
		return nil, err
	}
	if l.socket, err = listenSocket(cfg.SocketPath()); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// listenTCP opens the listeners at the configured addresses. After an error none stays open.
func listenTCP(cfg config.Config) (_ *listeners, err error) {
	l := &listeners{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	for _, at := range []struct {
		to         *net.Listener
		flag, addr string
	}{
		{&l.http, "http", cfg.Listen.HTTP}, {&l.grpc, "grpc", cfg.Listen.GRPC}, {&l.bridge, "bridge", cfg.Listen.Bridge}, {&l.ops, "ops", cfg.Listen.Ops},
	} {
		if *at.to, err = net.Listen("tcp", at.addr); err != nil {
			return nil, fmt.Errorf("--listen-%s: %w", at.flag, err)
		}
	}
	return l, nil
}

// limitConnections limits the connections per address on all listeners except the operators' socket; an IPv6 address counts as its /64. At
// the limit, a new connection takes the place of an unused one: of a bridge's before its TLS handshake, of gRPC before the first data, else
// of one without a request. If all are used, the new one is closed. A metric counts both, and the log has at most one warning a minute for
// each listener. Trusted proxies have no limit.
func (s *Server) limitConnections() {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "latchkey_connections_refused_total", Help: "Connections refused, or closed unused for a newer one, because their address had too many, by listener.",
	}, []string{"listener"})
	s.metrics.MustRegister(refused)
	for name, l := range map[string]*net.Listener{"http": &s.listeners.http, "grpc": &s.listeners.grpc, "bridge": &s.listeners.bridge, "ops": &s.listeners.ops} {
		count := refused.WithLabelValues(name)
		seldom := rate.Sometimes{Interval: time.Minute}
		*l = connlimit.New(*l, connlimit.Config{
			PerAddress: s.cfg.ConnectionsPerAddress, Exempt: s.cfg.TrustedProxies, EvictSilent: true, UntilProtected: name != "grpc",
			Exceeded: func(from netip.Addr) {
				count.Inc()
				seldom.Do(func() {
					s.log.Warn("an address holds too many connections: for a new one, an unused one is closed, or else the new one. Name it with --trusted-proxies if it is a proxy, or raise --connections-per-address",
						"listener", name, "address", from.String(), "most", s.cfg.ConnectionsPerAddress)
				})
			},
		})
	}
}

// listenSocket opens the operators' Unix socket. Only the user of this process can connect to it. It replaces the socket of a server that
// was killed, and fails if a running server answers there.
func listenSocket(path string) (net.Listener, error) {
	var d net.Dialer
	if conn, err := d.DialContext(context.Background(), "unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: another server is running on this data directory", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("operators' socket: %w", err)
	}
	l, err := disk.ListenSocket(context.Background(), path)
	if err != nil {
		return nil, fmt.Errorf("operators' socket: %w", err)
	}
	return l, nil
}

// close closes the listeners that are open.
func (l *listeners) close() (err error) {
	for _, one := range []net.Listener{l.http, l.grpc, l.bridge, l.ops, l.socket} {
		if one == nil {
			continue
		}
		if e := one.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// HTTPAddr returns the address (host:port) of the listener for REST, Connect, the pages and the documentation.
func (s *Server) HTTPAddr() string { return s.listeners.http.Addr().String() }

// GRPCAddr returns the address (host:port) of the listener for gRPC.
func (s *Server) GRPCAddr() string { return s.listeners.grpc.Addr().String() }

// BridgeAddr returns the address (host:port) of the listener for bridges.
func (s *Server) BridgeAddr() string { return s.listeners.bridge.Addr().String() }

// OpsAddr returns the address (host:port) of the listener for metrics and health.
func (s *Server) OpsAddr() string { return s.listeners.ops.Addr().String() }

// OpsURL returns the URL of the listener for metrics and health.
func (s *Server) OpsURL() string {
	if s.opsOverTLS() {
		return "https://" + s.OpsAddr()
	}
	return "http://" + s.OpsAddr()
}

// opsOverTLS reports whether the listener for metrics and health uses TLS: if the server has a certificate, and the listener a token and an
// address other than loopback.
func (s *Server) opsOverTLS() bool {
	return s.tls != nil && s.opsToken != nil && !config.IsLoopback(hostOf(s.cfg.Listen.Ops))
}

// SocketPath returns the path of the operators' Unix socket.
func (s *Server) SocketPath() string { return s.cfg.SocketPath() }

// advertisedBridgeAddr returns the address to which bridges connect, as they receive it at their enrolment: the configured address, else
// that of the listener.
func (s *Server) advertisedBridgeAddr() string {
	if s.cfg.BridgeAddress != "" {
		return s.cfg.BridgeAddress
	}
	return s.BridgeAddr()
}

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
