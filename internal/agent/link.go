package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/clock"
)

// linkTimings are the waits of the link to the server.
type linkTimings struct {
	firstRetry   time.Duration // upper bound of the first random wait; each further attempt doubles it, up to maxRetry
	maxRetry     time.Duration // upper bound of all waits, except where the server or revokedRetry decides
	revokedRetry time.Duration // longest wait after the server revoked or refused the bridge: staff must act first
	healthy      time.Duration // a session that lasted this long resets the backoff
	silence      time.Duration // a session that receives no message for this long ends
}

var defaultTimings = linkTimings{
	firstRetry: 250 * time.Millisecond, maxRetry: 10 * time.Second, revokedRetry: time.Minute, healthy: time.Minute, silence: 45 * time.Second,
}

const (
	keepaliveTime    = 30 * time.Second // a connection without traffic for this long is probed
	keepaliveTimeout = 15 * time.Second // a probe without an answer for this long ends the connection
)

// runLink keeps a session with the server until ctx ends. After each session or failed attempt it waits and connects again.
func (b *Bridge) runLink(ctx context.Context) {
	attempt := 0
	for ctx.Err() == nil {
		began := time.Now()
		err := b.connectOnce(ctx)
		b.setEpoch(0, err)
		b.outbox.close()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= b.timings.healthy {
			attempt = 0
		}
		wait := b.timings.retryAfter(err, attempt)
		attempt++
		b.log.Warn("no session with the server", "error", err, "retry_in", wait.Round(time.Millisecond))
		if !clock.Sleep(ctx, wait) {
			return
		}
	}
}

// retryAfter returns the wait before the next connection. err is why the last session ended; attempt counts the attempts since the last
// session that lasted for healthy. The wait is an exponential backoff with full jitter, unless the server requested a time, refused the
// bridge or replaced its session.
func (p linkTimings) retryAfter(err error, attempt int) time.Duration {
	var d *drainError
	if errors.As(err, &d) {
		return d.after
	}
	if errors.Is(err, errRevoked) || isRefused(err) {
		return clock.Jitter(p.revokedRetry)
	}
	if errors.Is(err, errSuperseded) {
		return clock.Jitter(p.maxRetry)
	}
	return clock.FullJitter(clock.Backoff(p.firstRetry, p.maxRetry, attempt))
}

// isRefused reports whether the server rejected the bridge's credentials, so that a quick retry is useless.
func isRefused(err error) bool {
	c := status.Code(err)
	return c == codes.PermissionDenied || c == codes.Unauthenticated
}

// rpcMessage returns the message of a gRPC error without gRPC's prefixes; of another error, its text.
func rpcMessage(err error) string {
	s, ok := status.FromError(err)
	if !ok {
		return err.Error()
	}
	why := s.Message()
	if quoted, ok := strings.CutPrefix(why, "connection error: desc = "); ok {
		if inner, err := strconv.Unquote(quoted); err == nil {
			why = strings.TrimPrefix(inner, "transport: ")
		}
	}
	return why
}

// connectOnce runs one session on a new connection and returns why it ended, never nil. If the certificate has expired, it renews the
// certificate instead and returns errRenewed. Each connection resolves the server's name again.
func (b *Bridge) connectOnce(ctx context.Context) error {
	id := b.identity()
	conn, leaf, err := b.connection(id)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if !b.clock.Now().Before(leaf.NotAfter) {
		if err := b.renew(ctx, conn); err != nil {
			return fmt.Errorf("the certificate ended on %s and was not renewed: %w", leaf.NotAfter.Format(time.DateOnly), err)
		}
		return errRenewed
	}
	return newSession(b, conn, leaf).run(ctx)
}

// tlsConfig returns the configuration for connections to the server, and the bridge's certificate in it. It trusts only the server's own CA
// and ignores the machine's root certificates. now is the clock for checks of validity.
func (id identity) tlsConfig(now func() time.Time) (*tls.Config, *x509.Certificate, error) {
	key, err := x509.ParsePKCS8PrivateKey(id.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("the stored certificate key: %w", err)
	}
	leaf, err := id.leaf()
	if err != nil {
		return nil, nil, err
	}
	ca, err := x509.ParseCertificate(id.CA)
	if err != nil {
		return nil, nil, fmt.Errorf("the stored CA certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: id.ServerName, Time: now,
		Certificates: []tls.Certificate{{Certificate: [][]byte{id.Certificate}, PrivateKey: key, Leaf: leaf}},
	}, leaf, nil
}

// leaf parses the bridge's own certificate.
func (id identity) leaf() (*x509.Certificate, error) {
	leaf, err := x509.ParseCertificate(id.Certificate)
	if err != nil {
		return nil, fmt.Errorf("the stored certificate: %w", err)
	}
	return leaf, nil
}

// shuffleAddresses makes gRPC try the addresses of a name in random order, so that bridges spread over several nodes. By default gRPC tries
// the first address first.
const shuffleAddresses = `{"loadBalancingConfig": [{"pick_first": {"shuffleAddressList": true}}]}`

// connection returns a gRPC client for the server's listener for bridges, and the bridge's certificate that it shows. The client connects
// at its first call; the caller closes it.
func (b *Bridge) connection(id identity) (*grpc.ClientConn, *x509.Certificate, error) {
	config, leaf, err := id.tlsConfig(b.clock.Now)
	if err != nil {
		return nil, nil, err
	}
	opts := append([]grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithIdleTimeout(0),
		grpc.WithDefaultServiceConfig(shuffleAddresses),
	}, b.cfg.DialOptions...)
	conn, err := grpc.NewClient(id.ConnectAddress, opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("dial %s: %w", id.ConnectAddress, err)
	}
	return conn, leaf, nil
}

var (
	errRenewed = errors.New("the certificate was renewed; connecting under the new one")
	errRevoked = errors.New("the server revoked this bridge; stop it, then enrol it with a new join code")
	// Two bridges with the same identity supersede each other. A long wait keeps them from doing so all the time.
	errSuperseded = errors.New("another bridge with this identity has connected; only one may run")
)

// drainError ends a session because the server will stop and asked the bridge to reconnect after a time.
type drainError struct{ after time.Duration }

func (d *drainError) Error() string { return fmt.Sprintf("the server drains; back in %v", d.after) }
