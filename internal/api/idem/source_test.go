package idem_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "latchkey.dev/gen/latchkey/admin/v1"
	_ "latchkey.dev/gen/latchkey/partner/v1"
	_ "latchkey.dev/gen/latchkey/property/v1"
	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
)

// areas are the packages that answer calls, by the protobuf package of their services.
var areas = map[protoreflect.FullName]string{
	"latchkey.partner.v1": "../partner", "latchkey.property.v1": "../property", "latchkey.admin.v1": "../admin",
}

// calls is what the functions of a package call: by name, the names they use and whether idem.Write is among them.
type calls struct {
	uses   map[string][]string
	writes map[string]bool
}

func callsOf(t *testing.T, dir string) calls {
	t.Helper()
	c := calls{uses: map[string][]string{}, writes: map[string]bool{}}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				c.add(fn)
			}
		}
	}
	return c
}

func (c calls) add(fn *ast.FuncDecl) {
	name := fn.Name.Name
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "idem" && n.Sel.Name == "Write" {
				c.writes[name] = true
			}
			c.uses[name] = append(c.uses[name], n.Sel.Name)
		case *ast.Ident:
			c.uses[name] = append(c.uses[name], n.Name)
		}
		return true
	})
}

// reaches reports whether a function calls idem.Write, directly or through functions of its package.
func (c calls) reaches(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	if c.writes[name] {
		return true
	}
	for _, used := range c.uses[name] {
		if _, ours := c.uses[used]; ours && c.reaches(used, seen) {
			return true
		}
	}
	return false
}

// Every mutating method stores its answer in the transaction of the change, as Idempotency-Key requires.
func TestEveryMutationStoresItsAnswer(t *testing.T) {
	packages := map[protoreflect.FullName]calls{}
	for name, dir := range areas {
		packages[name] = callsOf(t, dir)
	}
	mutations, others := 0, 0
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		c, ours := packages[f.Package()]
		if !ours {
			return true
		}
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				m := methods.Get(j)
				name := string(m.Name())
				if _, written := c.uses[name]; !written {
					continue
				}
				access, _ := proto.GetExtension(m.Options(), rpcv1.E_Access).(*rpcv1.Access)
				reaches := c.reaches(name, map[string]bool{})
				switch {
				case access.GetMutates():
					mutations++
					if !reaches {
						t.Errorf("%s changes something and does not go through idem.Write", m.FullName())
					}
				default:
					others++
					if reaches {
						t.Errorf("%s goes through idem.Write and does not say that it changes something", m.FullName())
					}
				}
			}
		}
		return true
	})
	if mutations < 30 || others < 10 {
		t.Errorf("checked %d calls that change something and %d that do not", mutations, others)
	}
}
