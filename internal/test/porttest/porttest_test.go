package porttest

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAServerListensAgainAndAgain(t *testing.T) {
	address := Reserve(t)
	for range 3 {
		if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dial without a server: %v", err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		// The server closes first, so that its socket stays in TIME_WAIT.
		_, _, _ = server.Close(), client.Close(), l.Close()
	}
}

// The test limits the range of ports that Linux assigns to the reserved one, and asks for a port.
func TestLinuxAssignsNoReservedPort(t *testing.T) {
	reserved := netip.MustParseAddrPort(Reserve(t))
	only := func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			port := int(reserved.Port())
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE, port<<16|port)
		})
		return errors.Join(err, failed)
	}
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	dialer := net.Dialer{Control: only}
	_, err = dialer.DialContext(t.Context(), "tcp", peer.Addr().String())
	if errors.Is(err, unix.ENOPROTOOPT) {
		t.Skip("IP_LOCAL_PORT_RANGE needs Linux 6.3")
	}
	if !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("a client got the reserved port: %v", err)
	}
	listener := net.ListenConfig{Control: only}
	if _, err := listener.Listen(t.Context(), "tcp", "127.0.0.1:0"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a server got the reserved port: %v", err)
	}
}
