package agent

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
)

// from returns a client that calls from another address of this machine.
func (n *nearby) from(ip string) *nearby {
	t := n.client.Transport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).DialContext
	n.t.Cleanup(t.CloseIdleConnections)
	return &nearby{t: n.t, client: &http.Client{Transport: t}, url: n.url}
}

// silence opens connections that send nothing.
func (n *nearby) silence(ip string, many int) []net.Conn {
	n.t.Helper()
	all := make([]net.Conn, many)
	for i := range all {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).DialContext(context.Background(), "tcp", n.url[len("https://"):])
		if err != nil {
			n.t.Fatal(err)
		}
		n.t.Cleanup(func() { _ = c.Close() })
		all[i] = c
	}
	return all
}

// TestSilentConnectionsBlockNoPhone opens as many silent connections as the bridge accepts. A phone must still be served.
func TestSilentConnectionsBlockNoPhone(t *testing.T) {
	r, _ := keyed(t, newMint(t, keyProperty))
	n := near(t, r.bridge)
	n.silence("127.0.0.1", 2*localConnections)
	for _, ip := range []string{"127.0.0.2", "127.0.0.1"} {
		if status, _, _ := n.from(ip).call("POST", localGreeting, "", "", nil); status != 200 {
			t.Errorf("one silent device, a phone at %s: status %d", ip, status)
		}
	}
	for i := range 2 * localConnections / localPerAddress {
		n.silence(fmt.Sprintf("127.0.1.%d", i+1), localPerAddress)
	}
	if status, _, _ := n.from("127.0.0.3").call("POST", localGreeting, "", "", nil); status != 200 {
		t.Errorf("many silent devices: status %d", status)
	}
}

// TestStalledHandshakeIsClosed opens a connection and never sends the TLS handshake.
func TestStalledHandshakeIsClosed(t *testing.T) {
	r, _ := keyed(t, newMint(t, keyProperty))
	n := near(t, r.bridge)
	silent := n.silence("127.0.0.1", 1)[0]
	ended := make(chan error, 1)
	go func() {
		_, err := silent.Read(make([]byte, 1))
		ended <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), localTimeout-localHandshake)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Error("the connection is still open")
	}
}
