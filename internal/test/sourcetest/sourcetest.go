// Package sourcetest reads the source of packages, for tests that every constant has an entry elsewhere.
package sourcetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
	"testing"
)

// Constants returns the values of the constants of a type in a Go file, by name. An empty name of the type means the texts without a type.
// It leaves out constants whose value is not a literal, and fails the test if there is none.
func Constants(t testing.TB, file, typ string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, d := range parsed.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			spec := s.(*ast.ValueSpec)
			if spec.Type == nil && typ != "" || spec.Type != nil && types.ExprString(spec.Type) != typ {
				continue
			}
			for i, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if found[spec.Names[i].Name], err = strconv.Unquote(lit.Value); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no constant of the type %q", file, typ)
	}
	return found
}
