package notice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/message"
	"latchkey.dev/internal/test/sourcetest"
)

// The kinds with their parameters are those of the texts, in each language that has texts for staff.
func TestKindsHaveTexts(t *testing.T) {
	want := map[string][]string{}
	for kind, params := range Kinds {
		want[string(kind)] = append([]string{}, params...)
	}
	for _, language := range []string{"en", "de", "es", "fr"} {
		got := map[string][]string{}
		for kind, params := range message.Kinds(language) {
			if name, ok := strings.CutPrefix(kind, "notice."); ok {
				got[name] = params
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: kinds (-) and texts (+) differ:\n%s", language, diff)
		}
	}
}

// The code names each kind by its constant, uses each kind, and gives a notice the parameters of its text. Parameters that are put
// together elsewhere are checked by [Add].
func TestKindsInTheCode(t *testing.T) {
	constants := map[string]Kind{}
	for name, kind := range sourcetest.Constants(t, "kind.go", "Kind") {
		constants[name] = Kind(kind)
	}
	used, complete, checked := map[Kind]bool{}, map[ast.Expr]bool{}, 0 // complete are the notices that no other code changes
	for _, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if isIdent(n.X, "notice") {
					used[constants[n.Sel.Name]] = true
				}
			case *ast.CallExpr:
				if isSelector(n.Fun, "notice", "Add") || isSelector(n.Fun, "notice", "Renew") {
					complete[n.Args[1]] = true
				}
			case *ast.CompositeLit:
				if !isSelector(n.Type, "notice", "Notice") {
					break
				}
				kind, params, known := fieldsOf(n, complete[n])
				if _, isText := kind.(*ast.BasicLit); isText {
					t.Errorf("a notice has the text %v as its kind: use a constant", kind)
				}
				named, ok := kind.(*ast.SelectorExpr)
				if !ok || !known || constants[named.Sel.Name] == "" {
					break
				}
				checked++
				if want := Kinds[constants[named.Sel.Name]]; !slices.Equal(params, want) {
					t.Errorf("a notice of the kind %s has the parameters %v, and its text has %v", named.Sel.Name, params, want)
				}
			}
			return true
		})
	}
	for kind := range Kinds {
		if !used[kind] {
			t.Errorf("no code adds a notice of the kind %s", kind)
		}
	}
	if len(constants) != len(Kinds) || checked < 10 {
		t.Errorf("%d constants for %d kinds, %d notices with literal parameters", len(constants), len(Kinds), checked)
	}
}

// sources returns the files of the packages that use this one, without tests.
func sources(t *testing.T) (files []*ast.File) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Name == nil && i.Path.Value == `"latchkey.dev/internal/notice"` }) {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// fieldsOf returns the kind of a notice literal and the sorted names of its parameters. known is false if other code makes them.
func fieldsOf(lit *ast.CompositeLit, complete bool) (kind ast.Expr, params []string, known bool) {
	fields := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		pair := e.(*ast.KeyValueExpr)
		fields[pair.Key.(*ast.Ident).Name] = pair.Value
	}
	list, ok := fields["Params"].(*ast.CompositeLit)
	if !ok {
		return fields["Kind"], nil, complete && fields["Params"] == nil
	}
	for _, e := range list.Elts {
		name, err := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
		if err != nil {
			return fields["Kind"], nil, false
		}
		params = append(params, name)
	}
	slices.Sort(params)
	return fields["Kind"], params, true
}

func isIdent(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && isIdent(s.X, pkg) && s.Sel.Name == name
}

// Each kind is in exactly one group, so that every notice reaches the people who chose its group.
func TestEachKindHasAGroup(t *testing.T) {
	times := map[Kind]int{}
	for _, g := range Groups {
		if len(groups[g]) == 0 {
			t.Errorf("%s has no kind", g)
		}
		for _, k := range groups[g] {
			times[k]++
		}
	}
	for k := range Kinds {
		if times[k] != 1 {
			t.Errorf("%s is in %d groups", k, times[k])
		}
		delete(times, k)
	}
	if len(times) > 0 || len(groups) != len(Groups) {
		t.Errorf("no kinds: %v; %d groups have kinds, and %d are listed", times, len(groups), len(Groups))
	}
}
