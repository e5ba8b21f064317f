package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
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

// World is a running Latchkey server with one property, its PMS, and a bridge with virtual locks on the doors.
type World struct {
	Server *server.Server
	PMS    *PMS
	Site   *sim.Site // Site has the virtual locks

	ClientToken, AccessToken, APIKey, StaffToken string
	PropertyID, IntegrationID                    string
	Spaces                                       map[string]string // Spaces has the ids of the spaces and of the front door, by name
	doors                                        map[string]string // doors has the lock's address of each door id
	layout                                       []Space           // layout has the rooms and beds at the PMS, parents first
	app                                          string            // app is the id of the PMS's partner app

	log     *slog.Logger
	pms     net.Listener // pms and keypads are the listeners of the PMS and of the keypads
	keypads net.Listener
	admin   *grpc.ClientConn // admin is connected to the operators' socket, public to the gRPC listener
	public  *grpc.ClientConn

	play net.Listener // play is the listener of the play page, or nil

	mu        sync.Mutex
	agent     *agent.Bridge
	kioskID   string // kioskID is the id of the demo's kiosk; empty without Play
	kioskDoor string // kioskDoor is the last part of the address in the QR code of the kiosk; empty without Play
	kioskCode string // kioskCode is the latest code that enrols the tablet of the kiosk; empty without Play
	staffLink string // staffLink is the latest link with which one person becomes owner of the property; empty before the first

	peopleBefore int // peopleBefore is how many people worked at the property when staffLink was made; with more, the link counts as used
	stops        []func()
	running      sync.WaitGroup
	failures     chan error
}

// Config configures a World.
type Config struct {
	Server  config.Config  // Server configures the server; Build also allows calls to this sandbox's PMS
	Options server.Options // Build sets GuestsReadMailbox, and with Play a short SweepsEvery if it is 0
	Dir     string         // Dir is the directory for the bridge's data
	// Latency of every lock.
	Latency time.Duration
	// WithoutStorage keeps the state of the locks in memory only, which is faster than a file.
	WithoutStorage bool
	// Profile of every lock; empty: a lock that reports keypad events and can be read.
	Profile string
	// RouteBridge, if set, maps the server's address for bridges to the address that the bridge connects to. A test can put a
	// faulty proxy between them.
	RouteBridge func(address string) (string, error)
	// MaxBridgeRetry is the longest pause between two attempts of the bridge to connect; 0: the bridge's default.
	MaxBridgeRetry time.Duration
	// WrapDriver, if set, wraps the driver of the virtual locks.
	WrapDriver func(driver.Driver) driver.Driver
	// Dorms is the number of further dorms, each with eight beds.
	Dorms int
	// Rooms is the number of further private rooms, without a lock.
	Rooms int
	// Play prepares self check-in with a kiosk, and serves the play page, on which a person tries out the roles of guests, staff and PMS.
	Play bool
	// MandatoryGroups are the groups of guests' data that the property marks mandatory; only with Play. A guest may share them with the
	// PMS.
	MandatoryGroups []string
	// WithoutMail makes the server assume that guests cannot read the mailbox, as at a property that has not set a mail server yet.
	WithoutMail bool
	// PhoneListener, if set, makes the bridge serve phones directly.
	PhoneListener *agent.Local
}

// LockoutProfile is a lock profile with a lockout after wrong PINs, slots that can be read, and keypad events.
const LockoutProfile = sim.ZWaveUser

// playSweeps is the interval of the periodic work of the server and the bridge with Config.Play, where a person watches.
const playSweeps = time.Second

// Build starts a World and sets it up through the public interfaces. The caller must close it. After an error nothing stays open.
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
	if err := w.openPMSAndKeypads(c); err != nil {
		return nil, err
	}
	c.Server.Partner.Allow = append(c.Server.Partner.Allow, w.pms.Addr().String())
	c.Options.GuestsReadMailbox = !c.WithoutMail // the play page shows the mailbox
	if c.Play {
		c.Options.SweepsEvery = cmp.Or(c.Options.SweepsEvery, playSweeps)
	}
	if w.Server, err = server.New(ctx, c.Server, c.Options); err != nil {
		return nil, err
	}
	w.runPart(w.Server.Run)
	if err := w.dialServer(); err != nil {
		return nil, err
	}
	if err := w.setUp(ctx, c); err != nil {
		return nil, fmt.Errorf("set up the demo property: %w", err)
	}
	return w, nil
}

