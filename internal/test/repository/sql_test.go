package repository_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
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

var (
	sqlText  = regexp.MustCompile(`^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH) [a-zA-Z(]`)
	subquery = regexp.MustCompile(`(?i)\(\s*SELECT\s`)
)

func TestStatementsAreInTheirStore(t *testing.T) {
	used := map[string]bool{}
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "internal/") || path.Base(name) == "store.go" || isTestSupport(name) {
			continue
		}
		file := parse(t, name)
		if file == nil {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || !isSQL(lit) && !(lit.Kind == token.STRING && subquery.MatchString(lit.Value)) {
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

// parse returns a Go file without its comments, or nil if it was removed and the removal is not committed.
func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// isSQL reports whether a literal is the beginning of a statement.
func isSQL(lit *ast.BasicLit) bool {
	return lit.Kind == token.STRING && sqlText.MatchString(strings.Trim(lit.Value, "`\""))
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

// A test of its package prepares each statement of a store.go, or a statement of which it is a part, so that a missing column fails the
// test.
func TestStatementsArePrepared(t *testing.T) {
	prepared := map[string]map[string]bool{} // the names in the tests that call PrepareAll, by folder
	var stores []string
	for _, name := range files(t, ".go") {
		switch {
		case !strings.HasPrefix(name, "internal/") || isTestSupport(name):
		case path.Base(name) == "store.go":
			stores = append(stores, name)
		case strings.HasSuffix(name, "_test.go"):
			addPrepared(parse(t, name), path.Dir(name), prepared)
		}
	}
	count := 0
	for _, name := range stores {
		d := declarationsOf(parse(t, name))
		reached := d.reachedFrom(prepared[path.Dir(name)])
		for declared, value := range d {
			if !d.isStatement(value) {
				continue
			}
			count++
			if !reached[declared] {
				t.Errorf("%s: no test prepares the statement %s: add it to a call of dbtest.PrepareAll", name, declared)
			}
		}
	}
	if count < 70 {
		t.Errorf("found only %d statements: the search is broken", count)
	}
}

// addPrepared adds, for a folder, the names in the functions of one of its tests that call PrepareAll.
func addPrepared(file *ast.File, folder string, prepared map[string]map[string]bool) {
	for name, body := range declarationsOf(file) {
		names := namesIn(body)
		if !strings.HasPrefix(name, "Test") || !names["PrepareAll"] {
			continue
		}
		if prepared[folder] == nil {
			prepared[folder] = map[string]bool{}
		}
		maps.Copy(prepared[folder], names)
	}
}

// declarations are the values of the constants and variables of a file, and the bodies of its functions, by name.
type declarations map[string]ast.Node

// declarationsOf returns the declarations of a file, or none if file is nil.
func declarationsOf(file *ast.File) declarations {
	d := declarations{}
	if file == nil {
		return d
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Body != nil {
				d[decl.Name.Name] = decl.Body
			}
		case *ast.GenDecl:
			for _, s := range decl.Specs {
				if spec, ok := s.(*ast.ValueSpec); ok {
					for i, value := range spec.Values {
						d[spec.Names[i].Name] = value
					}
				}
			}
		}
	}
	return d
}

// isStatement reports whether a declared value begins with a statement, or a function contains one.
func (d declarations) isStatement(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		return isSQL(n)
	case *ast.BinaryExpr:
		return d.isStatement(n.X)
	case *ast.CallExpr:
		return d.isStatement(n.Fun)
	case *ast.Ident:
		return d[n.Name] != nil && d.isStatement(d[n.Name])
	case *ast.BlockStmt:
		found := false
		ast.Inspect(n, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			found = found || ok && isSQL(lit)
			return true
		})
		return found
	}
	return false
}

// reachedFrom returns some names with those of the constants, variables and functions of which their values consist.
func (d declarations) reachedFrom(names map[string]bool) map[string]bool {
	reached := map[string]bool{}
	var add func(names map[string]bool)
	add = func(names map[string]bool) {
		for name := range names {
			if reached[name] || d[name] == nil {
				continue
			}
			reached[name] = true
			if _, isFunction := d[name].(*ast.BlockStmt); !isFunction {
				add(namesIn(d[name]))
			}
		}
	}
	add(names)
	return reached
}

// namesIn returns the names in a piece of code.
func namesIn(n ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			names[name.Name] = true
		}
		return true
	})
	return names
}
