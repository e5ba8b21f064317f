package dbtest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"latchkey.dev/internal/db"
)

// FullScans returns the statements that read all rows of one of the tables, each with the line of its plan. A scan of a partial index
// does not count. PostgreSQL's plans are made without parameters, and use an index wherever possible.
func FullScans(t testing.TB, d *db.DB, tables []string, statements []string) (found []string) {
	t.Helper()
	partial := partialIndexes(t, d)
	for _, statement := range statements {
		for _, scan := range scansOf(t, d, statement, partial) {
			for _, table := range tables {
				if scan.table == table {
					found = append(found, scan.place+" in "+statement)
				}
			}
		}
	}
	return found
}

// scan is a place of a plan that reads all rows of a table.
type scan struct{ table, place string }

// scansOf returns the full scans in the plan of a statement. partial has the names of the partial indexes.
func scansOf(t testing.TB, d *db.DB, statement string, partial map[string]bool) []scan {
	t.Helper()
	if d.SQLite() {
		return scansOfSQLite(t, d, statement, partial)
	}
	return scansOfPostgres(t, d, statement, partial)
}

var (
	parameter   = regexp.MustCompile(`\?|\$\d+`)
	tableAlias  = regexp.MustCompile("(?i)(?:FROM|JOIN|UPDATE|INTO)\\s+[`\"]?(\\w+)[`\"]?(?:\\s+(?:AS\\s+)?[`\"]?(\\w+)[`\"]?)?")
	scanOfATerm = regexp.MustCompile(`^SCAN (\S+)(?: USING (?:COVERING )?INDEX (\S+))?`)
)

// parameters returns the number of parameters of a statement.
func parameters(statement string) int {
	numbered, n := map[string]bool{}, 0
	for _, p := range parameter.FindAllString(statement, -1) {
		if p == "?" {
			n++
		} else {
			numbered[p] = true
		}
	}
	return n + len(numbered)
}

// scansOfSQLite is scansOf for SQLite.
func scansOfSQLite(t testing.TB, d *db.DB, statement string, partial map[string]bool) (found []scan) {
	t.Helper()
	names := map[string]string{}
	for _, m := range tableAlias.FindAllStringSubmatch(statement, -1) {
		names[m[1]] = m[1]
		if m[2] != "" {
			names[m[2]] = m[1]
		}
	}
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		rows, err := tx.SQL().QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, make([]any, parameters(statement))...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			if m := scanOfATerm.FindStringSubmatch(detail); m != nil && !partial[m[2]] {
				found = append(found, scan{names[m[1]], detail})
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Errorf("explain %s: %v", statement, err)
	}
	return found
}

// pgPlan is a node of a plan of PostgreSQL.
type pgPlan struct {
	Type  string   `json:"Node Type"`
	Table string   `json:"Relation Name"`
	Index string   `json:"Index Name"`
	Cond  string   `json:"Index Cond"`
	Plans []pgPlan `json:"Plans"`
}

// scansOfPostgres is scansOf for PostgreSQL.
func scansOfPostgres(t testing.TB, d *db.DB, statement string, partial map[string]bool) (found []scan) {
	t.Helper()
	conn, err := d.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	execute := "EXECUTE planned"
	if n := parameters(statement); n > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
	}
	for _, s := range []string{"SET plan_cache_mode = force_generic_plan", "SET enable_seqscan = off", "PREPARE planned AS " + statement} {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
			return nil
		}
	}
	var raw []byte
	if err := conn.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+execute).Scan(&raw); err != nil {
		t.Errorf("explain %s: %v", statement, err)
		return nil
	}
	var plans []struct{ Plan pgPlan }
	if err := json.Unmarshal(raw, &plans); err != nil {
		t.Fatal(err)
	}
	var walk func(p pgPlan, table string)
	walk = func(p pgPlan, table string) {
		if p.Table != "" {
			table = p.Table
		}
		byIndex := strings.Contains(p.Type, "Index") && (p.Cond != "" || partial[p.Index])
		if p.Type == "Seq Scan" || strings.Contains(p.Type, "Index") && !byIndex {
			found = append(found, scan{table, fmt.Sprintf("%s on %s %s", p.Type, table, p.Index)})
		}
		for _, below := range p.Plans {
			walk(below, table)
		}
	}
	for _, p := range plans {
		walk(p.Plan, "")
	}
	return found
}

// partialIndexes returns the names of the indexes that contain only some rows of their table.
func partialIndexes(t testing.TB, d *db.DB) map[string]bool {
	t.Helper()
	list := "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexdef LIKE '% WHERE %'"
	if d.SQLite() {
		list = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'"
	}
	partial := map[string]bool{}
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		rows, err := tx.SQL().QueryContext(t.Context(), list)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			partial[name] = true
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return partial
}

// Multiply copies the only row of a table until the table has n rows. set has an SQL expression for each column that must differ, in
// which n is the number of the row, from 1.
func Multiply(t testing.TB, d *db.DB, table string, n int, set map[string]string) {
	t.Helper()
	var names, values []string
	for _, c := range Table(table).Columns {
		names = append(names, `"`+c.Name+`"`)
		if expression, ok := set[c.Name]; ok {
			values = append(values, expression)
		} else {
			values = append(values, `t."`+c.Name+`"`)
		}
	}
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.SQL().ExecContext(t.Context(), fmt.Sprintf(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d)
			INSERT INTO %s (%s) SELECT %s FROM numbers CROSS JOIN (SELECT * FROM %s LIMIT 1) AS t`,
			n-1, table, strings.Join(names, ", "), strings.Join(values, ", "), table))
		return err
	})
	if err != nil {
		t.Fatalf("multiply %s: %v", table, err)
	}
}

// Statements returns the statements that the process runs during f. keep decides about each by its context; if keep is nil, all are
// returned.
func Statements(t testing.TB, keep func(context.Context) bool, f func()) []string {
	t.Helper()
	watchScopes()
	var mu sync.Mutex
	var run []string
	db.WatchStatements(func(ctx context.Context, statement string) {
		checkScope(ctx, statement)
		if keep != nil && !keep(ctx) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		run = append(run, statement)
	})
	defer db.WatchStatements(checkScope)
	f()
	mu.Lock()
	defer mu.Unlock()
	return run
}
