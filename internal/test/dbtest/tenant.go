package dbtest

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
)

// tenantColumn is the column with the tenant of a row.
const tenantColumn = "property_id"

// tenantTables are the tables whose rows belong to a property.
var tenantTables = func() map[string]bool {
	owned := map[string]bool{}
	for _, t := range tables.Tables {
		for _, c := range t.Columns {
			owned[t.Name] = owned[t.Name] || c.Name == tenantColumn
		}
	}
	return owned
}()

var (
	tableNames = regexp.MustCompile("(?i)\\b(?:FROM|JOIN|UPDATE)\\s+[`\"]?([a-z_]+)[`\"]?")
	conditions = regexp.MustCompile(`(?is)\b(?:WHERE|ON)\b(.*)`)
)

// unscopedTable returns the first table in a statement whose rows belong to a property, unless a condition of the statement
// names the property. An INSERT names the property as a column, because the schema requires it.
func unscopedTable(statement string) string {
	if m := conditions.FindStringSubmatch(statement); m != nil && strings.Contains(m[1], tenantColumn) {
		return ""
	}
	for _, m := range tableNames.FindAllStringSubmatch(statement, -1) {
		if tenantTables[m[1]] {
			return m[1]
		}
	}
	return ""
}

var unscoped struct {
	sync.Mutex
	found map[string]string // the statement, by the function that ran it
}

var watchScopes = sync.OnceFunc(func() {
	unscoped.found = map[string]string{}
	db.WatchStatements(checkScope)
})

// scoped caches the statements that passed the check.
var scoped sync.Map

// checkScope records a statement that does not name the property although it should. It runs before each statement.
func checkScope(_ context.Context, statement string) {
	if _, ok := scoped.Load(statement); ok {
		return
	}
	if unscopedTable(statement) == "" {
		scoped.Store(statement, nil)
		return
	}
	function, loaded, ok := productFunction()
	if !ok || loaded || acrossProperties[function] != "" {
		return
	}
	unscoped.Lock()
	defer unscoped.Unlock()
	unscoped.found[function] = statement
}

// productFunction returns the function of the product that runs the present statement, from the call stack; ok is false for a statement
// of a test. loaded means that ent addresses a loaded row by its id, as UpdateOne and DeleteOne do.
func productFunction() (function string, loaded, ok bool) {
	pcs := make([]uintptr, 40)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		name, internal := strings.CutPrefix(frame.Function, "latchkey.dev/internal/")
		switch {
		case strings.Contains(frame.Function, "UpdateOne)."), strings.Contains(frame.Function, "DeleteOne)."):
			loaded = true
		case strings.HasSuffix(frame.File, "_test.go"):
			return "", loaded, false
		case internal && !strings.HasPrefix(name, "db.") && !strings.HasPrefix(name, "test/dbtest.Statements"):
			function, _, _ := strings.Cut(name, ".func")
			function, _, _ = strings.Cut(function, "-range")
			return function, loaded, true
		case !more:
			return "", loaded, false
		}
	}
}

// failOnUnscoped makes a test fail if the product reads or changes rows of a property without naming the property. With such a statement,
// an id of one tenant could reach the rows of another.
func failOnUnscoped(t testing.TB) {
	if _, isTest := t.(*testing.T); !isTest {
		return
	}
	watchScopes()
	t.Cleanup(func() {
		for function, statement := range takeUnscoped() {
			t.Error(fmt.Errorf("%s runs a statement without %s; scope it, or name the function in acrossProperties and say why: %s", function, tenantColumn, statement))
		}
	})
}

// takeUnscoped returns and clears the recorded statements, by the function that ran them.
func takeUnscoped() map[string]string {
	unscoped.Lock()
	defer unscoped.Unlock()
	found := unscoped.found
	unscoped.found = map[string]string{}
	return found
}
