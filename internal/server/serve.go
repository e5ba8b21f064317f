package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/connectrpc"
	"latchkey.dev/internal/connlimit"
)

// grpcOptions returns the options of the public gRPC listener. The defaults of gRPC limit neither streams nor idle connections.
func (s *Server) grpcOptions(c *chain.Chain) []grpc.ServerOption {
	options := append(c.ServerOptions(),
		grpc.ConnectionTimeout(5*time.Second),
		grpc.MaxConcurrentStreams(250),
		grpc.MaxHeaderListSize(16<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second, MaxConnectionIdle: 50 * time.Second, MaxConnectionAge: 4 * time.Hour, MaxConnectionAgeGrace: time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	if s.tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.tls)))
	}
	return options
}

// httpServer returns an HTTP server with time limits: a request must arrive within a minute, and its answer must be read within a minute
// after the call's deadline. Streams have no limit for the answer, and a profile has its own duration in addition. Over HTTP/2, one
// connection may have 100 requests at once, of which the server buffers little, because an address may have many connections.
func (s *Server) httpServer(h http.Handler) *http.Server {
	const in, out = time.Minute, time.Minute
	return &http.Server{
		Handler: h, Protocols: connectrpc.Protocols(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: in, WriteTimeout: in + s.cfg.CallDeadline + out,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 100, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 128 << 10},
		ConnState:   func(c net.Conn, state http.ConnState) { connlimit.Protect(c, state == http.StateActive) },
		IdleTimeout: 50 * time.Second, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// serve starts to serve all listeners in g. If one ends before the server stops, g gets an error. It does not wait for them to end. The
// listener for operations uses TLS as opsOverTLS says.
func (s *Server) serve(g *errgroup.Group) {
	front := hsts(s.front())
	public, socket, ops := s.httpServer(front), s.httpServer(s.operatorFront(front)), s.httpServer(s.operations())
	s.parts.http = []*http.Server{public, socket, ops}

	web, operations := s.overTLS(s.listeners.http), s.listeners.ops
	if s.opsOverTLS() {
		operations = s.overTLS(operations)
	}
	for name, run := range map[string]func() error{
		"HTTP":    func() error { return public.Serve(web) },
		"socket":  func() error { return socket.Serve(s.listeners.socket) },
		"ops":     func() error { return ops.Serve(operations) },
		"gRPC":    func() error { return s.parts.grpc.Serve(s.listeners.grpc) },
		"bridges": func() error { return s.parts.bridges.Serve(s.listeners.bridge) },
	} {
		g.Go(func() error {
			err := run()
			if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
				return nil
			}
			return fmt.Errorf("%s listener: %w", name, err)
		})
	}
}

// overTLS wraps an HTTP listener in TLS if the server has a certificate; else it returns l.
func (s *Server) overTLS(l net.Listener) net.Listener {
	if s.tls == nil {
		return l
	}
	config := s.tls.Clone()
	if config.NextProtos == nil { // the configuration of ACME already has protocols, with one for its challenge
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	return tls.NewListener(l, config)
}

// callGrace is how long calls may continue after the window for disconnecting the bridges, however soon these have gone.
const callGrace = 5 * time.Second

// awaitLoadBalancers continues to serve for the configured grace period while health checks answer not ready. Load balancers check about
// every second, and until then would send calls to a closed listener. It returns early if a part of the server fails.
func (s *Server) awaitLoadBalancers(running context.Context) {
	s.parts.health.Shutdown()
	grace := time.NewTimer(s.cfg.Grace())
	defer grace.Stop()
	select {
	case <-grace.C:
	case <-running.Done():
	}
}

// stop disconnects the bridges, spread over window, and lets calls finish. It first closes the listener for bridges, so that disconnected
// bridges connect to another server. It takes at most window and callGrace together, however many bridges remain. At the end it cancels
// open calls, because graceful stops of net/http and gRPC wait for open streams.
func (s *Server) stop(window time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), window+callGrace)
	defer cancel()
	var all sync.WaitGroup
	graceful := func(server *grpc.Server) {
		cut := context.AfterFunc(ctx, server.Stop)
		defer cut()
		server.GracefulStop()
	}
	all.Go(func() { graceful(s.parts.bridges) })
	s.parts.feed.Close() // open streams would hold up the listeners
	s.parts.changes.Close()
	s.parts.node.Drain(ctx, window)
	for _, server := range s.parts.http {
		all.Go(func() {
			if err := server.Shutdown(ctx); err != nil {
				s.log.Warn("calls were cut", "error", errors.Join(err, server.Close()))
			}
		})
	}
	all.Go(func() { graceful(s.parts.grpc) })
	all.Wait()
}
