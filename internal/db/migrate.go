package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"latchkey.dev/ent/migrate"
)

// migration is one file of ent/migrate/<dialect>.
type migration struct {
	number   int
	name     string // name is the file's name without .sql
	sql      string
	checksum string // checksum is the SHA-256 of the file in hex
}

// Migrate brings the schema to the version of this program and returns the names of the migrations it applied, none if the schema was
// current. It applies all of them or none. It fails if a newer program has changed the database, or if a migration was edited after it was
// applied. Then it migrates the job queue's tables; if that fails, it returns the names with the error. Several programs may call it at
// once.
func (d *DB) Migrate(ctx context.Context) ([]string, error) {
	available, err := migrations(migrate.Files, migrate.Folder(d.Dialect()))
	if err != nil {
		return nil, err
	}
	var names []string
	err = d.engine.alter(ctx, func(tx *sql.Tx) error {
		names, err = apply(ctx, tx, d.Dialect(), available, d.cfg.Clock.Now())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if err := d.engine.migrateJobs(ctx, d.log); err != nil {
		return names, fmt.Errorf("migrate the job queue: %w", err)
	}
	return names, nil
}

// Schema returns the name of the newest migration of this program.
func (d *DB) Schema() (string, error) {
	available, err := migrations(migrate.Files, migrate.Folder(d.Dialect()))
	if err != nil || len(available) == 0 {
		return "", err
	}
	return available[len(available)-1].name, nil
}

// EnsureSchema checks the schema when a server starts. It migrates an SQLite database. For a PostgreSQL database with pending migrations
// it returns an error that names the command to run.
func (d *DB) EnsureSchema(ctx context.Context) error {
	if d.SQLite() {
		names, err := d.Migrate(ctx)
		if len(names) > 0 {
			d.log.Info("database migrated", "migrations", names)
		}
		return err
	}
	pending, err := d.Pending(ctx)
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		return fmt.Errorf("the database is missing migrations: %s; run: latchkey migrate", strings.Join(pending, ", "))
	}
	return nil
}

// Pending returns the names of the migrations that the database lacks. If the job queue's tables are outdated, a text about them follows.
// It fails if [DB.Migrate] would refuse the database.
func (d *DB) Pending(ctx context.Context) ([]string, error) {
	available, err := migrations(migrate.Files, migrate.Folder(d.Dialect()))
	if err != nil {
		return nil, err
	}
	existsQuery := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations')"
	if d.Dialect() == dialect.Postgres {
		existsQuery = "SELECT to_regclass('schema_migrations') IS NOT NULL"
	}
	var exists bool
	if err := d.engine.reader().QueryRowContext(ctx, existsQuery).Scan(&exists); err != nil {
		return nil, fmt.Errorf("read the applied migrations: %w", err)
	}
	var applied []string
	if exists {
		if applied, err = appliedChecksums(ctx, d.engine.reader()); err != nil {
			return nil, fmt.Errorf("read the applied migrations: %w", err)
		}
	}
	todo, err := pending(available, applied)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	var names []string
	for _, m := range todo {
		names = append(names, m.name)
	}
	current, err := d.engine.jobsCurrent(ctx, d.log)
	if err != nil {
		return nil, fmt.Errorf("check the job queue's tables: %w", err)
	}
	if !current {
		names = append(names, "the job queue's tables")
	}
	return names, nil
}

// migrations reads the migration files in the directory name of files, in order of their numbers. A gap in the numbers is an error.
func migrations(files fs.FS, name string) ([]migration, error) {
	entries, err := fs.ReadDir(files, name)
	if err != nil {
		return nil, err
	}
	var list []migration
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".sql")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(stem, "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number != len(list)+1 {
			return nil, fmt.Errorf("migration %s/%s: want number %04d", name, e.Name(), len(list)+1)
		}
		text, err := fs.ReadFile(files, path.Join(name, e.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		list = append(list, migration{number, stem, string(text), hex.EncodeToString(sum[:])})
	}
	return list, nil
}

const createMigrationsTable = `CREATE TABLE IF NOT EXISTS schema_migrations (
	number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at text NOT NULL)`

var errMigrationChanged = errors.New("changed after it was applied")

// pending returns the available migrations that are not applied. applied has the checksums of the applied ones, in order. It fails if one
// of them does not match, or if a newer program has applied more.
func pending(available []migration, applied []string) ([]migration, error) {
	if n := len(applied); n > len(available) {
		return nil, fmt.Errorf("the database is at migration %d but this program has only %d: use a newer program", n, len(available))
	}
	for i, sum := range applied {
		if sum != available[i].checksum {
			return nil, fmt.Errorf("the file of migration %s %w; restore its former content", available[i].name, errMigrationChanged)
		}
	}
	return available[len(applied):], nil
}

// apply runs the available migrations that are not applied yet in tx, and returns their names. name is the dialect; now is recorded as
// the time of each migration.
func apply(ctx context.Context, tx *sql.Tx, name string, available []migration, now time.Time) ([]string, error) {
	if _, err := tx.ExecContext(ctx, createMigrationsTable); err != nil {
		return nil, err
	}
	applied, err := appliedChecksums(ctx, tx)
	if err != nil {
		return nil, err
	}
	todo, err := pending(available, applied)
	if err != nil {
		return nil, err
	}
	insert := "INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)"
	if name == dialect.Postgres {
		insert = "INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES ($1, $2, $3, $4)"
	}
	var names []string
	for _, m := range todo {
		if _, err := tx.ExecContext(ctx, m.sql); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if _, err := tx.ExecContext(ctx, insert, m.number, m.name, m.checksum, now.UTC().Format(time.RFC3339)); err != nil {
			return nil, err
		}
		names = append(names, m.name)
	}
	return names, nil
}

// appliedChecksums returns the checksums of the applied migrations, in order of their numbers from 1.
func appliedChecksums(ctx context.Context, from interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}) ([]string, error) {
	rows, err := from.QueryContext(ctx, "SELECT number, checksum FROM schema_migrations ORDER BY number")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var sums []string
	for rows.Next() {
		var number int
		var sum string
		if err := rows.Scan(&number, &sum); err != nil {
			return nil, err
		}
		if number != len(sums)+1 {
			return nil, fmt.Errorf("the table schema_migrations has no row with number %d", len(sums)+1)
		}
		sums = append(sums, sum)
	}
	return sums, rows.Err()
}

