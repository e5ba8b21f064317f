package halfopen

import (
	"io"
	"net"
	"sync"
	"testing"
)

// hole is a proxy between a bridge and the service. While it is open, it drops everything, even the end of a connection, like a
// router that has forgotten the connection.
type hole struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	service string
	open    bool
	eaten   int // bytes
	ends    []net.Conn
}

func newHole(t *testing.T) *hole {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{listener: l}
	h.running.Go(h.accept)
	t.Cleanup(func() {
		_ = l.Close()
		h.close()
		h.running.Wait()
	})
	return h
}

// link is what a world wants.
func (h *hole) link(service string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.service = service
	return h.listener.Addr().String(), nil
}

// swallow opens the hole. Who connects meanwhile is not answered either.
func (h *hole) swallow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
}

// heal closes it. What was connected through it learns now that it is not.
func (h *hole) heal() (eaten int) {
	h.close()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = false
	return h.eaten
}

func (h *hole) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.ends {
		_ = c.Close()
	}
	h.ends = nil
}

func (h *hole) accept() {
	for {
		bridge, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		service, err := net.Dial("tcp", h.service)
		if err != nil {
			h.mu.Unlock()
			_ = bridge.Close()
			continue
		}
		h.ends = append(h.ends, bridge, service)
		h.mu.Unlock()
		h.running.Go(func() { h.pump(bridge, service) })
		h.running.Go(func() { h.pump(service, bridge) })
	}
}

func (h *hole) pump(from, to net.Conn) {
	_, _ = io.Copy(writer{h, to}, from)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open {
		_ = to.Close()
	}
}

// writer passes on what the hole does not swallow.
type writer struct {
	hole *hole
	to   net.Conn
}

func (w writer) Write(p []byte) (int, error) {
	w.hole.mu.Lock()
	open := w.hole.open
	if open {
		w.hole.eaten += len(p)
	}
	w.hole.mu.Unlock()
	if open {
		return len(p), nil
	}
	return w.to.Write(p)
}
