package chain

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/peer"

	"latchkey.dev/internal/connlimit"
)

// clientAddr returns the address of the client: that of the connection or, if a trusted proxy made it, the rightmost address in
// X-Forwarded-For that is not a trusted proxy. The client can forge entries further left. If there is no such address, or an entry is
// malformed, it is the last trusted proxy before. It is the zero Addr for a Unix socket or an unknown peer.
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
	for i := len(hops) - 1; i >= 0 && isInPrefixes(addr, trusted); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr
}

func isInPrefixes(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// ClientNetwork returns the network that counts as one client for limits: the address itself of IPv4, the /64 of IPv6. All invalid
// addresses, such as those of calls over a Unix socket, count as one client.
func ClientNetwork(a netip.Addr) string { return connlimit.Network(a).String() }
