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
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
)

// TLSConfig returns the configuration of the listener for bridges: mutual TLS with certificates of the installation's own CA. It also lets
// a recently expired certificate pass, for RenewCertificate: every other call must refuse it. Every call must check in the database whether
// the bridge is revoked.
func TLSConfig(ca *bridge.CA, c clock.Clock) *tls.Config {
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
			_, _, err := ca.Verify(s.PeerCertificates[0], c.Now())
			return err
		},
	}
}

// serverCertificate is the certificate of the listener for bridges. It is renewed before it expires.
type serverCertificate struct {
	ca    *bridge.CA
	clock clock.Clock
	mu    sync.Mutex
	cert  *tls.Certificate // nil before the first handshake
}

// get returns the certificate. It issues a new one if there is none or if it expires within ten days.
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
	// maxIdle is how long a connection without a call stays open.
	maxIdle = 50 * time.Second
	// maxUnary is the time limit of a unary call, including the transfer of its request.
	maxUnary = time.Minute
)

// limitUnary is a tap handler of gRPC: it sets a deadline for receiving the request of a unary call, which gRPC does not limit. It runs
// on the goroutine that reads the connection, so it must not block.
func limitUnary(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName == lockv1.BridgeService_Connect_FullMethodName {
		return ctx, nil // the stream has its own timeout for Hello
	}
	limited, cancel := context.WithTimeout(ctx, maxUnary)
	context.AfterFunc(ctx, cancel) // releases the timer when the call ends
	return limited, nil
}

// ServerOptions returns the gRPC options of the listener for bridges. The defaults of gRPC bound neither streams nor headers and keep a
// dead connection for two hours. Small shared buffers save memory when thousands of streams are idle.
func ServerOptions(config *tls.Config) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(newQueuedTLS(config, newLimiter(handshakeLimits()))),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxConcurrentStreams(8),
		grpc.MaxHeaderListSize(16 << 10),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.InTapHandle(limitUnary),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second, MaxConnectionIdle: maxIdle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.InitialWindowSize(64 << 10),
		grpc.InitialConnWindowSize(64 << 10),
		grpc.ReadBufferSize(4 << 10),
		grpc.WriteBufferSize(4 << 10),
	}
}

// peerIdentity returns the client certificate of a call and the bridge that it names. The TLS handshake has verified the certificate,
// except that it may have expired. Every error is a gRPC status, Unauthenticated.
func peerIdentity(ctx context.Context) (*x509.Certificate, bridge.Identity, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, bridge.Identity{}, status.Error(codes.Unauthenticated, "no peer")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil, bridge.Identity{}, status.Error(codes.Unauthenticated, "a bridge's client certificate is required")
	}
	cert := info.State.PeerCertificates[0]
	who, err := bridge.ParseIdentity(cert)
	if err != nil {
		return nil, who, status.Error(codes.Unauthenticated, err.Error())
	}
	return cert, who, nil
}
