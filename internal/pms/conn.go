package pms

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

// Errors of a handshake, besides a certificate's own.
var (
	errHandshake     = errors.New("the TLS handshake failed")
	errHandshakeTime = errors.New("the TLS handshake took too long")
)

// connect opens a connection for plain HTTP.
func (c *Client) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newPatient(conn), nil
}

// connectTLS opens a connection and does the handshake within its own limit.
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
	return newPatient(secure), nil
}

// patient is a connection that is not read before something was written to it. A server
// that speaks first would otherwise have net/http print what it says to the standard log.
type patient struct {
	net.Conn
	once  sync.Once
	spoke chan struct{}
}

func newPatient(conn net.Conn) *patient { return &patient{Conn: conn, spoke: make(chan struct{})} }

func (p *patient) Read(b []byte) (int, error) {
	<-p.spoke
	return p.Conn.Read(b)
}

func (p *patient) Write(b []byte) (int, error) {
	p.once.Do(func() { close(p.spoke) })
	return p.Conn.Write(b)
}

func (p *patient) Close() error {
	p.once.Do(func() { close(p.spoke) })
	return p.Conn.Close()
}
