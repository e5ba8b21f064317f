package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/alecthomas/kong"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/server"
)

// serveCommand runs the server.
type serveCommand struct {
	File          kong.ConfigFlag `name:"config" placeholder:"PATH" help:"A file of settings: a JSON object with the names of the flags below, without the dashes before them."`
	config.Config `embed:""`
}

// Help is shown below the flags' own.
func (*serveCommand) Help() string {
	return `Without any flag: one machine, an embedded database in ./latchkey-data, every listener on loopback.

Each setting can also be given by the environment (LATCHKEY_ and its name in capitals, as LATCHKEY_LISTEN_HTTP for --listen-http) or in the file of --config. A flag wins over the environment, and that over the file. Port 0 is a free one.

On SIGTERM or Ctrl-C the server lets bridges leave and calls finish; a second one ends it at once.

After the first start, in another terminal:
  latchkey property create "Hostel Miramar" --time-zone Europe/Lisbon
It says what comes next.`
}

// Run serves until the process is told to stop.
func (c *serveCommand) Run(ctx context.Context, io *streams) (err error) {
	s, err := server.New(ctx, c.Config, server.Options{Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	tuning, stop := context.WithCancel(ctx)
	var tuned sync.WaitGroup
	tuned.Go(func() { server.TuneGarbage(tuning) })
	defer tuned.Wait()
	defer stop()
	if c.Log.Format == "text" {
		if err := c.welcome(ctx, io.out, s); err != nil {
			return err
		}
	}
	return s.Run(ctx)
}

// welcome says where what is, and at the first start what comes next.
func (c *serveCommand) welcome(ctx context.Context, to io.Writer, s *server.Server) error {
	empty, err := s.Empty(ctx)
	if err != nil {
		return err
	}
	scheme := "http"
	if c.TLS.On() {
		scheme = "https"
	}
	fmt.Fprintf(to, "Latchkey %s\n", version)
	fmt.Fprintf(to, "  REST, Connect  %s://%s (documentation: /docs)\n", scheme, s.HTTPAddr())
	fmt.Fprintf(to, "  gRPC           %s\n", s.GRPCAddr())
	fmt.Fprintf(to, "  bridges        %s\n", s.BridgeAddr())
	fmt.Fprintf(to, "  operations     http://%s (/metrics, /readyz)\n", s.OpsAddr())
	fmt.Fprintf(to, "  database       %s\n", db.Redact(c.DatabaseURL()))
	if c.Key == "" && len(c.KeyCommand) == 0 {
		fmt.Fprintf(to, "  key            %s (keep a copy elsewhere: without it nothing sealed can be read again)\n", c.KeyPath())
	}
	if empty {
		fmt.Fprintf(to, "\nThere is no property yet. In another terminal:\n  %s\n", c.next())
	}
	fmt.Fprintln(to)
	return nil
}

// next is the command that comes after the first start, as it can be typed.
func (c *serveCommand) next() string {
	command := "latchkey property create \"Hostel Miramar\" --time-zone Europe/Lisbon"
	if here, err := filepath.Abs(config.Default().DataDir); err != nil || here != c.DataDir {
		command += fmt.Sprintf(" --data-dir %q", c.DataDir)
	}
	return command
}

// migrateCommand brings a database to the schema of this version.
type migrateCommand struct {
	Database string `placeholder:"URL" env:"LATCHKEY_DATABASE" help:"sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME. Left out: the embedded database in the data directory."`
	DataDir  string `default:"latchkey-data" type:"path" env:"LATCHKEY_DATA_DIR" help:"Where the embedded database is."`
	Check    bool   `help:"Only say what would be done; exit code 1 if that is anything."`
}

// Help is shown below the flags' own.
func (*migrateCommand) Help() string {
	return "An embedded database is migrated by serve itself; a PostgreSQL database by this command, before the new version starts."
}

// Run migrates.
func (c *migrateCommand) Run(ctx context.Context, io *streams) (err error) {
	url := config.Config{DataDir: c.DataDir, Database: c.Database}.DatabaseURL()
	if c.Check && db.Missing(url) {
		return fmt.Errorf("there is no database yet at %s; serve makes it", url)
	}
	d, err := db.Open(ctx, db.Config{URL: url})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if c.Check {
		names, err := d.Pending(ctx)
		if err != nil {
			return err
		}
		for _, n := range names {
			fmt.Fprintln(io.out, "to do:", n)
		}
		if len(names) > 0 {
			return fmt.Errorf("%d migrations are to be done", len(names))
		}
		fmt.Fprintln(io.out, "The schema is up to date.")
		return nil
	}
	names, err := d.Migrate(ctx)
	if err != nil {
		return err
	}
	for _, n := range names {
		fmt.Fprintln(io.out, "done:", n)
	}
	fmt.Fprintln(io.out, "The schema is up to date.")
	return nil
}
