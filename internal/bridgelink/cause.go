package bridgelink

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// cause is the reason why a session ends. The Goodbye message carries its text to the bridge. A function that returns the empty cause lets
// the session continue.
type cause string

const (
	superseded   cause = "superseded"
	revoked      cause = "revoked"
	outOfOrder   cause = "outOfOrder" // the bridge broke the protocol
	tooSlow      cause = "tooSlow"    // a Hello or a send took too long
	shuttingDown cause = "shuttingDown"
	noHeartbeat  cause = "noHeartbeat"
	disconnected cause = "disconnected"
	storeFailed  cause = "storeFailed"
	panicked     cause = "panicked"
	crowded      cause = "crowded" // too many sessions are being opened
)

// Error implements error. A cause is used as an error when the decoder of a stream panics.
func (c cause) Error() string { return "the session ended: " + string(c) }

// offlineReason returns the reason that is stored in the bridge's row when its session ends with this cause; by default Disconnected.
func (c cause) offlineReason() bridge.OfflineReason {
	switch c {
	case revoked:
		return bridge.Revoked
	case outOfOrder:
		return bridge.OutOfOrder
	case tooSlow:
		return bridge.TooSlow
	case shuttingDown:
		return bridge.ShuttingDown
	case noHeartbeat:
		return bridge.NoHeartbeat
	}
	return bridge.Disconnected
}

// grpcStatus returns the gRPC status with which the stream ends; nil (OK) if the connection to the bridge has ended already. The default is
// Unavailable.
func (c cause) grpcStatus() error {
	switch c {
	case disconnected:
		return nil
	case revoked:
		return status.Error(codes.PermissionDenied, c.Error())
	case outOfOrder:
		return status.Error(codes.InvalidArgument, c.Error())
	case superseded:
		return status.Error(codes.Aborted, c.Error())
	}
	return status.Error(codes.Unavailable, c.Error())
}

// causeOf returns the cause with which a domain error ends the session. It returns false for a fault that concerns a single invalid message
// (Invalid, NotFound, Exhausted or Precondition), after which the session continues. Every error but those and ErrSuperseded is
// storeFailed.
func causeOf(err error) (cause, bool) {
	if errors.Is(err, bridge.ErrSuperseded) {
		return superseded, true
	}
	if f, ok := fault.Of(err); ok {
		switch f.Kind {
		case fault.Invalid, fault.NotFound, fault.Exhausted, fault.Precondition:
			return "", false
		}
	}
	return storeFailed, true
}

// rpcError converts a domain error to the gRPC status of a unary call. An error that is no fault becomes Internal, without its text. err
// must not be nil.
func rpcError(err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return status.Error(codes.Internal, "internal error")
	}
	return envelope.Status(f, "").Err()
}
