package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

func TestUnusedCode(t *testing.T) {
	dir, remove, err := analysistest.WriteFiles(map[string]string{"p/p.go": `package p

func Exported() { used() }

func used() {}

func unused() {} // want "func unused is unused"
`})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	analysistest.Run(t, dir, unusedCode, "p")
}

// The comment is on the line of the finding or on the line above it, and names the check and a reason.
func TestIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   bool
	}{
		"on the line above":             {"package p\n\n//lint:ignore SA1019 no other way\nvar found = 1\n", true},
		"on the line":                   {"package p\n\nvar found = 1 //lint:ignore SA1019 no other way\n", true},
		"two lines above":               {"package p\n\n//lint:ignore SA1019 no other way\n\nvar found = 1\n", false},
		"on the line below":             {"package p\n\nvar found = 1\n//lint:ignore SA1019 no other way\n", false},
		"without a comment":             {"package p\n\nvar found = 1\n", false},
		"of another check":              {"package p\n\n//lint:ignore SA1000 no other way\nvar found = 1\n", false},
		"of a check with a longer name": {"package p\n\n//lint:ignore SA10191 no other way\nvar found = 1\n", false},
		"without a reason":              {"package p\n\n//lint:ignore SA1019\nvar found = 1\n", false},
		"with another word":             {"package p\n\n//lint:allow SA1019 no other way\nvar found = 1\n", false},
		"in another file":               {"package p\n\n\nvar found = 1\n", false},
	} {
		pass := &analysis.Pass{Fset: token.NewFileSet()}
		for _, source := range []string{c.source, "package p\n\n//lint:ignore SA1019 no other way\nvar other = 1\n"} {
			file, err := parser.ParseFile(pass.Fset, name, source, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			pass.Files = append(pass.Files, file)
		}
		found := pass.Files[0].Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
		if got := ignored(pass, "SA1019", found.Pos()); got != c.want {
			t.Errorf("%s: ignored %v, want %v", name, got, c.want)
		}
	}
}

// Only packages of other modules that are read for their facts get the short list of analyzers.
func TestOfDependency(t *testing.T) {
	for content, want := range map[string]bool{
		`{"VetxOnly": true, "ImportPath": "golang.org/x/text"}`:           true,
		`{"VetxOnly": false, "ImportPath": "golang.org/x/text"}`:          false,
		`{"VetxOnly": true, "ImportPath": "latchkey.dev/internal/lock"}`:  false,
		`{"VetxOnly": false, "ImportPath": "latchkey.dev/internal/lock"}`: false,
		"no JSON": false,
	} {
		config := filepath.Join(t.TempDir(), "vet.cfg")
		if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ofDependency(config); got != want {
			t.Errorf("%s: of a dependency %v, want %v", content, got, want)
		}
	}
	if ofDependency("-V=full") {
		t.Error("a flag is the file of a dependency")
	}
}
