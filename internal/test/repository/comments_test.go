package repository_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// identifier is a word that can only be the name of a declaration: it begins with a small letter, or has a capital inside.
var identifier = regexp.MustCompile(`^(?:[a-z]\w*|[A-Z]\w*[a-z][A-Z]\w*)$`)

// A comment that begins with a name begins with the name that is declared below it, not with a former one.
func TestCommentsNameTheirDeclarations(t *testing.T) {
	seen := 0
	for _, path := range files(t, ".go") {
		if strings.HasPrefix(path, "gen/") || strings.HasPrefix(path, "ent/") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			comment, names := documented(d)
			if comment == nil {
				continue
			}
			words := strings.Fields(comment.Text())
			if len(words) < 2 || !identifier.MatchString(words[0]) {
				continue
			}
			seen++
			if !names[words[0]] {
				t.Errorf("%s: the comment begins with %s, which is not declared here", set.Position(comment.Pos()), words[0])
			}
		}
	}
	if seen < 1000 {
		t.Errorf("only %d comments begin with a name: the search is broken", seen)
	}
}

// documented returns the comment of a declaration and the names that it declares. Tests are described in sentences.
func documented(d ast.Decl) (*ast.CommentGroup, map[string]bool) {
	names := map[string]bool{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if strings.HasPrefix(d.Name.Name, "Test") {
			return nil, nil
		}
		names[d.Name.Name] = true
		return d.Doc, names
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names[name.Name] = true
				}
			}
		}
		if len(names) == 1 {
			return d.Doc, names
		}
	}
	return nil, nil
}
