package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// pace is how the link waits.
type pace struct {
	first   time.Duration // the most before the first retry, doubled by each further one
	most    time.Duration
	barred  time.Duration // after revoked: somebody has to act first
	healthy time.Duration // a session of this length starts the doubling anew
	silence time.Duration // without a word from the service a session is dead
}

var usualPace = pace{
	first: 250 * time.Millisecond, most: 10 * time.Second, barred: time.Minute, healthy: time.Minute, silence: 45 * time.Second,
}

const (
	keepaliveTime = 30 * time.Second
	keepaliveWait = 15 * time.Second
)

// link holds sessions with the service, one after the other, until ctx ends.
func (b *Bridge) link(ctx context.Context) {
	attempt := 0
	for ctx.Err() == nil {
		began := time.Now()
		err := b.dial(ctx)
		b.setEpoch(0, err)
		b.out.end()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= b.pace.healthy {
			attempt = 0
		}
		wait := b.pace.after(err, attempt)
		attempt++
		b.log.Warn("no session with the service", "error", err, "retry_in", wait.Round(time.Millisecond))
		if !sleep(ctx, wait) {
			return
		}
	}
}

// after is full jitter, but for a service that said when to come back or that we are barred.
func (p pace) after(err error, attempt int) time.Duration {
	var d *drained
	if errors.As(err, &d) {
		return d.after
	}
	if errors.Is(err, errBarred) || barred(err) {
		return p.barred/2 + rand.N(p.barred/2)
	}
	most := p.most
	if errors.Is(err, errSuperseded) {
		return most/2 + rand.N(most/2)
	}
	if attempt < 16 {
		most = min(most, p.first<<attempt)
	}
	return rand.N(most)
}

func barred(err error) bool {
	c := status.Code(err)
	return c == codes.PermissionDenied || c == codes.Unauthenticated
}

// plain is an error without the words that gRPC puts around it, for people.
func plain(err error) string {
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

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// dial opens a connection of its own for each session, so that the name is resolved anew.
func (b *Bridge) dial(ctx context.Context) error {
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

// tls is for the bridges' listener, under the bridge's certificate. Only our CA's listener is believed,
// whatever the machine's trust store says.
func (id identity) tls(now func() time.Time) (*tls.Config, *x509.Certificate, error) {
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

func (id identity) leaf() (*x509.Certificate, error) {
	leaf, err := x509.ParseCertificate(id.Certificate)
	if err != nil {
		return nil, fmt.Errorf("the stored certificate: %w", err)
	}
	return leaf, nil
}

// anyAddress tries the addresses of a name in random order, so that the bridges of a site with a name for several nodes
// spread over them: resolvers return the addresses in the same order each time, and the default tries the first one first.
const anyAddress = `{"loadBalancingConfig": [{"pick_first": {"shuffleAddressList": true}}]}`

// connection is a client of the bridges' listener.
func (b *Bridge) connection(id identity) (*grpc.ClientConn, *x509.Certificate, error) {
	config, leaf, err := id.tls(b.clock.Now)
	if err != nil {
		return nil, nil, err
	}
	opts := append([]grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveWait}),
		grpc.WithIdleTimeout(0),
		grpc.WithDefaultServiceConfig(anyAddress),
	}, b.cfg.DialOptions...)
	conn, err := grpc.NewClient(id.ConnectAddress, opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("dial %s: %w", id.ConnectAddress, err)
	}
	return conn, leaf, nil
}

var (
	errRenewed = errors.New("the certificate was renewed; connecting under the new one")
	errBarred  = errors.New("the service revoked this bridge; enrol it with a new join code")
	// A bridge that is superseded has a double: giving way slowly keeps the two from taking turns.
	errSuperseded = errors.New("another bridge with this identity has connected; only one may run")
)

// drained ends a session because the service asked for it.
type drained struct{ after time.Duration }

func (d *drained) Error() string { return fmt.Sprintf("the service drains; back in %v", d.after) }
