package repository_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// statements are the files besides store.go that have SQL in text, with the reason. The statements of an aggregate are in its store.go,
// where a test prepares them on both engines.
var statements = map[string]string{
	"internal/db/":                    "the engines themselves: settings, migrations, clocks and statistics",
	"internal/jobs/run.go":            "the table of the library for jobs, which has no schema here",
	"internal/property/delete.go":     "made from the names of all tables; a test scans the tables afterwards",
	"internal/server/installation.go": "the metrics of the installation over all tables; their test runs each",
	"internal/worker/lease.go":        "advisory locks of PostgreSQL, which have no table",
}

var sqlText = regexp.MustCompile(`^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH) [a-zA-Z(]`)

func TestStatementsAreInTheirStore(t *testing.T) {
	used := map[string]bool{}
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "internal/") || path.Base(name) == "store.go" || isTestSupport(name) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || !sqlText.MatchString(strings.Trim(lit.Value, "`\"")) {
				return true
			}
			exception := name
			if strings.HasPrefix(name, "internal/db/") {
				exception = "internal/db/"
			}
			used[exception] = true
			if statements[exception] == "" {
				t.Errorf("%s has the statement %.60s: move it to the store.go of its package", name, lit.Value)
			}
			return true
		})
	}
	for exception := range statements {
		if !used[exception] {
			t.Errorf("%s has no statement any more: remove it from the list", exception)
		}
	}
}

// isTestSupport reports whether only tests and benches use a file.
func isTestSupport(name string) bool {
	for _, dir := range []string{"internal/test/", "internal/e2e/", "internal/bench/", "internal/simulation/", "internal/tools/", "internal/sandbox/"} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}
