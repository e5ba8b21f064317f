package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/worker"
)

// stored says where an installation keeps its data, for commands that go there themselves.
type stored struct {
	Database string `placeholder:"URL" env:"LATCHKEY_DATABASE" help:"sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME. Left out: the embedded database in the data directory."`
	DataDir  string `default:"${data_dir}" type:"path" env:"LATCHKEY_DATA_DIR" help:"Where the embedded database is."`
}

// open opens a database that is there.
func (s stored) open(ctx context.Context) (*db.DB, error) {
	url := config.Config{DataDir: s.DataDir, Database: s.Database}.DatabaseURL()
	if db.Missing(url) {
		return nil, fmt.Errorf("there is no database at %s; name another with --data-dir or --database", url)
	}
	return db.Open(ctx, db.Config{URL: url})
}

// backupCommand copies the embedded database.
type backupCommand struct {
	File string `arg:"" type:"path" help:"Where the copy goes; there must be no such file yet."`
	stored
}

// Help is shown below the flags' own.
func (*backupCommand) Help() string {
	return `The copy is of one moment and complete, also while the server runs: changes do not wait for it.

To bring a copy back: latchkey restore FILE.`
}

// Run makes the copy.
func (c *backupCommand) Run(ctx context.Context, io *streams) (err error) {
	if c.Database != "" && !strings.HasPrefix(c.Database, "sqlite:") {
		return errors.New("this copies an embedded database; use pg_dump, or PostgreSQL's continuous archiving")
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Backup(ctx, c.File); err != nil {
		return err
	}
	fmt.Fprintf(io.out, "Copied to %s.\nWhat is sealed in it opens with the key-encryption key alone (%s, unless the server is told otherwise): keep a copy of that too, in another place.\n",
		c.File, config.Config{DataDir: c.DataDir}.KeyPath())
	return nil
}

type keyCommands struct {
	Rotate keyRotate `cmd:"" help:"Draw a new key-encryption key and seal every data key with it."`
}

type keyRotate struct {
	stored
	KeyFile string `type:"path" env:"LATCHKEY_KEY_FILE" placeholder:"PATH" help:"The key file. Left out: the data directory's name with .key."`
	// A key from elsewhere is not of a file.
	Key        string   `hidden:"" env:"LATCHKEY_KEY" help:"Refused: a key that is not of a file is not replaced here."`
	KeyCommand []string `hidden:"" env:"LATCHKEY_KEY_COMMAND" help:"Refused, as the key itself."`
}

// Help is shown below the flags' own.
func (*keyRotate) Help() string {
	return `Stop every server first: the command fails while one runs, because it would go on sealing with the old key. Nodes elsewhere need a copy of the new file before they start.

If it is interrupted, run it again; nothing is lost. Copies of the database made before need the old key: keep it as long as them.`
}

// Run draws and seals.
func (c *keyRotate) Run(ctx context.Context, io *streams) (err error) {
	cfg := config.Config{DataDir: c.DataDir, Database: c.Database, KeyFile: c.KeyFile}
	if c.Key != "" || len(c.KeyCommand) > 0 {
		return errors.New("the key comes from LATCHKEY_KEY or LATCHKEY_KEY_COMMAND, and not from a file, which is what this replaces")
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	rotated := 0
	err = alone(ctx, d, cfg.DatabaseURL(), func(ctx context.Context) (err error) {
		rotated, err = keyring.RotateFile(ctx, cfg.KeyPath(), db.KeyStore{DB: d})
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "Sealed %d data keys with a new key, which is in %s: keep a copy of that file in another place.\n", rotated, cfg.KeyPath())
	return nil
}

// idle is how long to wait for the lease of a server that has stopped. A server that lost power holds it for 15 s.
const idle = 20 * time.Second

// alone runs f while no server works on a database. On PostgreSQL it holds the lease that one of the nodes otherwise has.
func alone(ctx context.Context, d *db.DB, url string, f func(context.Context) error) error {
	if d.SQLite() {
		release, err := server.Own(url)
		if err != nil {
			return err
		}
		return errors.Join(f(ctx), release())
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(idle, cancel)
	err := errors.New("a server works on this database: stop every node first")
	held := worker.PostgresLease{DB: d, Name: worker.LeaseName, Log: slog.New(slog.DiscardHandler)}.Hold(waiting, func(ctx context.Context) error {
		if late.Stop() {
			err = f(ctx)
		}
		cancel()
		return nil
	})
	return errors.Join(err, held)
}
