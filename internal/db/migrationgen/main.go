// Command migrationgen writes the next versioned migration for both engines: the difference between the existing migrations and ent/schema.
// Run it with "make migration". The file is named NNNN_next.sql and is replaced at each run, so that changes collect in one migration.
// NAME=what_changes gives the file its final name.
package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	atlas "ariga.io/atlas/sql/migrate"
	atlasschema "ariga.io/atlas/sql/schema"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"latchkey.dev/ent/migrate"
	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/test/pgtemp"
)

func main() {
	dir := flag.String("dir", "ent/migrate", "directory that contains sqlite/ and postgres/")
	flag.Parse()
	if err := run(context.Background(), *dir, cmp.Or(flag.Arg(0), next)); err != nil {
		fmt.Fprintln(os.Stderr, "migration:", err)
		os.Exit(1)
	}
}

// next is the name of the migration that the next call replaces.
const next = "next"

var goodName = regexp.MustCompile(`^[a-z][a-z0-9_]{1,60}$`)

// run writes the migration with a name into the directories of both engines below dir, under the next free number, in place of the one
// named next. It starts a temporary PostgreSQL.
func run(ctx context.Context, dir, name string) error {
	if !goodName.MatchString(name) {
		return fmt.Errorf("name %q: want lower-case words with underscores", name)
	}
	cluster, err := pgtemp.Start(ctx)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	texts := map[string][]byte{}
	number := 1
	for engine, open := range map[string]func() (*sql.DB, error){
		dialect.SQLite:   func() (*sql.DB, error) { return sql.Open("sqlite3", "file:dev?mode=memory&_fk=1") },
		dialect.Postgres: func() (*sql.DB, error) { return sql.Open("pgx", cluster.URL("postgres")) },
	} {
		existing, err := existing(filepath.Join(dir, migrate.Folder(engine)))
		if err != nil {
			return err
		}
		files, err := existing.Files()
		if err != nil {
			return err
		}
		number = max(number, len(files)+1)
		if texts[engine], err = difference(ctx, engine, open, existing); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
	}
	return write(dir, fmt.Sprintf("%04d_%s.sql", number, name), texts)
}

// existing loads the migrations of one engine from dir into memory, where atlas replays them. It leaves out the file named next, which
// the new migration replaces.
func existing(dir string) (*atlas.MemDir, error) {
	mem := &atlas.MemDir{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "_"+next+".sql") {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		if err := mem.WriteFile(filepath.Base(p), text); err != nil {
			return nil, err
		}
	}
	sum, err := mem.Checksum()
	if err != nil {
		return nil, err
	}
	return mem, atlas.WriteSumFile(mem, sum)
}

// difference returns the statements that turn the schema of the migrations in dir into ent's, empty if the schemas are equal. open opens an
// empty database of the engine.
func difference(ctx context.Context, engine string, open func() (*sql.DB, error), dir *atlas.MemDir) ([]byte, error) {
	pool, err := open()
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1) // an in-memory database belongs to its connection
	var out statements
	m, err := schema.NewMigrate(entsql.OpenDB(engine, pool),
		schema.WithDir(dir), schema.WithMigrationMode(schema.ModeReplay), schema.WithDialect(engine),
		schema.WithFormatter(&out), schema.WithDropColumn(true), schema.WithDropIndex(true),
		schema.WithDiffHook(addIndexedColumnsInPlace), schema.WithDiffHook(rename))
	if err != nil {
		return nil, err
	}
	if err := m.NamedDiff(ctx, "next", tables.Tables...); err != nil && !errors.Is(err, atlas.ErrNoPlan) {
		return nil, err
	}
	return out.Bytes(), nil
}

// addIndexedColumnsInPlace changes the plan of atlas, so that SQLite adds an indexed column by ALTER TABLE. Atlas would copy the whole
// table, because it does not see that a later statement creates the index. For a large table that takes a minute and twice its space on
// the disk.
func addIndexedColumnsInPlace(next schema.Differ) schema.Differ {
	return schema.DiffFunc(func(current, desired *atlasschema.Schema) ([]atlasschema.Change, error) {
		changes, err := next.Diff(current, desired)
		for _, c := range changes {
			table, ok := c.(*atlasschema.ModifyTable)
			if !ok {
				continue
			}
			for _, c := range table.Changes {
				if added, ok := c.(*atlasschema.AddColumn); ok {
					added.C.Indexes = nil
				}
			}
		}
		return changes, err
	})
}

// renamed converts the former name of a column or an index to its present name. Add a pair here to rename a column. The former part of a
// pair is replaced wherever a name in any table contains it.
var renamed = strings.NewReplacer("_told_at", "_notified_at")

// rename changes the plan of atlas: it renames a column or an index instead of dropping it and adding one with the new name, so that its
// values are kept.
func rename(next schema.Differ) schema.Differ {
	return schema.DiffFunc(func(current, desired *atlasschema.Schema) ([]atlasschema.Change, error) {
		changes, err := next.Diff(current, desired)
		for _, c := range changes {
			if table, ok := c.(*atlasschema.ModifyTable); ok {
				table.Changes = joinRenamed(table.Changes)
			}
		}
		return changes, err
	})
}

// joinRenamed replaces each pair of a dropped and an added column or index that renamed connects by one change of the name.
func joinRenamed(changes atlasschema.Changes) (joined atlasschema.Changes) {
	added := map[atlasschema.Change]bool{}
	for _, c := range changes {
		switch dropped := c.(type) {
		case *atlasschema.DropColumn:
			if i := changes.IndexAddColumn(renamed.Replace(dropped.C.Name)); i >= 0 {
				added[changes[i]] = true
				c = &atlasschema.RenameColumn{From: dropped.C, To: changes[i].(*atlasschema.AddColumn).C}
			}
		case *atlasschema.DropIndex:
			now := renamed.Replace(dropped.I.Name)
			if i := changes.IndexAddIndex(now); i >= 0 && now != dropped.I.Name {
				added[changes[i]] = true
				c = &atlasschema.RenameIndex{From: dropped.I, To: changes[i].(*atlasschema.AddIndex).I}
			}
		}
		joined = append(joined, c)
	}
	return slices.DeleteFunc(joined, func(c atlasschema.Change) bool { return added[c] })
}

// statements collects the SQL of a plan, instead of writing files as atlas does. It becomes the text of the migration.
type statements struct{ bytes.Buffer }

// Format implements atlas's Formatter. It appends the plan's statements to the buffer and returns no files.
func (s *statements) Format(plan *atlas.Plan) ([]atlas.File, error) {
	for _, c := range plan.Changes {
		if c.Comment != "" {
			fmt.Fprintf(s, "-- %s\n", c.Comment)
		}
		fmt.Fprintf(s, "%s;\n", c.Cmd)
	}
	return nil, nil
}

// write writes the migration of each engine to file, below dir, prints the names, and removes the migration named next. texts has the
// statements by engine. If all are empty, it only removes.
func write(dir, file string, texts map[string][]byte) error {
	empty := true
	for engine, text := range texts {
		empty = empty && len(text) == 0
		replaced, err := filepath.Glob(filepath.Join(dir, migrate.Folder(engine), "*_"+next+".sql"))
		if err != nil {
			return err
		}
		for _, f := range replaced {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	if empty {
		fmt.Println("nothing to change")
		return nil
	}
	for engine, text := range texts {
		if len(text) == 0 {
			text = []byte("-- Nothing changes on this engine.\n")
		}
		to := filepath.Join(dir, migrate.Folder(engine))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, file), text, 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(to, file))
	}
	return nil
}
