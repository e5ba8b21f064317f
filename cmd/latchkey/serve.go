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

type serveCommand struct {
	File          kong.ConfigFlag `name:"config" placeholder:"PATH" help:"Settings file: a JSON object with the names of the flags below, without the leading dashes."`
	config.Config `embed:""`
}

// Help returns what --help adds: the defaults, the sources of settings, how to stop the server, and the first steps.
func (*serveCommand) Help() string {
	return `Without flags: one machine, an embedded database in ./latchkey-data, all listeners on loopback.

Each setting can also come from the environment (LATCHKEY_LISTEN_HTTP for --listen-http) or from the file of --config. A flag overrides the environment, and the environment overrides the file. Port 0 means any free port.

On SIGTERM or Ctrl-C the server lets bridges leave and calls finish. A second signal ends it at once.

The first start prints a link (.../app/first/...). Open it in a browser, within 24 hours: you create the property and your account as its owner. The link works once.

Or, in another terminal:
  latchkey property create "Hostel Miramar" --time-zone Europe/Lisbon
  latchkey admin owner-link "Hostel Miramar"
The first prints the next step, the second a link for the owner of that property.`
}

// Validate checks the settings while the command line is parsed, so that a wrong one is a usage error.
func (c *serveCommand) Validate() error { return server.Validate(c.Config) }

// Run runs the server until the context ends. If the log is text, it first prints the addresses and the next step: see welcome.
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

// welcome prints the addresses of the started server. If there is no property or no person who can sign in yet, it also prints the next
// step. If there is neither, it creates and prints a link for the first owner, which ends all earlier links without a property.
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
	fmt.Fprintf(to, "  operations     %s (/metrics, /readyz)\n", s.OpsURL())
	fmt.Fprintf(to, "  database       %s\n", db.Redact(c.DatabaseURL()))
	if c.Key == "" && len(c.KeyCommand) == 0 {
		fmt.Fprintf(to, "  key            %s (keep a copy elsewhere: without it the secrets in the database are lost)\n", c.KeyPath())
	}
	people, err := s.HasPerson(ctx)
	if err != nil {
		return err
	}
	owner := ""
	if empty && !people {
		if owner, err = s.NewOwnerURL(ctx); err != nil {
			return err
		}
	}
	if empty {
		fmt.Fprintf(to, "\nThere is no property yet. In another terminal:\n  %s\n", c.next())
	}
	switch {
	case owner != "":
		fmt.Fprintf(to, "\nOr open this link in a browser, within 24 hours, to create the property and your account as its owner:\n  %s\n", owner)
	case !people:
		fmt.Fprintf(to, "\nNo person can sign in yet. The first owner of a property: %s\n", c.typed("latchkey admin owner-link PROPERTY"))
	}
	fmt.Fprintln(to)
	return nil
}

// next returns the command to type after the first start, which creates a property.
func (c *serveCommand) next() string {
	return c.typed("latchkey property create \"Hostel Miramar\" --time-zone Europe/Lisbon")
}

// typed returns a command with --data-dir added, if the command would not find this server without the flag.
func (c *serveCommand) typed(command string) string {
	if here, err := filepath.Abs(config.Default().DataDir); err != nil || here != c.DataDir {
		command += fmt.Sprintf(" --data-dir %q", c.DataDir)
	}
	return command
}

// migrateCommand updates a database to the schema of this version.
type migrateCommand struct {
	Database string `placeholder:"URL" env:"LATCHKEY_DATABASE" help:"sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME. Left out: the embedded database in the data directory."`
	DataDir  string `default:"latchkey-data" type:"path" env:"LATCHKEY_DATA_DIR" help:"Where the embedded database is."`
	Check    bool   `help:"Only list the pending migrations. Exit code 1 if there are any."`
}

// Validate returns an error to kong if --database is given and is not the URL of a database.
func (c *migrateCommand) Validate() error { return checkDatabase(c.Database) }

// Help returns what --help adds: which databases need the command, and when.
func (*migrateCommand) Help() string {
	return "Serve migrates an embedded database itself. Migrate a PostgreSQL database with this command before you start the new version."
}

// Run carries out the pending migrations, in a new database all of them. With --check it only lists them, and fails if there are any or if
// there is no database.
func (c *migrateCommand) Run(ctx context.Context, io *streams) (err error) {
	url := config.Config{DataDir: c.DataDir, Database: c.Database}.DatabaseURL()
	if c.Check && db.Missing(url) {
		return fmt.Errorf("there is no database at %s yet; serve creates it", url)
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
			fmt.Fprintln(io.out, "pending:", n)
		}
		if len(names) > 0 {
			return fmt.Errorf("%d migrations are pending", len(names))
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
