package bridgelink

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
)

// shaking is a listener that admits one handshake at a time.
type shaking struct {
	*site
	turns  *limiter
	client *tls.Config
	creds  queuedTLS
}

func newShaking(t *testing.T) *shaking {
	s := newSite(t, "sqlite")
	ca, err := x509.ParseCertificate(s.ca.Certificate())
	s.must(err)
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	h := &shaking{site: s, turns: newLimiter(limits{active: 1, waiting: 5, timeout: patience})}
	h.client = &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: bridge.ServerName, NextProtos: []string{"h2"},
		Certificates: []tls.Certificate{s.enrol("front").cert},
	}
	h.creds = newQueuedTLS(TLSConfig(s.ca, clock.System), h.turns)
	return h
}

// begin begins a handshake with a client and returns its result on the server.
func (h *shaking) begin(client func(net.Conn)) <-chan error {
	h.t.Helper()
	ours, theirs := net.Pipe()
	h.t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	done := make(chan error, 1)
	go func() {
		_, _, err := h.creds.ServerHandshake(ours)
		done <- err
	}()
	go client(theirs)
	return done
}

func (h *shaking) good(c net.Conn) {
	if err := tls.Client(c, h.client).Handshake(); err != nil {
		h.t.Error(err)
	}
}

// await waits for the end of a handshake.
func (h *shaking) await(done <-chan error) error {
	h.t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		h.t.Fatal("the handshake does not end")
	}
	return nil
}

// A client that sends nothing, half of its first message, or nothing after it delays no other client, and a failed handshake is
// released.
func TestSlowHandshakesBlockNoOthers(t *testing.T) {
	h := newShaking(t)
	h.begin(func(net.Conn) {})
	h.begin(func(c net.Conn) { _, _ = c.Write([]byte{22, 3, 1, 5}) })
	stalled, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	h.begin(func(c net.Conn) {
		_ = tls.Client(&stalling{Conn: c, stalled: stalled, over: over}, h.client).Handshake()
	})
	<-stalled
	garbage := h.begin(func(c net.Conn) {
		_, _ = c.Write(make([]byte, 100))
		_, _ = io.Copy(io.Discard, c)
	})
	if err := h.await(garbage); err == nil {
		t.Error("garbage passed the handshake")
	}
	stranger := h.client.Clone()
	stranger.Certificates = nil
	without := h.begin(func(c net.Conn) {
		_ = tls.Client(c, stranger).Handshake()
		_, _ = io.Copy(io.Discard, c)
	})
	if err := h.await(without); err == nil {
		t.Error("a client without a certificate passed the handshake")
	}
	for range 3 {
		if err := h.await(h.begin(h.good)); err != nil {
			t.Error(err)
		}
	}
	if !h.turns.isIdle() {
		t.Error("a handshake that ended keeps its turn")
	}
}

// stalling is a client that reads the server's answer and then sends nothing more.
type stalling struct {
	net.Conn
	said          bool
	stalled, over chan struct{}
}

func (c *stalling) Write(b []byte) (int, error) {
	if !c.said {
		c.said = true
		return c.Conn.Write(b)
	}
	close(c.stalled)
	<-c.over
	return 0, net.ErrClosed
}

func TestHandshakeWaitsForTheLimiter(t *testing.T) {
	h := newShaking(t)
	if err := h.turns.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := h.begin(h.good)
	h.until("the handshake waits", func() bool { return h.turns.waiting.Load() == 1 })
	select {
	case err := <-done:
		t.Errorf("the handshake ended without a turn: %v", err)
	default:
	}
	h.turns.release()
	if err := h.await(done); err != nil {
		t.Error(err)
	}
}
