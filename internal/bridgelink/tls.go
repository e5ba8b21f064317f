package bridgelink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock"
)

// TLS is the listener's: mutual, with certificates of our own CA on both sides. A certificate that ended lately passes
// the handshake, for RenewCertificate alone. Whether the bridge is revoked is asked of the database by each call.
func TLS(ca *lock.Authority, c clock.Clock) *tls.Config {
	own := &serverCertificate{ca: ca, clock: c}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.get() },
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("no client certificate")
			}
			_, _, err := ca.VerifyBridge(s.PeerCertificates[0], c.Now())
			return err
		},
	}
}

// serverCertificate is the listener's certificate, made anew in time.
type serverCertificate struct {
	ca    *lock.Authority
	clock clock.Clock
	mu    sync.Mutex
	cert  *tls.Certificate
}

func (s *serverCertificate) get() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.cert != nil && now.Before(s.cert.Leaf.NotAfter.Add(-10*24*time.Hour)) {
		return s.cert, nil
	}
	cert, err := s.ca.ServerCertificate(now)
	if err != nil {
		return nil, err
	}
	s.cert = &cert
	return s.cert, nil
}

const (
	// maxIdle is how long a connection may be open without a call.
	maxIdle = 50 * time.Second
	// maxUnary is how long a unary call may take, its message included.
	maxUnary = time.Minute
)

// limitUnary ends unary calls whose message does not arrive: gRPC itself would wait for it for ever. It runs on the goroutine
// that reads the connection.
func limitUnary(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName == lockv1.BridgeService_Connect_FullMethodName {
		return ctx, nil // Hello has a deadline of its own
	}
	limited, cancel := context.WithTimeout(ctx, maxUnary)
	context.AfterFunc(ctx, cancel) // ends with its call
	return limited, nil
}

// ServerOptions are those of the bridges' listener. grpc's own defaults bound neither streams nor headers and keep a dead
// connection for two hours. Small shared buffers matter with thousands of idle streams.
func ServerOptions(config *tls.Config) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(newInTurn(config, newLimiter(usualHandshakes()))),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.MaxConcurrentStreams(8),
		grpc.MaxHeaderListSize(16 << 10),
		grpc.MaxRecvMsgSize(messageMax),
		grpc.MaxSendMsgSize(messageMax),
		grpc.InTapHandle(limitUnary),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second, MaxConnectionIdle: maxIdle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.InitialWindowSize(64 << 10),
		grpc.InitialConnWindowSize(64 << 10),
		grpc.ReadBufferSize(4 << 10),
		grpc.WriteBufferSize(4 << 10),
		grpc.SharedWriteBuffer(true),
	}
}

// caller is the certificate behind a call on the bridges' listener.
func caller(ctx context.Context) (*x509.Certificate, lock.Identity, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, lock.Identity{}, status.Error(codes.Unauthenticated, "no peer")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil, lock.Identity{}, status.Error(codes.Unauthenticated, "a bridge's client certificate is required")
	}
	cert := info.State.PeerCertificates[0]
	who, err := lock.ParseIdentity(cert)
	if err != nil {
		return nil, who, status.Error(codes.Unauthenticated, err.Error())
	}
	return cert, who, nil
}
