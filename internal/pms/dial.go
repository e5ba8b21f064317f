package pms

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errAddress means that the rules refused the address before a connection was opened.
var errAddress = errors.New("the host resolves to an address that calls to partners may not use")

// errLookup means that a host name could not be resolved.
var errLookup = errors.New("the host name could not be resolved")

// dialer opens connections to addresses that the rules allow. It checks the address just before the kernel connects to it, so a name that
// resolves differently the second time (DNS rebinding) cannot bypass the check.
type dialer struct {
	rules    *Rules
	resolver *net.Resolver
	timeout  time.Duration
	observe  func(address string) // observe is called for each allowed connection attempt; tests only
}

// Dialer returns a function that connects only to addresses that the rules allow, within a time limit.
func (r *Rules) Dialer(timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return (&dialer{rules: r, resolver: net.DefaultResolver, timeout: timeout}).DialContext
}

// DialContext resolves the name and connects within the timeout. It returns errAddress for a name if any of its addresses is refused, and
// errLookup if the name cannot be resolved.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errAddress
	}
	guard := d.rules.addressCheck(host, port)
	if err := d.resolveAll(ctx, host, guard); err != nil {
		return nil, err
	}
	nd := net.Dialer{
		Resolver: d.resolver,
		Control: func(network, address string, _ syscall.RawConn) error {
			if network != "tcp4" && network != "tcp6" {
				return errAddress
			}
			ap, err := netip.ParseAddrPort(address)
			if err != nil || !guard(ap.Addr()) {
				return errAddress
			}
			if d.observe != nil {
				d.observe(address)
			}
			return nil
		},
	}
	return nd.DialContext(ctx, network, address)
}

// resolveAll checks every address of a host, which is a name or an address. It returns errAddress if guard refuses one
// of them, and errLookup if the name cannot be resolved.
func (d *dialer) resolveAll(ctx context.Context, host string, guard func(netip.Addr) bool) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !guard(addr) {
			return errAddress
		}
		return nil
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return errors.Join(errLookup, err)
	}
	for _, addr := range addrs {
		if !guard(addr.Unmap()) {
			return errAddress
		}
	}
	return nil
}

// addressCheck returns a function that reports whether a connection for a URL's host and port may go to an address. A host that the
// operator has listed ([RulesOptions].Hosts) may have private addresses, a listed address only itself. Others need an allowed port and a
// public address.
func (r *Rules) addressCheck(host, port string) func(netip.Addr) bool {
	host = strings.ToLower(host)
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return func(netip.Addr) bool { return false }
	}
	literal, err := netip.ParseAddr(host)
	isLiteral := err == nil
	switch listed := r.isListed(host, uint16(n)); {
	case listed && isLiteral:
		return func(addr netip.Addr) bool { return addr == literal }
	case listed:
		return func(addr netip.Addr) bool {
			within := func(p netip.Prefix) bool { return p.Contains(addr) }
			return !slices.ContainsFunc(r.never, within) && r.private.SafeAddr(addr) == nil
		}
	case !slices.Contains(r.ports, uint16(n)):
		return func(netip.Addr) bool { return false }
	default:
		return func(addr netip.Addr) bool { return r.public.SafeAddr(addr) == nil }
	}
}
