// Package dbtest runs tests on every supported database. Without PostgreSQL, the test fails: it is never skipped.
package dbtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"latchkey.dev/ent/migrate"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/pgtemp"
)

// Engines are the names of the sub-tests that Each and EachURL run.
var Engines = []string{"sqlite", "postgres"}

// Option changes the configuration of a test's database.
type Option func(*db.Config)

// Clock sets the clock of the database.
func Clock(c clock.Clock) Option { return func(cfg *db.Config) { cfg.Clock = c } }

// Each runs f as the sub-tests "sqlite" and "postgres", each on a fresh, migrated
// database that is closed when the sub-test ends.
func Each(t *testing.T, f func(t *testing.T, d *db.DB), opts ...Option) {
	t.Helper()
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) { f(t, Open(t, engine, opts...)) })
	}
}

// EachURL is Each for tests that open the database themselves.
func EachURL(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) { f(t, URL(t, engine)) })
	}
}

// Open returns a fresh, migrated database of one of Engines, which is closed when t ends.
func Open(t testing.TB, engine string, opts ...Option) *db.DB {
	t.Helper()
	cfg := db.Config{URL: URL(t, engine)}
	for _, o := range opts {
		o(&cfg)
	}
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return d
}

// URL creates a fresh, migrated database of one of Engines and returns its URL. The database is removed when t ends.
func URL(t testing.TB, engine string) string {
	t.Helper()
	failOnComputing(t)
	failOnUnscoped(t)
	failOnUnannounced(t)
	switch engine {
	case "sqlite":
		return "sqlite:" + copySQLite(t)
	case "postgres":
		return copyPostgres(t)
	}
	t.Fatalf("unknown engine %q", engine)
	return ""
}

// Empty creates a database without tables, of one of Engines, and returns its URL. The database is removed when t ends.
func Empty(t testing.TB, engine string) string {
	t.Helper()
	if engine == "sqlite" {
		return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	}
	return createDatabase(t, "template1")
}

// sqliteTemplate is a migrated file, created once in a process and copied for each test.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "latchkey-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "template.db")
	if err := migrateDatabase("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// migrateDatabase creates the current schema in an empty database.
func migrateDatabase(url string) error {
	ctx := context.Background()
	d, err := db.Open(ctx, db.Config{URL: url})
	if err != nil {
		return err
	}
	if _, err := d.Migrate(ctx); err != nil {
		_ = d.Close()
		return err
	}
	return d.Close()
}

// copySQLite returns the path of a new copy of the migrated file.
func copySQLite(t testing.TB) string {
	t.Helper()
	content, err := sqliteTemplate()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const templateName = "latchkey_template"

// startCluster runs once in a process; the cluster ends with the process.
var startCluster = sync.OnceValues(func() (*pgtemp.Cluster, error) {
	key, err := schemaKey()
	if err != nil {
		return nil, err
	}
	return pgtemp.Clone(context.Background(), key, func(c *pgtemp.Cluster) error {
		if err := c.Exec(context.Background(), "CREATE DATABASE "+templateName); err != nil {
			return err
		}
		return migrateDatabase(c.URL(templateName))
	})
})

// schemaKey returns a text that differs whenever the schema of the template may differ: it has the migrations, and the versions of
// dependencies, which contain the job queue's migrations.
func schemaKey() (string, error) {
	var key strings.Builder
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, d := range build.Deps {
			fmt.Fprintln(&key, d.Path, d.Version)
		}
	}
	err := fs.WalkDir(migrate.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := migrate.Files.ReadFile(path)
		fmt.Fprintln(&key, path, string(content))
		return err
	})
	return key.String(), err
}

// sharedCluster returns the PostgreSQL cluster of all tests in this process, with the template database.
func sharedCluster(t testing.TB) *pgtemp.Cluster {
	t.Helper()
	c, err := startCluster()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// copyPostgres creates a copy of the template database and returns its URL.
func copyPostgres(t testing.TB) string {
	t.Helper()
	return createDatabase(t, templateName)
}

var databases atomic.Int64

// createDatabase creates a database as a copy of another one, returns its URL, and drops it when t ends.
func createDatabase(t testing.TB, template string) string {
	t.Helper()
	c, name := sharedCluster(t), fmt.Sprintf("test_%d", databases.Add(1))
	if err := c.Copy(t.Context(), template, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return c.URL(name)
}

// Keys returns a keyring that stores its keys in d. It has a new key-encryption key and a data key for each of the properties.
func Keys(t testing.TB, d *db.DB, properties ...string) *keyring.Ring {
	t.Helper()
	kek, err := keyring.NewKEK()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyring.Open(t.Context(), keyring.Source{Keys: keyring.KEKs{kek}}, db.KeyStore{DB: d})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range properties {
		if err := keys.EnsureKey(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}
