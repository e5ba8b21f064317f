// Package porttest reserves loopback ports for servers that tests start late, or stop and start again.
package porttest

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// Reserve returns the address of a free loopback port, which stays reserved until t ends. Linux assigns the port to no other
// socket, because a socket of the test is bound to it. That socket does not listen: clients are refused, and one server at a time
// can listen at the address, if it sets SO_REUSEADDR as Go and Mosquitto do.
func Reserve(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(os.NewSyscallError("socket", err))
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(os.NewSyscallError("setsockopt", err))
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback.As4()}); err != nil {
		t.Fatal(os.NewSyscallError("bind", err))
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(os.NewSyscallError("getsockname", err))
	}
	port := uint16(bound.(*syscall.SockaddrInet4).Port)
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(loopback, port)).String()
}

// ReserveN returns the addresses of n reserved ports.
func ReserveN(t testing.TB, n int) []string {
	t.Helper()
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = Reserve(t)
	}
	return addresses
}
