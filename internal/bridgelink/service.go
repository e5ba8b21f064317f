package bridgelink

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

var errHello = fault.New(fault.Invalid, fault.InvalidFields, "Hello names more than %d locks, one twice, or one without a printable address", lock.MaxLocksPerBridge)

// service implements BridgeService, the gRPC API for bridges.
type service struct {
	lockv1.UnimplementedBridgeServiceServer
	node *Node
}

// Register adds BridgeService to a gRPC server. Only the listener for bridges may serve it.
func (n *Node) Register(s *grpc.Server) { lockv1.RegisterBridgeServiceServer(s, &service{node: n}) }

// Connect runs a session from the bridge's Hello message to the end of the stream. It refuses an expired certificate, and all bridges while
// the node drains.
func (s *service) Connect(st grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]) error {
	cert, who, err := peerIdentity(st.Context())
	if err != nil {
		return err
	}
	if s.node.cfg.Clock.Now().After(cert.NotAfter) {
		return status.Error(codes.Unauthenticated, "the certificate has expired; renew it")
	}
	if s.node.isDraining() {
		return shuttingDown.grpcStatus()
	}
	return newSession(s.node, st).run(who, bridge.PublicKeyHash(cert)).grpcStatus()
}

// RenewCertificate issues a bridge's next certificate, and fails for a revoked bridge. It is the only call that accepts a recently expired
// certificate: the TLS listener lets it pass, and Connect refuses it.
func (s *service) RenewCertificate(ctx context.Context, r *lockv1.RenewCertificateRequest) (answer *lockv1.RenewCertificateResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.node.log.Error("panic while a certificate is renewed", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			answer, err = nil, status.Error(codes.Internal, "internal error")
		}
	}()
	cert, who, err := peerIdentity(ctx)
	if err != nil {
		return nil, err
	}
	var next *bridge.Enrolment
	err = s.node.cfg.DB.Write(ctx, func(tx *db.Tx) (err error) {
		next, err = bridge.RenewCertificate(tx, s.node.cfg.CA, who, bridge.PublicKeyHash(cert), r.CertificateRequest)
		return err
	})
	if err != nil {
		s.node.log.Warn("a certificate was not renewed", "bridge", who.BridgeID, "error", err)
		return nil, rpcError(err)
	}
	return &lockv1.RenewCertificateResponse{Certificate: next.Certificate}, nil
}

// refusalCause returns the cause for a bridge that is refused with err after its Hello message: revoked if it is not authenticated,
// outOfOrder for an invalid Hello, superseded, crowded, or else storeFailed.
func refusalCause(err error) cause {
	if f, ok := fault.Of(err); ok {
		switch f.Kind {
		case fault.Denied, fault.Unauthenticated:
			return revoked
		case fault.Invalid:
			return outOfOrder
		}
	}
	switch {
	case errors.Is(err, bridge.ErrSuperseded):
		return superseded
	case errors.Is(err, errCrowded):
		return crowded
	}
	return storeFailed
}
