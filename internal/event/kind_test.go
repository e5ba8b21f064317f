package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"latchkey.dev/internal/event"
)

// declaredKinds reads the constants of type Kind from the package's source, because constants are not visible at run time.
func declaredKinds(t *testing.T) []event.Kind {
	t.Helper()
	var kinds []event.Kind
	parsed, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Kind" {
			return false
		}
		for _, v := range spec.Values {
			literal, ok := v.(*ast.BasicLit)
			if !ok {
				t.Fatal("a kind is not a literal")
			}
			kind, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, event.Kind(kind))
		}
		return false
	})
	return kinds
}

// Every kind is either delivered to subscribers or internal.
func TestKindsAreComplete(t *testing.T) {
	declared := declaredKinds(t)
	if len(declared) < 20 {
		t.Fatalf("only %d kinds found in the source", len(declared))
	}
	for _, k := range declared {
		if slices.Contains(event.Kinds, k) == k.Internal() {
			t.Errorf("%s: in Kinds %t, internal %t: want exactly one", k, slices.Contains(event.Kinds, k), k.Internal())
		}
	}
	for _, k := range event.Kinds {
		if !slices.Contains(declared, k) {
			t.Errorf("%s is in Kinds and not declared", k)
		}
	}
}
