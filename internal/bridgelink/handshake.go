package bridgelink

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"time"

	"google.golang.org/grpc/credentials"
)

// usualHandshakes bounds the TLS handshakes that are computed at once to half of the cores, so that calls of the API come first
// when thousands of bridges return.
func usualHandshakes() limits {
	return limits{active: max(runtime.GOMAXPROCS(0)/2, 1), waiting: 10_000, timeout: handshakeTime}
}

// handshakeTime is how long a connection has for its handshake, its wait for a turn included.
const handshakeTime = 20 * time.Second

// inTurn is TLS whose handshakes take turns.
type inTurn struct {
	credentials.TransportCredentials
	turns *limiter
}

// newInTurn makes handshakes wait for a turn once the client has said all of its first message: a client that is silent or slow
// keeps no other waiting.
func newInTurn(config *tls.Config, turns *limiter) inTurn {
	config = config.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, hello.Conn.(*handshake).begin()
	}
	return inTurn{credentials.NewTLS(config), turns}
}

// ServerHandshake gives the turn back however the handshake ends.
func (c inTurn) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	h := &handshake{Conn: raw, turns: c.turns}
	defer h.end()
	return c.TransportCredentials.ServerHandshake(h)
}

// handshake is a connection whose handshake has a turn from the client's first message until the server waits for the next one.
// What costs most lies between the two.
type handshake struct {
	net.Conn
	turns *limiter
	turn  bool // it has one
}

func (h *handshake) begin() error {
	if err := h.turns.acquire(context.Background()); err != nil {
		return fmt.Errorf("wait for a turn to shake hands: %w", err)
	}
	h.turn = true
	return nil
}

func (h *handshake) end() {
	if h.turn {
		h.turn = false
		h.turns.release()
	}
}

func (h *handshake) Read(b []byte) (int, error) {
	h.end()
	return h.Conn.Read(b)
}
