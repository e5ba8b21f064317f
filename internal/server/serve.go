package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/connectrpc"
)

// grpcOptions are those of the public gRPC listener: grpc's own defaults bound neither streams nor idle connections.
func (s *Server) grpcOptions(c *chain.Chain) ([]grpc.ServerOption, error) {
	options := append(c.ServerOptions(),
		grpc.ConnectionTimeout(5*time.Second),
		grpc.MaxConcurrentStreams(250),
		grpc.MaxHeaderListSize(16<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second, MaxConnectionAge: 4 * time.Hour, MaxConnectionAgeGrace: time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	config, err := s.tls()
	if err != nil || config == nil {
		return options, err
	}
	return append(options, grpc.Creds(credentials.NewTLS(config))), nil
}

// serve starts every listener.
func (s *Server) serve(g *errgroup.Group) {
	front := s.front()
	public := &http.Server{
		Handler: front, Protocols: connectrpc.Protocols(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ReadTimeout: time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	socket := &http.Server{Handler: front, Protocols: connectrpc.Protocols(), ReadHeaderTimeout: 10 * time.Second}
	ops := &http.Server{Handler: s.operations(), ReadHeaderTimeout: 10 * time.Second}
	s.parts.stoppers = append(s.parts.stoppers, public.Shutdown, socket.Shutdown, ops.Shutdown)

	http1 := s.listeners.http
	if config, err := s.tls(); err == nil && config != nil {
		config.NextProtos = []string{"h2", "http/1.1"}
		http1 = tls.NewListener(http1, config)
	}
	for name, run := range map[string]func() error{
		"HTTP":    func() error { return public.Serve(http1) },
		"socket":  func() error { return socket.Serve(s.listeners.socket) },
		"ops":     func() error { return ops.Serve(s.listeners.ops) },
		"gRPC":    func() error { return s.parts.grpc.Serve(s.listeners.grpc) },
		"bridges": func() error { return s.parts.bridges.Serve(s.listeners.bridge) },
	} {
		g.Go(func() error {
			err := run()
			if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("%s listener: %w", name, err)
		})
	}
}

// stop lets bridges leave spread over a window, and calls finish. A stream that does not end is cut: grpc's GracefulStop
// alone never returns while one is open.
func (s *Server) stop(window time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), window+5*time.Second)
	defer cancel()
	s.parts.health.Shutdown()
	s.parts.node.Drain(ctx, window)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.parts.grpc.GracefulStop()
		s.parts.bridges.GracefulStop()
	}()
	for _, shutdown := range s.parts.stoppers {
		if err := shutdown(ctx); err != nil {
			s.log.Warn("calls were cut", "error", err)
		}
	}
	select {
	case <-done:
	case <-ctx.Done():
		s.parts.grpc.Stop()
		s.parts.bridges.Stop()
		<-done
	}
}
