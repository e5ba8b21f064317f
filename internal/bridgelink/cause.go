package bridgelink

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
)

// cause is why a session ends. Its text is the word of Goodbye.
type cause string

const (
	superseded   cause = "superseded"
	revoked      cause = "revoked"
	outOfOrder   cause = "outOfOrder"
	tooSlow      cause = "tooSlow"
	shuttingDown cause = "shuttingDown"
	noHeartbeat  cause = "noHeartbeat"
	disconnected cause = "disconnected"
	storeFailed  cause = "storeFailed"
	panicked     cause = "panicked"
	crowded      cause = "crowded" // too many bridges connect at once
)

func (c cause) Error() string { return "the session ended: " + string(c) }

// reason is what the bridge's row says of it afterwards.
func (c cause) reason() lock.OfflineReason {
	switch c {
	case revoked:
		return lock.Revoked
	case outOfOrder:
		return lock.OutOfOrder
	case tooSlow:
		return lock.TooSlow
	case shuttingDown:
		return lock.ShuttingDown
	case noHeartbeat:
		return lock.NoHeartbeat
	}
	return lock.Disconnected
}

// status is how the stream ends.
func (c cause) status() error {
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

// causeOf is why an error of the domain ends the session, if it does: what was wrong with one message does not.
func causeOf(err error) (cause, bool) {
	if errors.Is(err, lock.ErrSuperseded) {
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

// rpcError is a fault as a unary call answers it.
func rpcError(err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return status.Error(codes.Internal, "internal error")
	}
	code := codes.Internal
	switch f.Kind {
	case fault.Invalid:
		code = codes.InvalidArgument
	case fault.Unauthenticated:
		code = codes.Unauthenticated
	case fault.Denied:
		code = codes.PermissionDenied
	case fault.NotFound:
		code = codes.NotFound
	case fault.Aborted:
		code = codes.Aborted
	case fault.Exhausted:
		code = codes.ResourceExhausted
	case fault.Unavailable:
		code = codes.Unavailable
	}
	return status.Error(code, f.Message)
}
