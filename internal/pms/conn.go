package pms

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

// TLS errors other than an invalid certificate.
var (
	errHandshake     = errors.New("the TLS handshake failed")
	errHandshakeTime = errors.New("the TLS handshake took too long")
)

// connect opens a connection for plain HTTP, only to an address that the rules allow.
func (c *Client) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newWriteFirstConn(conn), nil
}

// connectTLS opens a connection, only to an address that the rules allow, and performs the TLS handshake within the limit TLS. It verifies
// the certificate for the host of address.
func (c *Client) connectTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(errAddress, conn.Close())
	}
	secure := tls.Client(conn, &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: c.roots, ServerName: host, NextProtos: []string{"http/1.1"},
	})
	limited, cancel := context.WithTimeout(ctx, c.limits.TLS)
	defer cancel()
	if err := secure.HandshakeContext(limited); err != nil {
		_ = conn.Close()
		if limited.Err() != nil {
			return nil, errors.Join(errHandshakeTime, limited.Err())
		}
		return nil, errors.Join(errHandshake, err)
	}
	return newWriteFirstConn(secure), nil
}

// writeFirstConn is a connection that is not read before the first write. If a server sends data first, net/http would
// print it to the standard log.
type writeFirstConn struct {
	net.Conn
	once    sync.Once
	written chan struct{} // closed by the first Write, or by Close; Read waits for that
}

// newWriteFirstConn wraps a connection that was just opened.
func newWriteFirstConn(conn net.Conn) *writeFirstConn {
	return &writeFirstConn{Conn: conn, written: make(chan struct{})}
}

// Read waits for the first write, or for Close, and then reads.
func (p *writeFirstConn) Read(b []byte) (int, error) {
	<-p.written
	return p.Conn.Read(b)
}

// Write writes, and releases a Read that waits for the first write.
func (p *writeFirstConn) Write(b []byte) (int, error) {
	p.once.Do(func() { close(p.written) })
	return p.Conn.Write(b)
}

// Close closes the connection, and releases a Read that waits for the first write.
func (p *writeFirstConn) Close() error {
	p.once.Do(func() { close(p.written) })
	return p.Conn.Close()
}
