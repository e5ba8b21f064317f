package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/server"
)

// World is a running Latchkey with one property, its PMS, and a bridge with a virtual lock on every door.
type World struct {
	Server *server.Server
	PMS    *PMS
	House  *sim.House

	ClientToken, AccessToken, APIKey, StaffToken string
	PropertyID, IntegrationID                    string
	Spaces                                       map[string]string // space id by name
	doors                                        map[string]string // the lock's address by door id
	app                                          string            // the PMS's partner app

	log     *slog.Logger
	pms     net.Listener
	keypads net.Listener
	admin   *grpc.ClientConn
	public  *grpc.ClientConn

	mu       sync.Mutex
	agent    *agent.Bridge
	stops    []func()
	running  sync.WaitGroup
	failures chan error
}

// Config configures a World.
type Config struct {
	Server  config.Config // its partner rules additionally allow this world's PMS
	Options server.Options
	Dir     string // of the bridge
	// Latency of every lock.
	Latency time.Duration
	// Forgetful makes locks lose their state at a restart of the world. Other locks write their state to a file, which takes
	// time.
	Forgetful bool
	// Profile of every lock; empty: a lock that reports keypad events and can be read.
	Profile string
	// Link, when set, receives the server's address for bridges and returns the address that the bridge connects to. A test
	// can put a faulty network between them.
	Link func(address string) (string, error)
	// Retry is the maximum pause between two attempts of the bridge to connect; 0: the bridge's default.
	Retry time.Duration
	// Driver, when set, wraps the driver of the virtual locks.
	Driver func(driver.Driver) driver.Driver
	// Phones, when set, is the bridge's own listener for phones.
	Phones *agent.Local
}

// Lockout is a profile of locks that can be read, report keypad events, and have a lockout after wrong PINs.
const Lockout = sim.ZWaveUser

// Build starts a world and sets it up through the public interfaces, like the staff of a property.
func Build(ctx context.Context, c Config) (_ *World, err error) {
	w := &World{log: c.Options.Logger, Spaces: map[string]string{}, doors: map[string]string{}, failures: make(chan error, 4)}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if err := w.openPMSAndKeypads(); err != nil {
		return nil, err
	}
	c.Server.Partner.Allow = append(c.Server.Partner.Allow, w.pms.Addr().String())
	if w.Server, err = server.New(ctx, c.Server, c.Options); err != nil {
		return nil, err
	}
	w.start(w.Server.Run)
	if err := w.dial(); err != nil {
		return nil, err
	}
	if err := w.setUp(ctx, c); err != nil {
		return nil, fmt.Errorf("set up the demo property: %w", err)
	}
	return w, nil
}

// openPMSAndKeypads opens the listeners of the PMS and of the keypads.
func (w *World) openPMSAndKeypads() (err error) {
	if w.pms, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	if w.keypads, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	w.PMS = NewPMS("pms-secret", Listing())
	w.serve(w.pms, w.PMS.Handler())
	w.serve(w.keypads, http.HandlerFunc(w.press))
	return nil
}

func (w *World) serve(l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	w.start(func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = s.Close() })
		defer stop()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// start runs a part until Close. Failed reports a part that ends with an error before.
func (w *World) start(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.running.Go(func() {
		defer close(done)
		if err := run(ctx); err != nil && ctx.Err() == nil {
			select {
			case w.failures <- err:
			default:
			}
		}
	})
	stop = func() { cancel(); <-done }
	w.mu.Lock()
	w.stops = append(w.stops, stop)
	w.mu.Unlock()
	return stop
}

// Failed returns a channel for the errors of parts that ended by themselves.
func (w *World) Failed() <-chan error { return w.failures }

func (w *World) dial() (err error) {
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	if w.admin, err = grpc.NewClient("unix:"+w.Server.SocketPath(), plain); err != nil {
		return err
	}
	w.public, err = grpc.NewClient(w.Server.GRPCAddr(), plain)
	return err
}

// lifetime is how long an operation of the virtual locks can take effect. A new bridge waits twice as long before its first
// operation.
const lifetime = 100 * time.Millisecond

// createLocks creates the virtual locks, one for each address.
func (w *World) createLocks(c Config, addresses []string) (err error) {
	profile := c.Profile
	if profile == "" {
		profile = sim.ZWave
	}
	specs := make([]sim.Spec, len(addresses))
	for i, a := range addresses {
		specs[i] = sim.Spec{Address: a, Profile: profile, Latency: c.Latency, Battery: 90, Lifetime: lifetime}
	}
	house := sim.Config{Locks: specs, Memory: filepath.Join(c.Dir, "locks.json")}
	if c.Forgetful {
		house.Memory = ""
	}
	w.House, err = sim.NewHouse(house)
	return err
}

// runBridge enrols a bridge under a join code and runs it.
func (w *World) runBridge(ctx context.Context, c Config, code string) error {
	dir := filepath.Join(c.Dir, "bridge")
	e := agent.Enrolment{Dir: dir, Address: w.Server.GRPCAddr(), JoinCode: code, Software: "latchkey-bridge demo", Plaintext: true}
	if c.Link != nil {
		between, err := c.Link(w.Server.BridgeAddr())
		if err != nil {
			return err
		}
		e.Connect = between
	}
	if _, err := agent.Enroll(ctx, e); err != nil {
		return fmt.Errorf("enrol the bridge: %w", err)
	}
	d := w.House.Driver()
	if c.Driver != nil {
		d = c.Driver(d)
	}
	b, err := agent.New(ctx, agent.Config{
		Dir: dir, Driver: d, Log: w.log, Software: "latchkey-bridge demo", Retry: c.Retry, Local: c.Phones,
	})
	if err != nil {
		return err
	}
	w.agent = b
	w.start(b.Run)
	return nil
}

// Close ends the world, the server last.
func (w *World) Close() (err error) {
	w.mu.Lock()
	stops := w.stops
	w.stops = nil
	w.mu.Unlock()
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	w.running.Wait()
	for _, conn := range []*grpc.ClientConn{w.admin, w.public} {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	if w.agent != nil {
		err = errors.Join(err, w.agent.Close())
	}
	if w.House != nil {
		err = errors.Join(err, w.House.Close())
	}
	if w.Server != nil {
		err = errors.Join(err, w.Server.Close())
	}
	return err
}
