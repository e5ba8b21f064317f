package main

import (
	"context"
	"errors"
	"fmt"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/server"
)

// serveCommand runs the server.
type serveCommand struct {
	config.Config `embed:""`
}

// Help is shown below the flags' own.
func (*serveCommand) Help() string {
	return `Without any flag: one machine, an embedded database in ./latchkey-data, every listener on loopback.

Each flag can also be given by the environment: LATCHKEY_ and its name in capitals, as LATCHKEY_LISTEN_HTTP for --listen-http.

After the first start, in another terminal:
  latchkey property create "Hostel Miramar" --time-zone Europe/Lisbon
It says what comes next.`
}

// Run serves until the process is told to stop.
func (c *serveCommand) Run(ctx context.Context) (err error) {
	s, err := server.New(ctx, c.Config, server.Options{Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Run(ctx)
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
