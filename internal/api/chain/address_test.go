package chain

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"google.golang.org/grpc/peer"
)

func TestClientAddr(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	tcp := func(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }
	for _, c := range []struct {
		name      string
		peer      net.Addr
		forwarded []string
		want      string
	}{
		{"direct", tcp("203.0.113.7:1"), nil, "203.0.113.7"},
		{"a client's own header", tcp("203.0.113.7:1"), []string{"198.51.100.1"}, "203.0.113.7"},
		{"one proxy", tcp("10.1.1.1:1"), []string{"198.51.100.1"}, "198.51.100.1"},
		{"two proxies", tcp("10.1.1.1:1"), []string{"198.51.100.1, 10.2.2.2"}, "198.51.100.1"},
		{"forged on the left", tcp("10.1.1.1:1"), []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		{"header in two lines", tcp("10.1.1.1:1"), []string{"1.1.1.1", "198.51.100.1"}, "198.51.100.1"},
		{"nonsense ends the walk", tcp("10.1.1.1:1"), []string{"198.51.100.1, unknown"}, "10.1.1.1"},
		{"only proxies", tcp("10.1.1.1:1"), []string{"10.2.2.2"}, "10.2.2.2"},
		{"no header", tcp("10.1.1.1:1"), nil, "10.1.1.1"},
		{"IPv6", tcp("[fd00::1]:1"), []string{"2001:db8::9"}, "2001:db8::9"},
		{"mapped", tcp("[::ffff:203.0.113.7]:1"), nil, "203.0.113.7"},
		{"over HTTP", remoteAddr("203.0.113.7:1"), nil, "203.0.113.7"},
		{"unix", &net.UnixAddr{Name: "x", Net: "unix"}, []string{"1.1.1.1"}, "invalid IP"},
		{"unknown", remoteAddr("pipe"), nil, "invalid IP"},
	} {
		ctx := peer.NewContext(context.Background(), &peer.Peer{Addr: c.peer})
		if got := clientAddr(ctx, c.forwarded, trusted).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if clientAddr(context.Background(), nil, nil).IsValid() {
		t.Error("an address out of nothing")
	}
}

func TestClientNetwork(t *testing.T) {
	for in, want := range map[string]string{"203.0.113.7": "203.0.113.7/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64"} {
		if got := ClientNetwork(netip.MustParseAddr(in)); got != want {
			t.Errorf("network(%s) = %s, want %s", in, got, want)
		}
	}
}
