package db_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	atlas "ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"latchkey.dev/ent/migrate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/db/dbtest"
)

// raw opens the database past internal/db.
func raw(t *testing.T, url string) (string, *sql.DB) {
	t.Helper()
	name, driver, dsn := dialect.Postgres, "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		name, driver, dsn = dialect.SQLite, "sqlite3", "file:"+path+"?_foreign_keys=1"
	}
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return name, pool
}

// wanted is the statements that separate a database from ent's schema.
type wanted struct{ statements []string }

func (w *wanted) Format(plan *atlas.Plan) ([]atlas.File, error) {
	for _, c := range plan.Changes {
		w.statements = append(w.statements, c.Cmd)
	}
	return nil, nil
}

func TestMigrationsMakeTheSchemaThatEntWants(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		name, pool := raw(t, url)
		var diff wanted
		m, err := schema.NewMigrate(entsql.OpenDB(name, pool), schema.WithDialect(name), schema.WithDir(&atlas.MemDir{}),
			schema.WithMigrationMode(schema.ModeInspect), schema.WithFormatter(&diff), schema.WithDropColumn(true), schema.WithDropIndex(true))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.NamedDiff(t.Context(), "x", migrate.Tables...); err != nil && !errors.Is(err, atlas.ErrNoPlan) {
			t.Fatal(err)
		}
		for _, s := range diff.statements {
			t.Errorf("ent wants more than the migrations make (run: make migration NAME=...): %s", s)
		}
		if extra := foreignTables(t, name, pool); len(extra) > 0 {
			t.Errorf("tables that no model knows: %v", extra)
		}
	})
}

// foreignTables are tables of neither ent nor the ledger nor the job queue.
func foreignTables(t *testing.T, name string, pool *sql.DB) []string {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if name == dialect.Postgres {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	}
	rows, err := pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var extra []string
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		known := table == "schema_migrations" || strings.HasPrefix(table, "river_") ||
			slices.ContainsFunc(migrate.Tables, func(m *schema.Table) bool { return m.Name == table })
		if !known {
			extra = append(extra, table)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return extra
}

func TestBothEnginesHaveTheSameMigrations(t *testing.T) {
	names := map[string][]string{}
	for _, dir := range []string{"sqlite", "postgres"} {
		entries, err := migrate.Files.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names[dir] = append(names[dir], e.Name())
		}
	}
	if !slices.Equal(names["sqlite"], names["postgres"]) {
		t.Errorf("sqlite has %v, postgres %v", names["sqlite"], names["postgres"])
	}
}

func eachEmpty(t *testing.T, f func(t *testing.T, d *db.DB)) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			d, err := db.Open(t.Context(), db.Config{URL: dbtest.Empty(t, engine)})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			f(t, d)
		})
	}
}

func TestMigrateTwiceAtOnce(t *testing.T) {
	eachEmpty(t, func(t *testing.T, d *db.DB) {
		var wg sync.WaitGroup
		applied := make([][]string, 2)
		for i := range applied {
			wg.Go(func() {
				var err error
				if applied[i], err = d.Migrate(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if (len(applied[0]) == 0) == (len(applied[1]) == 0) {
			t.Errorf("applied %v and %v: want one of the two to do it", applied[0], applied[1])
		}
		if pending, err := d.Pending(t.Context()); err != nil || len(pending) != 0 {
			t.Errorf("pending %v, %v", pending, err)
		}
	})
}

func TestEnsureSchema(t *testing.T) {
	eachEmpty(t, func(t *testing.T, d *db.DB) {
		err := d.EnsureSchema(t.Context())
		if d.SQLite() {
			if err != nil {
				t.Errorf("an embedded database migrates itself: %v", err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), "latchkey migrate") {
			t.Errorf("error = %v, want what to run", err)
		}
		if _, err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.EnsureSchema(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWrongLedgersAreRefused(t *testing.T) {
	wrong := map[string]struct{ statement, want string }{
		"edited migration": {"UPDATE schema_migrations SET checksum = 'x' WHERE number = 1", "another content"},
		"newer program":    {"INSERT INTO schema_migrations SELECT max(number)+1, 'x', 'x', 'x' FROM schema_migrations", "newer program"},
		"gap":              {"UPDATE schema_migrations SET number = number + 1", "lacks number"},
	}
	for name, c := range wrong {
		t.Run(name, func(t *testing.T) {
			dbtest.EachURL(t, func(t *testing.T, url string) {
				_, pool := raw(t, url)
				if _, err := pool.Exec(c.statement); err != nil {
					t.Fatal(err)
				}
				d, err := db.Open(t.Context(), db.Config{URL: url})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				if _, err := d.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error = %v, want %q", err, c.want)
				}
			})
		})
	}
}
