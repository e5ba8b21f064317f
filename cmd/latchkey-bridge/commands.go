package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/certfile"
)

// commands is the command line: all commands and their flags.
type commands struct {
	Dir      string   `help:"The bridge's store. Only one bridge runs on it." default:"latchkey-bridge" env:"LATCHKEY_BRIDGE_DIR" type:"path"`
	LogLevel logLevel `help:"debug, info, warn or error." default:"info" env:"LATCHKEY_LOG_LEVEL"`

	Enroll  enroll           `cmd:"" help:"Enrol this machine as a property's bridge, with a join code from staff."`
	Run     run              `cmd:"" help:"Run the bridge."`
	Status  status           `cmd:"" help:"Show the state of this bridge and its locks."`
	Doctor  doctor           `cmd:"" help:"Check everything that a bridge needs, and say how to fix what is wrong."`
	Version kong.VersionFlag `help:"Print the version."`
}

type logLevel = slog.Level

// software returns the name and version of this program, which the server shows.
func software() string { return "latchkey-bridge/" + version }

type enroll struct {
	Server    string `arg:"" help:"host:port of the server's gRPC listener."`
	JoinCode  string `help:"The join code, from latchkey bridge create or latchkey bridge join-code. Better set it in the environment, where other users of this machine cannot see it." env:"LATCHKEY_JOIN_CODE"`
	CA        string `name:"ca" type:"path" placeholder:"FILE" help:"Certificates to trust for the server (PEM), instead of the system's." xor:"tls"`
	Plaintext bool   `help:"Connect without TLS. Only for a server on this machine." xor:"tls"`
	Connect   string `help:"host:port of the bridges' listener, if it differs from what the server returns."`
	Replace   bool   `help:"Allow a join code of another bridge than this machine is. The locks of the former bridge stay without a bridge."`
}

var errNoJoinCode = errors.New("a join code is missing. Staff create one for a new bridge with `latchkey bridge create NAME`, for this bridge again " +
	"with `latchkey bridge join-code BRIDGE`; it serves once, for an hour. Give it in LATCHKEY_JOIN_CODE or with --join-code")

// Run enrols this machine as a bridge with a join code: latchkey-bridge enroll. It replaces an earlier enrolment, that of another bridge only
// with --replace.
func (e *enroll) Run(ctx context.Context, c *commands) error {
	if e.JoinCode == "" {
		return errNoJoinCode
	}
	enrolment := agent.Enrolment{
		Dir: c.Dir, Address: e.Server, JoinCode: e.JoinCode, Software: software(), Plaintext: e.Plaintext, Connect: e.Connect,
		Replace: e.Replace,
	}
	if e.CA != "" {
		var err error
		if enrolment.Trusted, err = certfile.Pool(e.CA); err != nil {
			return fmt.Errorf("--ca: %w", err)
		}
	}
	id, err := agent.Enroll(ctx, enrolment)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("This machine is now bridge %s. Its keys are in %s.\n\nNext:\n  latchkey-bridge --dir %[2]s run    drives the locks; see latchkey-bridge run --help\n", id, c.Dir)
	return err
}

type run struct {
	hardware
	SmartKey phones `embed:"" prefix:"smartkey-" envprefix:"LATCHKEY_SMARTKEY_" group:"Phones on the local network"`
}

// memoryLimit is a soft limit in bytes that makes the garbage collector keep the bridge small, because it runs on small machines.
const memoryLimit = 20 << 20

// Run runs the bridge until ctx ends, and then returns nil. It restarts the bridge when the list of locks changes, and returns every other
// error. The default driver is sim.
func (r *run) Run(ctx context.Context, c *commands, log *slog.Logger) error {
	debug.SetMemoryLimit(memoryLimit)
	if r.Driver == "" {
		r.Driver = "sim"
	}
	// The drivers store their data in the directory, and a bridge that is not enrolled must not create it.
	if err := agent.CheckStored(c.Dir); err != nil {
		return err
	}
	for {
		err := r.runOnce(ctx, c, log)
		if !errors.Is(err, agent.ErrLocksChanged) {
			return err
		}
		log.Info("restarting", "reason", err)
	}
}

// runOnce opens the driver, the listener for phones and the bridge, runs the bridge until ctx ends (then it returns nil), and closes all of
// them. It returns agent.ErrLocksChanged when the list of locks changes.
func (r *run) runOnce(ctx context.Context, c *commands, log *slog.Logger) (err error) {
	drv, closeDriver, err := r.openDriver(ctx, c.Dir, log)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, closeDriver()) }()
	local, err := r.SmartKey.listen(log)
	if err != nil {
		return joinErrors(err, drv.Close())
	}
	if local != nil {
		defer func() { _ = local.Listener.Close() }()
	}
	settings, err := r.encodeSettings()
	if err != nil {
		return joinErrors(err, drv.Close())
	}
	b, err := agent.Open(agent.Config{Dir: c.Dir, Driver: drv, Log: log, Software: software(), Local: local, Settings: settings})
	if err != nil {
		return joinErrors(err, drv.Close())
	}
	defer func() { err = joinErrors(err, b.Close()) }()
	log.Info("starting the bridge", "bridge", b.ID(), "driver", r.Driver)
	return b.Run(ctx)
}

// joinErrors joins two errors. It returns err unchanged, without a wrapper, if other is nil.
func joinErrors(err, other error) error {
	if other == nil {
		return err
	}
	return errors.Join(err, other)
}
