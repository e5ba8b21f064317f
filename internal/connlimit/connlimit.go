// Package connlimit limits how many connections of a listener one address may hold. An address is what one client controls:
// an IPv4 address, or a /64 of IPv6.
package connlimit

import (
	"container/list"
	"crypto/tls"
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
	// UntilProtected makes EvictSilent close the oldest connection that [Protect] does not protect, whatever its client has sent. It is for
	// servers that know which connections are in use.
	UntilProtected bool
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
	idle list.List // each *conn that may be evicted, oldest first; empty without EvictSilent
}

// Accept returns the next connection within the limits, and closes those beyond them. It fails only if the wrapped listener does.
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
// close an older connection to make room. It calls Exceeded in both cases.
func (l *listener) admit(c net.Conn) net.Conn {
	from := AddrOf(c.RemoteAddr())
	n := &conn{Conn: c, listener: l, from: l.limitKey(from)}
	l.mu.Lock()
	var evicted *conn
	ok := l.isWithinLimits(n.from)
	if !ok && l.cfg.EvictSilent {
		if evicted = l.oldestEvictable(n.from); evicted != nil {
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

// isWithinLimits reports whether one more connection from the network is allowed. The caller holds l.mu.
func (l *listener) isWithinLimits(from netip.Prefix) bool {
	return !l.isAtLimit(from) && (l.cfg.Total == 0 || l.all < l.cfg.Total)
}

// isAtLimit reports whether a network holds as many connections as one address may. The zero Prefix has no limit. The caller holds l.mu.
func (l *listener) isAtLimit(from netip.Prefix) bool {
	return l.cfg.PerAddress > 0 && from.IsValid() && l.by[from] >= l.cfg.PerAddress
}

// oldestEvictable returns the connection to close for a new one: the oldest that may be evicted, from the same network if that is at its
// limit, otherwise from any. It returns nil if there is none. The caller holds l.mu.
func (l *listener) oldestEvictable(from netip.Prefix) *conn {
	own := l.isAtLimit(from)
	for e := l.idle.Front(); e != nil; e = e.Next() {
		if c, ok := e.Value.(*conn); ok && (!own || c.from == from) {
			return c
		}
	}
	return nil
}

// add begins to count a connection. With EvictSilent the connection may then be evicted. The caller holds l.mu.
func (l *listener) add(c *conn) {
	l.all++
	if c.from.IsValid() {
		l.by[c.from]++
	}
	if l.cfg.EvictSilent {
		c.spot = l.idle.PushBack(c)
	}
}

// remove stops counting a connection, which it does not close. Further calls for the same connection do nothing. The caller holds l.mu.
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
	l.protect(c)
}

// protect removes a connection from those that may be evicted. The caller holds l.mu.
func (l *listener) protect(c *conn) {
	if c.spot != nil {
		l.idle.Remove(c.spot)
		c.spot = nil
	}
}

// conn is a connection that is counted until it is closed.
type conn struct {
	net.Conn
	listener *listener
	from     netip.Prefix

	gone bool          // no longer counted; guarded by the listener's mutex
	spot *list.Element // place of the connection in the listener's idle; nil: it may not be evicted; guarded by the listener's mutex
	once sync.Once     // lets only the first data that Read returns protect the connection
}

// Read reads from the connection. The first data protect it from being evicted, unless only [Protect] does.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.listener.cfg.EvictSilent && !c.listener.cfg.UntilProtected {
		c.once.Do(func() { Protect(c, true) })
	}
	return n, err
}

// Protect begins or ends the protection of a connection from being evicted. The connection is one that a listener of [New] has accepted,
// possibly within TLS. Protect does nothing for others, and for those of a listener without EvictSilent.
func Protect(c net.Conn, on bool) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	own, ok := c.(*conn)
	if !ok || !own.listener.cfg.EvictSilent {
		return
	}
	l := own.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on:
		l.protect(own)
	case own.spot == nil && !own.gone:
		own.spot = l.idle.PushBack(own)
	}
}

// Close closes the connection and stops counting it.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
