package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"latchkey.dev/internal/agent"
)

func software() string { return "latchkey-bridge/" + version }

type enroll struct {
	Server    string `arg:"" help:"host:port of the service's gRPC listener."`
	JoinCode  string `help:"The code that latchkey bridge create, or latchkey bridge join-code, shows to staff; better from the environment, where other users of this machine do not see it." env:"LATCHKEY_JOIN_CODE"`
	Plaintext bool   `help:"Speak without TLS, to a service on this machine only."`
	Connect   string `help:"host:port of the bridges' listener, if it is not the one the service names."`
}

var errNoJoinCode = errors.New("a join code is missing. Staff make one for a new bridge with `latchkey bridge create NAME`, for this bridge again " +
	"with `latchkey bridge join-code BRIDGE`; it serves once, for an hour. Give it in LATCHKEY_JOIN_CODE or with --join-code")

func (e *enroll) Run(ctx context.Context, c *commands) error {
	if e.JoinCode == "" {
		return errNoJoinCode
	}
	id, err := agent.Enroll(ctx, agent.Enrolment{
		Dir: c.Dir, Address: e.Server, JoinCode: e.JoinCode, Software: software(), Plaintext: e.Plaintext, Connect: e.Connect,
	})
	if err != nil {
		return err
	}
	_, err = fmt.Printf("This machine is bridge %s now. Its keys are in %s.\n\nNext:\n  latchkey-bridge --dir %[2]s run    drives the locks; see latchkey-bridge run --help\n", id, c.Dir)
	return err
}

type run struct {
	hardware
	SmartKey phones `embed:"" prefix:"smartkey-" envprefix:"LATCHKEY_SMARTKEY_" group:"Phones on the local network"`
}

// A bridge has little to keep in memory and a small machine to do it on.
const memoryAim = 20 << 20 // bytes

func (r *run) Run(ctx context.Context, c *commands, log *slog.Logger) error {
	debug.SetMemoryLimit(memoryAim)
	if r.Driver == "" {
		r.Driver = "sim"
	}
	for {
		err := r.once(ctx, c, log)
		if !errors.Is(err, agent.ErrLocksChanged) {
			return err
		}
		log.Info("restarting", "reason", err)
	}
}

// once runs a bridge until it ends or its locks change.
func (r *run) once(ctx context.Context, c *commands, log *slog.Logger) (err error) {
	drv, closeDriver, err := r.open(ctx, c.Dir, log)
	if err != nil {
		return err
	}
	defer func() { err = join(err, closeDriver()) }()
	local, err := r.SmartKey.open()
	if err != nil {
		return join(err, drv.Close())
	}
	if local != nil {
		defer func() { _ = local.Listener.Close() }()
	}
	settings, err := r.stored()
	if err != nil {
		return join(err, drv.Close())
	}
	b, err := agent.Open(agent.Config{Dir: c.Dir, Driver: drv, Log: log, Software: software(), Local: local, Settings: settings})
	if err != nil {
		return join(err, drv.Close())
	}
	defer func() { err = join(err, b.Close()) }()
	log.Info("bridge starts", "bridge", b.ID(), "driver", r.Driver)
	return b.Run(ctx)
}

// join keeps an error as it is when there is no other.
func join(err, other error) error {
	if other == nil {
		return err
	}
	return errors.Join(err, other)
}