// openPMSAndKeypads creates the PMS, and serves it and the keypads on free ports.
func (w *World) openPMSAndKeypads(c Config) (err error) {
	if w.pms, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	if w.keypads, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	w.layout = slices.Concat(PMSSpaces(), furtherDorms(c.Dorms), furtherRooms(c.Rooms))
	w.PMS = NewPMS("pms-secret", w.layout)
	w.serveHTTP(w.pms, w.PMS.Handler())
	w.serveHTTP(w.keypads, http.HandlerFunc(w.servePress))
	return nil
}

// openPlay serves the play page in the background, on a free port.
func (w *World) openPlay() (err error) {
	if w.play, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	page, err := newPlay(w)
	if err != nil {
		return err
	}
	w.serveHTTP(w.play, page)
	return nil
}

// serveHTTP serves h on a listener in the background until Close.
func (w *World) serveHTTP(l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	w.runPart(func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = s.Close() })
		defer stop()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// runPart runs a part of the World in the background until stop or Close ends its context; both wait until run has returned. If it fails
// before, the error is sent to Failures.
func (w *World) runPart(run func(context.Context) error) (stop func()) {
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

// Failures returns a channel with the errors of parts that ended before Close. If nothing reads it, only the first four are kept.
func (w *World) Failures() <-chan error { return w.failures }

// dialServer creates the gRPC clients of the operators' socket and of the public listener.
func (w *World) dialServer() (err error) {
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	if w.admin, err = grpc.NewClient("unix:"+w.Server.SocketPath(), plain); err != nil {
		return err
	}
	w.public, err = grpc.NewClient(w.Server.GRPCAddr(), plain)
	return err
}

// operationLifetime is the longest time after which an operation of a virtual lock can still take effect. A new bridge waits twice as
// long before its first operation.
const operationLifetime = 100 * time.Millisecond

// createLocks sets w.Site to virtual locks, one for each address.
func (w *World) createLocks(c Config, addresses []string) (err error) {
	profile := c.Profile
	if profile == "" {
		profile = sim.ZWave
	}
	specs := make([]sim.Spec, len(addresses))
	for i, a := range addresses {
		specs[i] = sim.Spec{Address: a, Profile: profile, Latency: c.Latency, Battery: 90, Lifetime: operationLifetime}
	}
	locks := sim.Config{Locks: specs, StorageFile: filepath.Join(c.Dir, "locks.json")}
	if c.WithoutStorage {
		locks.StorageFile = ""
	}
	w.Site, err = sim.NewSite(locks)
	return err
}

// runBridge enrols a bridge with a join code and starts it in the background.
func (w *World) runBridge(ctx context.Context, c Config, code string) error {
	dir := filepath.Join(c.Dir, "bridge")
	e := agent.Enrolment{Dir: dir, Address: w.Server.GRPCAddr(), JoinCode: code, Software: "latchkey-bridge demo", Plaintext: true}
	if c.RouteBridge != nil {
		between, err := c.RouteBridge(w.Server.BridgeAddr())
		if err != nil {
			return err
		}
		e.Connect = between
	}
	if _, err := agent.Enroll(ctx, e); err != nil {
		return fmt.Errorf("enrol the bridge: %w", err)
	}
	d := w.Site.Driver()
	if c.WrapDriver != nil {
		d = c.WrapDriver(d)
	}
	b, err := agent.New(ctx, agent.Config{
		Dir: dir, Driver: d, Log: w.log, Software: "latchkey-bridge demo", Retry: c.MaxBridgeRetry, Local: c.PhoneListener, StatusEvery: c.statusEvery(),
	})
	if err != nil {
		return err
	}
	w.agent = b
	w.runPart(b.Run)
	return nil
}

// statusEvery is how often the bridge reads the status of the virtual locks; 0: the bridge's default. With Play it is short, so that a
// person soon sees a simulated fault.
func (c Config) statusEvery() time.Duration {
	if c.Play {
		return playSweeps
	}
	return 0
}

// Close stops all parts in the reverse order of their start and waits for them, and then releases what they use. Call it once. The database
// is closed last.
func (w *World) Close() (err error) {
	w.mu.Lock()
	stops := w.stops
	w.stops = nil
	w.mu.Unlock()
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	if w.PMS != nil {
		w.PMS.Close()
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
	if w.Site != nil {
		err = errors.Join(err, w.Site.Close())
	}
	if w.Server != nil {
		err = errors.Join(err, w.Server.Close())
	}
	return err
}
