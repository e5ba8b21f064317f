package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bridge/driver"
	"latchkey.dev/internal/bridge/driver/sim"
)

func software() string { return "latchkey-bridge/" + version }

type enroll struct {
	Server    string `arg:"" help:"host:port of the service's gRPC listener."`
	JoinCode  string `help:"The code that staff were shown; better from the environment, where other users of this machine do not see it." env:"LATCHKEY_JOIN_CODE" required:""`
	Plaintext bool   `help:"Speak without TLS, to a service on this machine only."`
	Connect   string `help:"host:port of the bridges' listener, if it is not the one the service names."`
}

func (e *enroll) Run(ctx context.Context, c *commands, log *slog.Logger) error {
	id, err := bridge.Enroll(ctx, bridge.Enrolment{
		Dir: c.Dir, Address: e.Server, JoinCode: e.JoinCode, Software: software(), Plaintext: e.Plaintext, Connect: e.Connect,
	})
	if err != nil {
		return err
	}
	log.Info("enrolled", "bridge", id, "dir", c.Dir)
	return nil
}

type status struct{}

func (*status) Run(c *commands) error {
	id, connect, until, err := bridge.Enrolled(c.Dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(os.Stdout, "bridge       %s\nservice      %s\ncertificate  until %s\n", id, connect, until.Format(time.RFC3339))
	return err
}

type run struct {
	Driver     string            `help:"What talks to the locks: ${enum}." enum:"sim" default:"sim"`
	SimLocks   map[string]string `help:"Simulated locks, as address=profile; profiles: zwave, matter, zigbee2mqtt, nuki, ttlock." placeholder:"FRONT=zwave" mapsep:","`
	SimLatency time.Duration     `help:"How long a simulated operation takes." default:"0s"`
	SimSeed    uint64            `help:"Seed of the simulation." default:"1"`
	SimKeypads string            `help:"host:port to serve the simulated keypads on: POST /{address} with {\"pin\": \"...\"}; empty: none." placeholder:"127.0.0.1:0"`
}

func (r *run) Run(ctx context.Context, c *commands, log *slog.Logger) (err error) {
	drv, closeDriver, err := r.open(ctx, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDriver()) }()
	b, err := bridge.New(ctx, bridge.Config{Dir: c.Dir, Driver: drv, Log: log, Software: software()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	log.Info("bridge starts", "bridge", b.ID(), "driver", r.Driver)
	return b.Run(ctx)
}

// open builds the simulated house in the bridge's directory.
func (r *run) open(ctx context.Context, c *commands, log *slog.Logger) (driver.Driver, func() error, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	config := sim.Config{Seed: r.SimSeed, Memory: filepath.Join(c.Dir, "sim-locks.json")}
	for address, profile := range r.SimLocks {
		config.Locks = append(config.Locks, sim.Spec{Address: address, Profile: profile, Latency: r.SimLatency})
	}
	house, err := sim.NewHouse(config)
	if err != nil {
		return nil, nil, err
	}
	if r.SimKeypads == "" {
		return house.Driver(), house.Close, nil
	}
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", r.SimKeypads)
	if err != nil {
		return nil, nil, fmt.Errorf("keypads: %w", err)
	}
	srv := &http.Server{Handler: sim.Keypads(house), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	go func() {
		if err := srv.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
			log.Error("keypads", "error", err)
		}
	}()
	log.Info("keypads", "url", "http://"+lis.Addr().String()+"/{address}")
	return house.Driver(), func() error { return errors.Join(srv.Close(), house.Close()) }, nil
}
