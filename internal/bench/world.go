package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/telemetry"
)

// World is the addresses and tokens of a measured sandbox.
type World struct {
	HTTP, GRPC               string
	ClientToken, AccessToken string
}

// worldPart runs a sandbox in its own process: a server with one property.
type worldPart struct {
	process
	world *sandbox.World
	dir   string
	log   *os.File
	idle  atomic.Bool // the server answers reservation changes without doing the work, as the baseline
}

// serverConfig returns the product's default configuration with free ports and without the limits that a benchmark would reach.
func serverConfig(dir string) config.Config {
	c := config.Default()
	c.DataDir = filepath.Join(dir, "data")
	c.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	c.ConnectionsPerAddress = 1 << 20 // all bridges of the fleet connect from this machine
	c.Rate = config.Rate{PerMinute: 1 << 30, Burst: 1 << 30, BatchPerMinute: 1 << 30, StaffPerMinute: 1 << 30, StaffBurst: 1 << 30}
	c.Drain = 100 * time.Millisecond
	return c
}

// serverOptions returns options that make a server log to a file in dir, and the file. The caller must close it.
func serverOptions(dir string) (server.Options, *os.File, error) {
	f, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return server.Options{}, nil, err
	}
	logger, err := telemetry.Logger(f, "info", "text")
	return server.Options{Logger: logger, Version: "bench"}, f, err
}

// methods implements role: it returns the calls that the coordinating process can make to this process.
func (p *worldPart) methods() methods {
	return p.process.methods().with(methods{"Start": decodeArgs(p.Start), "Idle": decodeArgs(p.Idle), "Fill": decodeArgs(p.Fill)})
}

// Start starts the sandbox with its data in a directory, and returns its addresses and tokens.
func (p *worldPart) Start(dir string, out *World) error {
	p.dir = dir
	o, log, err := serverOptions(dir)
	if err != nil {
		return err
	}
	p.log, o.Around = log, p.answerWhenIdle
	w, err := sandbox.Build(context.Background(), sandbox.Config{Server: serverConfig(dir), Options: o, Dir: dir})
	if err != nil {
		return err
	}
	p.world = w
	*out = World{HTTP: "http://" + w.Server.HTTPAddr(), GRPC: w.Server.GRPCAddr(), ClientToken: w.ClientToken, AccessToken: w.AccessToken}
	return nil
}

// answerWhenIdle is an interceptor that runs before the handlers. While Idle(true) applies, it answers reservation changes itself. Such a
// call passes all other layers and does nothing else: it is the baseline.
func (p *worldPart) answerWhenIdle(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if p.idle.Load() && info.FullMethod == partnerv1.ReservationService_UpsertReservation_FullMethodName {
		return &partnerv1.UpsertReservationResponse{}, nil
	}
	return next(ctx, req)
}

// Idle(true) makes reservation changes do nothing; Idle(false) ends this.
func (p *worldPart) Idle(idle bool, _ *None) error {
	p.idle.Store(idle)
	return nil
}

// Close implements role: it stops the sandbox and closes its log. It does nothing if Start was not called.
func (p *worldPart) Close() (err error) {
	if p.world != nil {
		err = p.world.Close()
	}
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}
