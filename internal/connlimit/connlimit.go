// Package connlimit limits how many connections of a listener one address may hold. An address is what one client controls:
// an IPv4 address, or a /64 of IPv6.
package connlimit

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Config sets the limits.
type Config struct {
	// PerAddress limits the connections of one address; zero: no limit.
	PerAddress int
	// Total limits the connections of all addresses; zero: no limit.
	Total int
	// Exempt are networks whose connections count only towards Total, such as those of proxies.
	Exempt []netip.Prefix
	// EvictSilent makes room for a new connection that would be refused: it closes the oldest connection whose client has sent nothing.
	// That is one of the same address if the address is at its limit, otherwise one of any address.
	EvictSilent bool
	// Exceeded is called for each new connection that is refused, or that evicts an older one. from is the address of the new one. It may be
	// nil.
	Exceeded func(from netip.Addr)
}

// New returns a listener that accepts connections within the limits and closes others at once, without an error from Accept. Connections
// without an IP address, such as those of Unix sockets, count only towards Total.
func New(l net.Listener, cfg Config) net.Listener {
	return &listener{Listener: l, cfg: cfg, by: map[netip.Prefix]int{}}
}

// Network returns the network that one client controls, to which the address a belongs: the IPv4 address itself, or the /64 of IPv6. It
// returns the zero Prefix for the zero Addr.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// AddrOf returns the IP address of a; the zero Addr if a is not a TCP address.
func AddrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// listener counts the open connections, in total and by network.
type listener struct {
	net.Listener
	cfg Config

	mu   sync.Mutex
	all  int
	by   map[netip.Prefix]int
	open []*conn // oldest first; only used with EvictSilent
}

// Accept returns the next connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if kept := l.admit(c); kept != nil {
			return kept, nil
		}
		_ = c.Close()
	}
}

// admit counts a new connection and returns it. If a limit is reached, it returns nil, and the caller closes c. With EvictSilent it may
// close an older connection to make room.
func (l *listener) admit(c net.Conn) net.Conn {
	from := AddrOf(c.RemoteAddr())
	n := &conn{Conn: c, listener: l, from: l.limitKey(from)}
	l.mu.Lock()
	var evicted *conn
	ok := l.isWithinLimits(n.from)
	if !ok && l.cfg.EvictSilent {
		if evicted = l.oldestSilent(n.from); evicted != nil {
			l.remove(evicted)
			ok = l.isWithinLimits(n.from)
		}
	}
	if ok {
		l.add(n)
	}
	l.mu.Unlock()
	if evicted != nil {
		_ = evicted.Conn.Close()
	}
	if (evicted != nil || !ok) && l.cfg.Exceeded != nil {
		l.cfg.Exceeded(from)
	}
	if !ok {
		return nil
	}
	return n
}

// limitKey returns the network that a connection counts for, or the zero Prefix if it counts only towards Total.
func (l *listener) limitKey(from netip.Addr) netip.Prefix {
	if !from.IsValid() || slices.ContainsFunc(l.cfg.Exempt, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return netip.Prefix{}
	}
	return Network(from)
}

// isWithinLimits reports whether one more connection from the network is allowed. The caller holds l.mu, also for the next four methods.
func (l *listener) isWithinLimits(from netip.Prefix) bool {
	return !l.isAtLimit(from) && (l.cfg.Total == 0 || l.all < l.cfg.Total)
}

// isAtLimit reports whether a network holds as many connections as one address may. The zero Prefix has no limit.
func (l *listener) isAtLimit(from netip.Prefix) bool {
	return l.cfg.PerAddress > 0 && from.IsValid() && l.by[from] >= l.cfg.PerAddress
}

// oldestSilent returns the connection to close for a new one: the oldest that has sent nothing, from the same network if that is at its
// limit. It returns nil if there is none.
func (l *listener) oldestSilent(from netip.Prefix) *conn {
	own := l.isAtLimit(from)
	for _, c := range l.open {
		if !c.hasSent && (!own || c.from == from) {
			return c
		}
	}
	return nil
}

// add begins to count a connection.
func (l *listener) add(c *conn) {
	l.all++
	if c.from.IsValid() {
		l.by[c.from]++
	}
	if l.cfg.EvictSilent {
		l.open = append(l.open, c)
	}
}

// remove stops counting a connection. Further calls for the same connection do nothing.
func (l *listener) remove(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	l.all--
	if c.from.IsValid() {
		if l.by[c.from]--; l.by[c.from] == 0 {
			delete(l.by, c.from)
		}
	}
	if l.cfg.EvictSilent {
		l.open = slices.DeleteFunc(l.open, func(o *conn) bool { return o == c })
	}
}

// conn is a connection that is counted until it is closed.
type conn struct {
	net.Conn
	listener *listener
	from     netip.Prefix

	gone    bool // no longer counted; guarded by the listener's mutex
	hasSent bool // the client has sent data; guarded by the listener's mutex
	once    sync.Once
}

// Read reads from the connection. The first data protect it from being evicted.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.listener.cfg.EvictSilent {
		c.once.Do(func() {
			c.listener.mu.Lock()
			defer c.listener.mu.Unlock()
			c.hasSent = true
		})
	}
	return n, err
}

// Close closes the connection and stops counting it.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