// alter runs fn, which changes the schema, in a transaction on a connection that does not enforce foreign keys: SQLite changes a table by
// copying it and dropping the old one, which would delete the rows that refer to it. Before the commit it replaces the planner's statistics
// and checks all references.
func (s *sqlite) alter(ctx context.Context, fn func(*sql.Tx) error) error {
	pool, err := openPool(ctx, s.path, 1, map[string][]string{"_txlock": {"immediate"}, "_foreign_keys": {"0"}, "_secure_delete": {"true"}}, nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	return inTx(ctx, pool, func(tx *sql.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		if err := writeStatistics(ctx, tx); err != nil {
			return err
		}
		var table string
		err := tx.QueryRowContext(ctx, `SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(&table)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return fmt.Errorf("check the references between tables: %w", err)
		}
		return fmt.Errorf("table %s refers to rows that do not exist", table)
	})
}

// migrationLock is the advisory lock with which one program at a time migrates PostgreSQL.
const migrationLock = 0x6c6174636b // "latck"

// alter runs fn, which changes the schema, in a transaction. It first waits until no other program migrates.
func (p *postgres) alter(ctx context.Context, fn func(*sql.Tx) error) error {
	return inTx(ctx, p.sql, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		return fn(tx)
	})
}

// inTx runs fn in a transaction, which it commits if fn returns nil and otherwise rolls back.
func inTx(ctx context.Context, pool *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, rollback(tx))
	}
	return tx.Commit()
}

// migrateJobs migrates the job queue's tables in one transaction, so that two programs cannot run the migrations at once.
func (s *sqlite) migrateJobs(ctx context.Context, log *slog.Logger) error {
	m, err := jobsMigrator(riversqlite.New(s.writer), log)
	if err != nil {
		return err
	}
	return inTx(ctx, s.writer, func(tx *sql.Tx) error {
		//lint:ignore SA1019 only PostgreSQL needs several transactions
		_, err := m.MigrateTx(ctx, tx, rivermigrate.DirectionUp, nil)
		return err
	})
}

// migrateJobs migrates the job queue's tables on PostgreSQL. Each of the queue's migrations needs its own
// transaction, so a session lock covers all of them.
func (p *postgres) migrateJobs(ctx context.Context, log *slog.Logger) error {
	m, err := jobsMigrator(riverpgxv5.New(p.pool), log)
	if err != nil {
		return err
	}
	session, err := p.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer session.Release()
	if _, err := session.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	_, unlockErr := session.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrationLock)
	return errors.Join(err, unlockErr)
}

// jobsCurrent implements engine for SQLite.
func (s *sqlite) jobsCurrent(ctx context.Context, log *slog.Logger) (bool, error) {
	return jobsCurrent(ctx, riversqlite.New(s.writer), log)
}

// jobsCurrent implements engine for PostgreSQL: it reports whether the tables of the job queue are up to date.
func (p *postgres) jobsCurrent(ctx context.Context, log *slog.Logger) (bool, error) {
	return jobsCurrent(ctx, riverpgxv5.New(p.pool), log)
}

// jobsCurrent reports whether the tables of the job queue have the version that the queue needs.
func jobsCurrent[T any](ctx context.Context, d riverdriver.Driver[T], log *slog.Logger) (bool, error) {
	m, err := jobsMigrator(d, log)
	if err != nil {
		return false, err
	}
	found, err := m.Validate(ctx)
	return err == nil && found.OK, err
}

// jobsMigrator returns River's migrator for the tables of the job queue.
func jobsMigrator[T any](d riverdriver.Driver[T], log *slog.Logger) (*rivermigrate.Migrator[T], error) {
	return rivermigrate.New(d, &rivermigrate.Config{Logger: WarningsOnly(log)})
}

// WarningsOnly returns a logger for River that drops everything below warnings, because River logs each routine step.
func WarningsOnly(log *slog.Logger) *slog.Logger { return slog.New(warningsOnly{log.Handler()}) }

type warningsOnly struct{ slog.Handler }

// Enabled implements slog.Handler: it is false below warnings, and otherwise what the wrapped handler says.
func (w warningsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
