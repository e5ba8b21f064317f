package chain

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/peer"

	"latchkey.dev/internal/connlimit"
)

// clientAddr returns the address of the client: that of the connection, or, when a trusted
// proxy made the connection, the last address in X-Forwarded-For that is no trusted proxy
// itself. What stands left of it was written by the client and proves nothing.
func clientAddr(ctx context.Context, forwarded []string, trusted []netip.Prefix) netip.Addr {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return netip.Addr{}
	}
	var addr netip.Addr
	switch a := p.Addr.(type) {
	case *net.TCPAddr:
		addr = a.AddrPort().Addr().Unmap()
	case *net.UnixAddr:
		return netip.Addr{}
	default:
		ap, err := netip.ParseAddrPort(a.String())
		if err != nil {
			return netip.Addr{}
		}
		addr = ap.Addr().Unmap()
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && within(addr, trusted); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// network is what one client controls: an IPv4 address or a /64 of IPv6.
func network(a netip.Addr) string { return connlimit.Network(a).String() }
