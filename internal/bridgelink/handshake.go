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

// handshakeLimits bounds concurrent TLS handshakes to half of the cores, so that API calls come first when thousands of bridges
// reconnect.
func handshakeLimits() limits {
	return limits{active: max(runtime.GOMAXPROCS(0)/2, 1), waiting: 10_000, timeout: handshakeTimeout}
}

// handshakeTimeout is how long a connection may take for its handshake, including the wait in the queue.
const handshakeTimeout = 20 * time.Second

// queuedTLS is TLS with a bounded number of concurrent handshakes.
type queuedTLS struct {
	credentials.TransportCredentials
	limiter *limiter
}

// newQueuedTLS queues a handshake once the client's first message is complete, so that a slow or silent client does not block others.
func newQueuedTLS(config *tls.Config, handshakes *limiter) queuedTLS {
	config = config.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, hello.Conn.(*handshake).admit()
	}
	return queuedTLS{credentials.NewTLS(config), handshakes}
}

// ServerHandshake releases the limiter however the handshake ends.
func (c queuedTLS) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	h := &handshake{Conn: raw, limiter: c.limiter}
	defer h.release()
	return c.TransportCredentials.ServerHandshake(h)
}

// handshake is a connection that is admitted by the limiter from the client's first message until the server waits for the next one.
// The expensive computation lies between the two.
type handshake struct {
	net.Conn
	limiter  *limiter
	admitted bool
}

func (h *handshake) admit() error {
	if err := h.limiter.acquire(context.Background()); err != nil {
		return fmt.Errorf("wait for other TLS handshakes: %w", err)
	}
	h.admitted = true
	return nil
}

func (h *handshake) release() {
	if h.admitted {
		h.admitted = false
		h.limiter.release()
	}
}

func (h *handshake) Read(b []byte) (int, error) {
	h.release()
	return h.Conn.Read(b)
}
