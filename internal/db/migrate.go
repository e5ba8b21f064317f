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
	name     string // the file's, without .sql
	sql      string
	checksum string // SHA-256 of the file, hex
}

// Migrate brings the schema to what this program needs and returns the names of the
// migrations it applied, none if the schema was right. All of them are applied or none;
// a database that a newer program has changed, or a migration edited after it was
// applied, is an error. Two programs may call it at once.
func (d *DB) Migrate(ctx context.Context) ([]string, error) {
	wanted, err := migrations(migrate.Files, folder(d.Dialect()))
	if err != nil {
		return nil, err
	}
	var names []string
	err = d.engine.alter(ctx, func(tx *sql.Tx) error {
		names, err = apply(ctx, tx, d.Dialect(), wanted, d.cfg.Clock.Now())
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

// Schema names the schema that this program needs: its last migration.
func (d *DB) Schema() (string, error) {
	wanted, err := migrations(migrate.Files, folder(d.Dialect()))
	if err != nil || len(wanted) == 0 {
		return "", err
	}
	return wanted[len(wanted)-1].name, nil
}

// EnsureSchema is for the start of a server: an embedded database is migrated, a
// PostgreSQL database that needs it is an error that says what to run.
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
		return fmt.Errorf("the database lacks %s; run: latchkey migrate", strings.Join(pending, ", "))
	}
	return nil
}

// Pending names what Migrate would apply. It only reads.
func (d *DB) Pending(ctx context.Context) ([]string, error) {
	wanted, err := migrations(migrate.Files, folder(d.Dialect()))
	if err != nil {
		return nil, err
	}
	exists := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations')"
	if d.Dialect() == dialect.Postgres {
		exists = "SELECT to_regclass('schema_migrations') IS NOT NULL"
	}
	var begun bool
	if err := d.engine.reader().QueryRowContext(ctx, exists).Scan(&begun); err != nil {
		return nil, fmt.Errorf("look what is migrated: %w", err)
	}
	var applied []string
	if begun {
		if applied, err = ledger(ctx, d.engine.reader()); err != nil {
			return nil, fmt.Errorf("look what is migrated: %w", err)
		}
	}
	todo, err := pending(wanted, applied)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	var names []string
	for _, m := range todo {
		names = append(names, m.name)
	}
	current, err := d.engine.jobsCurrent(ctx, d.log)
	if err != nil {
		return nil, fmt.Errorf("look at the job queue's tables: %w", err)
	}
	if !current {
		names = append(names, "the job queue's tables")
	}
	return names, nil
}

// migrations reads the files of one dialect, in order.
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

const createLedger = `CREATE TABLE IF NOT EXISTS schema_migrations (
	number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at text NOT NULL)`

// pending is what of wanted is not applied yet, by the checksums of what is.
func pending(wanted []migration, applied []string) ([]migration, error) {
	if n := len(applied); n > len(wanted) {
		return nil, fmt.Errorf("the database is at migration %d and this program knows %d: use a newer program", n, len(wanted))
	}
	for i, sum := range applied {
		if sum != wanted[i].checksum {
			return nil, fmt.Errorf("migration %s was applied with another content; restore the file it was", wanted[i].name)
		}
	}
	return wanted[len(applied):], nil
}

// apply runs what of wanted the ledger does not hold, inside tx.
func apply(ctx context.Context, tx *sql.Tx, name string, wanted []migration, now time.Time) ([]string, error) {
	if _, err := tx.ExecContext(ctx, createLedger); err != nil {
		return nil, err
	}
	applied, err := ledger(ctx, tx)
	if err != nil {
		return nil, err
	}
	todo, err := pending(wanted, applied)
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

// ledger is the checksums of what is applied, by number from 1.
func ledger(ctx context.Context, from interface {
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
			return nil, fmt.Errorf("schema_migrations lacks number %d", len(sums)+1)
		}
		sums = append(sums, sum)
	}
	return sums, rows.Err()
}

// alter runs fn on a connection that does not enforce foreign keys, because SQLite
// changes a table by making it anew and dropping the old one, which would delete what
// refers to it; all references are checked before the commit.
func (s *sqlite) alter(ctx context.Context, fn func(*sql.Tx) error) error {
	pool, err := openPool(ctx, s.path, 1, map[string][]string{"_txlock": {"immediate"}, "_foreign_keys": {"0"}}, nil)
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
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return errors.Join(fmt.Errorf("table %s refers to rows that are not there", table), err)
	})
}

// migrationLock is PostgreSQL's advisory lock that lets one program migrate at a time.
const migrationLock = 0x6c6174636b // "latck"

func (p *postgres) alter(ctx context.Context, fn func(*sql.Tx) error) error {
	return inTx(ctx, p.sql, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		return fn(tx)
	})
}

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

// migrateJobs brings the job queue's tables to its version. All of its migrations for SQLite fit into one transaction, which
// keeps two programs apart.
func (s *sqlite) migrateJobs(ctx context.Context, log *slog.Logger) error {
	m, err := jobsMigrator(riversqlite.New(s.writer), log)
	if err != nil {
		return err
	}
	return inTx(ctx, s.writer, func(tx *sql.Tx) error {
		_, err := m.MigrateTx(ctx, tx, rivermigrate.DirectionUp, nil) //nolint:staticcheck // deprecated for the sake of PostgreSQL
		return err
	})
}

// migrateJobs does the same for PostgreSQL, where the queue's migrations need a
// transaction each; the lock is the session's.
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

func (s *sqlite) jobsCurrent(ctx context.Context, log *slog.Logger) (bool, error) {
	return jobsCurrent(ctx, riversqlite.New(s.writer), log)
}

func (p *postgres) jobsCurrent(ctx context.Context, log *slog.Logger) (bool, error) {
	return jobsCurrent(ctx, riverpgxv5.New(p.pool), log)
}

// jobsCurrent tells whether the job queue's tables are what it needs.
func jobsCurrent[T any](ctx context.Context, d riverdriver.Driver[T], log *slog.Logger) (bool, error) {
	m, err := jobsMigrator(d, log)
	if err != nil {
		return false, err
	}
	found, err := m.Validate(ctx)
	return err == nil && found.OK, err
}

func jobsMigrator[T any](d riverdriver.Driver[T], log *slog.Logger) (*rivermigrate.Migrator[T], error) {
	return rivermigrate.New(d, &rivermigrate.Config{Logger: Warnings(log)})
}

// Warnings is a logger for River: it tells every step of its daily work as information, which is left out.
func Warnings(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// folder is where a dialect's migrations live; ent calls SQLite "sqlite3".
func folder(name string) string {
	if name == dialect.SQLite {
		return "sqlite"
	}
	return name
}
