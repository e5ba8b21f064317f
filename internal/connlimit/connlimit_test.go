package connlimit

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// door serves connections by sending back what comes.
type door struct {
	t       *testing.T
	addr    string
	refused chan netip.Addr
}

func open(t *testing.T, cfg Config) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, addr: l.Addr().String(), refused: make(chan netip.Addr, 1000)}
	cfg.Exceeded = func(from netip.Addr) { d.refused <- from }
	limited := New(l, cfg)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := limited.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = limited.Close()
		<-done
	})
	return d
}

func (d *door) dial(from string) net.Conn {
	d.t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(d.t.Context(), "tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	return c
}

// answers reports whether a connection is served.
func answers(c net.Conn) bool {
	if _, err := c.Write([]byte("x")); err != nil {
		return false
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err == nil
}

// cut waits until a connection is closed by the other end.
func cut(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, net.ErrClosed)
}

func TestAnAddressHoldsItsShare(t *testing.T) {
	d := open(t, Config{PerAddress: 2, Exempt: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
	one, two := d.dial("127.0.0.1"), d.dial("127.0.0.1")
	if !answers(one) || !answers(two) {
		t.Error("the share of an address is not served")
	}
	if three := d.dial("127.0.0.1"); answers(three) {
		t.Error("a third connection is served")
	}
	if from := <-d.refused; from.String() != "127.0.0.1" {
		t.Errorf("refused %v", from)
	}
	for _, other := range []string{"127.0.0.2", "127.0.0.9", "127.0.0.9", "127.0.0.9"} {
		if !answers(d.dial(other)) {
			t.Errorf("%s is not served", other)
		}
	}
	_ = one.Close()
	for !answers(d.dial("127.0.0.1")) { // until the server noticed
		if t.Context().Err() != nil {
			t.Fatal("the place of a closed connection is not free")
		}
	}
	if !answers(two) {
		t.Error("an open connection was cut")
	}
}

func TestTheOldestSilentConnectionMakesRoom(t *testing.T) {
	d := open(t, Config{PerAddress: 2, Total: 3, EvictSilent: true})
	spoken := d.dial("127.0.0.1")
	if !answers(spoken) {
		t.Fatal("not served")
	}
	silent := d.dial("127.0.0.1")
	if !answers(d.dial("127.0.0.1")) || !cut(silent) || !answers(spoken) {
		t.Error("the silent connection of the same address did not make room")
	}
	older := d.dial("127.0.0.2") // three are open: two of the first address have spoken
	if !answers(d.dial("127.0.0.3")) || !cut(older) {
		t.Error("the silent connection of another address did not make room")
	}
	if answers(d.dial("127.0.0.4")) {
		t.Error("all have spoken, and one more is served")
	}
	if len(d.refused) != 3 {
		t.Errorf("%d refused or evicted, want 3", len(d.refused))
	}
}

func TestNetwork(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8::1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := Network(netip.MustParseAddr(in)); got.String() != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
	if got := Network(netip.Addr{}); got.IsValid() {
		t.Errorf("no address: %v", got)
	}
}

func TestProtectedConnectionsAreKept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := New(l, Config{PerAddress: 2, EvictSilent: true, UntilProtected: true})
	defer func() { _ = limited.Close() }()
	accept := func() (client, server net.Conn) {
		t.Helper()
		client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if server, err = limited.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = client.Close(), server.Close() })
		_, _ = client.Write([]byte("x"))
		_, _ = io.ReadFull(server, make([]byte, 1))
		return client, server
	}
	first, kept := accept()
	Protect(tls.Server(kept, &tls.Config{}), true)
	second, unused := accept()
	third, used := accept() // what the second has sent does not protect it
	if !cut(second) {
		t.Error("an unused connection did not make room")
	}
	Protect(unused, false) // too late
	Protect(used, true)
	Protect(kept, false)
	accept()
	if !cut(first) {
		t.Error("a connection that is no longer used did not make room")
	}
	if _, err := used.Write([]byte("y")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(third, make([]byte, 1)); err != nil {
		t.Errorf("a used connection was closed: %v", err)
	}
}
