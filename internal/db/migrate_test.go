package db_test

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	atlas "ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/postgres"
	atlasschema "ariga.io/atlas/sql/schema"
	"ariga.io/atlas/sql/sqlite"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"latchkey.dev/ent/migrate"
	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// openRaw opens the database without internal/db.
func openRaw(t *testing.T, url string) (string, *sql.DB) {
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

// inspect reads the schema of a database without the tables that belong to no model.
func inspect(t *testing.T, name string, pool *sql.DB) (atlas.Driver, *atlasschema.Schema) {
	t.Helper()
	open, schemaName := sqlite.Open, "main"
	if name == dialect.Postgres {
		open, schemaName = postgres.Open, "public"
	}
	driver, err := open(pool)
	if err != nil {
		t.Fatal(err)
	}
	s, err := driver.InspectSchema(t.Context(), schemaName, &atlasschema.InspectOptions{
		Mode: atlasschema.InspectTables, Exclude: []string{"schema_migrations", "river_*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return driver, s
}

func TestMigrationsMakeTheSchemaThatEntWants(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			name, migrated := openRaw(t, dbtest.URL(t, engine))
			_, created := openRaw(t, dbtest.Empty(t, engine))
			m, err := schema.NewMigrate(entsql.OpenDB(name, created))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Create(t.Context(), tables.Tables...); err != nil {
				t.Fatal(err)
			}
			driver, have := inspect(t, name, migrated)
			_, want := inspect(t, name, created)
			if len(want.Tables) != len(tables.Tables) {
				t.Fatalf("inspected %d tables, ent has %d", len(want.Tables), len(tables.Tables))
			}
			changes, err := driver.SchemaDiff(have, want)
			if err != nil {
				t.Fatal(err)
			}
			if len(changes) == 0 {
				return
			}
			plan, err := driver.PlanChanges(t.Context(), "difference", changes)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range plan.Changes {
				t.Errorf("the migrations lack (run: make migration): %s", c.Cmd)
			}
		})
	}
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

var copiedTable = regexp.MustCompile(`copy rows from old table "(\w+)"`)

// copiesTable has the later migrations that copy a table, with the table. The copy of a small one takes less than a second.
var copiesTable = map[string]string{
	"0030_owners_of_pins.sql": "pins", // those of stays and codes that have not ended; SQLite cannot make a column nullable
}

// A copy of a large table takes minutes, and its space on the disk, while nothing works. The first migrations copied tables to add foreign keys.
func TestNewMigrationsCopyNoLargeTable(t *testing.T) {
	entries, err := migrate.Files.ReadDir("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() < "0007" {
			continue
		}
		text, err := migrate.Files.ReadFile("sqlite/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, copied := range copiedTable.FindAllStringSubmatch(string(text), -1) {
			if copied[1] != copiesTable[e.Name()] {
				t.Errorf("%s copies the table %s: add columns in place", e.Name(), copied[1])
			}
		}
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

// A starting server must not wait for other servers: here another transaction has locked a table exclusively.
func TestPendingOnlyReads(t *testing.T) {
	url := dbtest.URL(t, "postgres")
	_, pool := openRaw(t, url)
	if _, err := pool.Exec("DELETE FROM schema_migrations"); err != nil {
		t.Fatal(err)
	}
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	other, err := pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := other.Exec("SELECT pg_advisory_xact_lock($1)", int64(0x6c6174636b)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if todo, err := d.Pending(ctx); err != nil || len(todo) == 0 || !strings.HasPrefix(todo[0], "0001") {
		t.Errorf("pending %v, %v", todo, err)
	}
}

// Pending reports each problem with the job queue's tables, not only an old version.
func TestPendingSaysWhatIsWrong(t *testing.T) {
	url := dbtest.URL(t, "postgres")
	_, pool := openRaw(t, url)
	if _, err := pool.Exec("ALTER TABLE river_migration RENAME COLUMN version TO edition"); err != nil {
		t.Fatal(err)
	}
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if todo, err := d.Pending(t.Context()); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("pending %v, %v", todo, err)
	}
}

func TestWrongMigrationRecordsAreRefused(t *testing.T) {
	wrong := map[string]struct{ statement, want string }{
		"edited migration": {"UPDATE schema_migrations SET checksum = 'x' WHERE number = 1", "changed after it was applied"},
		"newer program":    {"INSERT INTO schema_migrations SELECT max(number)+1, 'x', 'x', 'x' FROM schema_migrations", "newer program"},
		"gap":              {"UPDATE schema_migrations SET number = number + 1000", "has no row with number"},
	}
	for name, c := range wrong {
		t.Run(name, func(t *testing.T) {
			dbtest.EachURL(t, func(t *testing.T, url string) {
				_, pool := openRaw(t, url)
				if _, err := pool.Exec(c.statement); err != nil {
					t.Fatal(err)
				}
				d, err := db.Open(t.Context(), db.Config{URL: url})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				if _, err := d.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Migrate: %v, want %q", err, c.want)
				}
				if _, err := d.Pending(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Pending: %v, want %q", err, c.want)
				}
			})
		})
	}
}
