package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/server"
)

// stored has the flags that locate the data of an installation, for commands that open the database themselves.
type stored struct {
	Database string `placeholder:"URL" env:"LATCHKEY_DATABASE" help:"sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME. Left out: the embedded database in the data directory."`
	DataDir  string `default:"${data_dir}" type:"path" env:"LATCHKEY_DATA_DIR" help:"Where the embedded database is."`
}

// Validate returns an error to kong if --database is given and is not the URL of a database.
func (s stored) Validate() error { return checkDatabase(s.Database) }

// checkDatabase returns an error if the value of --database is not the URL of a database. It accepts "", with which the flag is left out.
func checkDatabase(url string) error {
	if url == "" {
		return nil
	}
	if err := db.CheckURL(url); err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	return nil
}

// open opens the database that the flags name. It fails if there is none, instead of creating it. It does not update the schema. The caller
// closes the database.
func (s stored) open(ctx context.Context) (*db.DB, error) {
	url := config.Config{DataDir: s.DataDir, Database: s.Database}.DatabaseURL()
	if db.Missing(url) {
		return nil, fmt.Errorf("there is no database at %s; name another with --data-dir or --database", url)
	}
	return db.Open(ctx, db.Config{URL: url})
}

type backupCommand struct {
	File string `arg:"" type:"path" help:"The file to write. It must not exist."`
	stored
}

// Help returns what --help adds: what the copy contains, and how to restore it.
func (*backupCommand) Help() string {
	return `The copy is complete and consistent, also while the server runs. Changes do not wait for it.

To restore a copy: latchkey restore FILE.`
}

// Run copies the embedded database to a new file, also while the server uses it. It fails for PostgreSQL, or if the file exists.
func (c *backupCommand) Run(ctx context.Context, io *streams) (err error) {
	if c.Database != "" && !strings.HasPrefix(c.Database, "sqlite:") {
		return errors.New("backup copies only an embedded database; for PostgreSQL use pg_dump or continuous archiving")
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Backup(ctx, c.File); err != nil {
		return err
	}
	fmt.Fprintf(io.out, "Copied to %s.\nThe copy is useless without the key-encryption key (%s, unless the server uses another): keep a copy of the key, too, in another place.\n",
		c.File, config.Config{DataDir: c.DataDir}.KeyPath())
	return nil
}

type keyCommands struct {
	Rotate keyRotate `cmd:"" help:"Replace the key-encryption key and encrypt every data key with the new one."`
}

type keyRotate struct {
	stored
	KeyFile string `type:"path" env:"LATCHKEY_KEY_FILE" placeholder:"PATH" help:"The key file. Left out: the data directory's name with .key."`
	// Only a key in a file can be replaced, so the other sources of the key are refused.
	Key        string   `hidden:"" env:"LATCHKEY_KEY" help:"Refused: the command replaces only a key in a file."`
	KeyCommand []string `hidden:"" env:"LATCHKEY_KEY_COMMAND" help:"Refused, for the same reason."`
}

// Help returns what --help adds: what to stop before, and what to keep.
func (*keyRotate) Help() string {
	return `Stop every server first: the command fails while one runs. Other nodes need a copy of the new file before they start.

If the command is interrupted, run it again: nothing is lost. Earlier backups need the old key: keep it as long as you keep them.`
}

// Run replaces the key-encryption key in the key file by a new one and encrypts every data key with it. If the file has several keys, from
// an interrupted run, it finishes with the first. It fails if a server uses the database, or if the key does not come from a file.
func (c *keyRotate) Run(ctx context.Context, io *streams) (err error) {
	cfg := config.Config{DataDir: c.DataDir, Database: c.Database, KeyFile: c.KeyFile}
	if c.Key != "" || len(c.KeyCommand) > 0 {
		return errors.New("the key comes from LATCHKEY_KEY or LATCHKEY_KEY_COMMAND; this command can only replace a key in a file")
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	rotated := 0
	err = server.RunAlone(ctx, d, cfg.DatabaseURL(), func(ctx context.Context, held *db.DB) (err error) {
		rotated, err = keyring.RotateFile(ctx, cfg.KeyPath(), db.KeyStore{DB: held})
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "Encrypted %d data keys with a new key, which is in %s: keep a copy of that file in another place.\n", rotated, cfg.KeyPath())
	return nil
}
