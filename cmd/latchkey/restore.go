package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/server"
)

// restoreCommand restores a copy that the backup command made.
type restoreCommand struct {
	File string `arg:"" type:"path" help:"A copy that latchkey backup made."`
	stored
	KeyFile    string   `type:"path" env:"LATCHKEY_KEY_FILE" placeholder:"PATH" help:"The key file. Left out: the data directory's name with .key."`
	Key        string   `hidden:"" env:"LATCHKEY_KEY" help:"The key-encryption key itself, as for serve."`
	KeyCommand []string `hidden:"" env:"LATCHKEY_KEY_COMMAND" help:"A program that prints the key, as for serve."`
	Force      bool     `help:"Replace an existing database. It is kept under another name."`
}

// Help returns what --help adds: what is checked before, how to go on after an interruption, and examples.
func (*restoreCommand) Help() string {
	return `Stop the server first. Before anything changes, the command checks that the file is complete, that this version can use it, and that the key decrypts it. If a restore is interrupted, run it again: the data directory has the former database, the restored one, or (only if the former one was unreadable) none.

Examples:
  latchkey restore /backups/latchkey-2026-07-01.db
  latchkey restore /backups/latchkey-2026-07-01.db --force`
}

// Run checks the backup, and then installs it as the embedded database. It keeps a replaced database under another name. It changes nothing
// if a check fails, a server runs, or there is a database and --force is not set.
func (c *restoreCommand) Run(ctx context.Context, io *streams) (err error) {
	cfg := config.Config{DataDir: c.DataDir, Database: c.Database, KeyFile: c.KeyFile}
	path, ok := db.SQLitePath(cfg.DatabaseURL())
	if !ok {
		return errors.New("restore works only for an embedded database; for PostgreSQL use pg_restore or recovery from an archive")
	}
	file, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	if !file.Mode().IsRegular() { // opening a pipe would block until a program writes to it
		return fmt.Errorf("%s is not a regular file: name the copy that latchkey backup made", c.File)
	}
	release, err := server.Own(cfg.DatabaseURL())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := os.Stat(path); err == nil && !c.Force {
		return fmt.Errorf("there is a database at %s. To replace it, add --force: the old one is kept under another name", path)
	}
	staged, err := db.Stage(ctx, c.File, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, staged.Discard()) }()
	lacks, err := staged.Check(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	key := keyring.Source{Text: c.Key, Command: c.KeyCommand, File: cfg.KeyPath(), DataDir: c.DataDir}
	switch err := keyring.Verify(ctx, key, staged); {
	case errors.Is(err, keyring.ErrOtherKey):
		return fmt.Errorf("%s: %w\nUse --key-file to name the key file from the time of the backup", c.File, err)
	case err != nil:
		return fmt.Errorf("check the key of %s: %w", c.File, err)
	}
	former, err := staged.Install(ctx, path, time.Now())
	if err != nil {
		return err
	}
	c.report(io, path, former, len(lacks))
	return nil
}

// report prints that the backup is now the database at path, and what to do next. former is the file with the replaced database, if there
// was one; lacks is the number of migrations that the backup still needs.
func (c *restoreCommand) report(io *streams, path, former string, lacks int) {
	fmt.Fprintf(io.out, "Restored %s to %s.\n", c.File, path)
	if former != "" {
		fmt.Fprintf(io.out, "The former database is kept as %s. Delete it when you no longer need it.\n", former)
	}
	dataDir := typedFlag("data-dir", c.DataDir)
	if here, err := filepath.Abs(config.Default().DataDir); err == nil && here == c.DataDir {
		dataDir = ""
	}
	serve := "latchkey serve" + dataDir + typedFlag("database", c.Database) + typedFlag("key-file", c.KeyFile)
	if lacks > 0 {
		serve += "    updates the copy to the schema of this version"
	}
	fmt.Fprintf(io.out, `
The database is as it was when the backup was made:
- Tokens, bridges and codes that were revoked later are valid again. Revoke them again.
- Later changes of reservations are lost. Have the PMS send all current reservations.

Next:
  %[1]s
  latchkey bridge list%[2]s       shows which bridges are back
  latchkey arrivals%[2]s          shows whether today's doors are ready
`, serve, dataDir)
}
