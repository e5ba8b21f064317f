package bridgelink

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"time"

	"google.golang.org/grpc/credentials"

	"latchkey.dev/internal/connlimit"
)

// handshakeLimits returns the limits of concurrent TLS handshakes: half of the CPU cores. API calls keep the other half when thousands of
// bridges reconnect.
func handshakeLimits() limits {
	return limits{active: max(runtime.GOMAXPROCS(0)/2, 1), waiting: 10_000, timeout: handshakeTimeout}
}

// handshakeTimeout is the limit for a TLS handshake, including its wait in the queue.
const handshakeTimeout = 20 * time.Second

// queuedTLS provides TLS credentials that bound the number of concurrent handshakes.
type queuedTLS struct {
	credentials.TransportCredentials
	limiter *limiter
}

// newQueuedTLS returns TLS credentials that wait for the limiter handshakes. A handshake enters the queue only when the client's first
// message is complete, so that a slow or silent client does not block others.
func newQueuedTLS(config *tls.Config, handshakes *limiter) queuedTLS {
	config = config.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, hello.Conn.(*handshake).admit()
	}
	return queuedTLS{credentials.NewTLS(config), handshakes}
}

// ServerHandshake implements credentials.TransportCredentials. When it returns, also with an error, the limiter is released. After a
// successful handshake, with a certificate of a bridge, the limit of connections no longer closes this connection for a newer one.
func (c queuedTLS) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	h := &handshake{Conn: raw, limiter: c.limiter}
	defer h.release()
	conn, info, err := c.TransportCredentials.ServerHandshake(h)
	if err == nil {
		connlimit.Protect(raw, true)
	}
	return conn, info, err
}

// handshake is a connection during its TLS handshake. It occupies the limiter from the client's first message until the server waits for
// the next one, because the expensive computation lies between the two.
type handshake struct {
	net.Conn
	limiter  *limiter
	admitted bool // the handshake occupies the limiter
}

// admit waits in the queue of the limiter until the handshake may continue. It returns an error if the queue is full or the wait too
// long.
func (h *handshake) admit() error {
	if err := h.limiter.acquire(context.Background()); err != nil {
		return fmt.Errorf("wait for other TLS handshakes: %w", err)
	}
	h.admitted = true
	return nil
}

// release leaves the limiter, so that another handshake can run. It does nothing if this one was not admitted or has left already.
func (h *handshake) release() {
	if h.admitted {
		h.admitted = false
		h.limiter.release()
	}
}

// Read implements net.Conn. When the server waits for the client, its computation is done, so Read releases the limiter first.
func (h *handshake) Read(b []byte) (int, error) {
	h.release()
	return h.Conn.Read(b)
}
