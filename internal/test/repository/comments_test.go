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
			if len(words) < 2 || len(names) != 1 || !identifier.MatchString(words[0]) {
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
		return d.Doc, names
	}
	return nil, nil
}

// docLink is a link of a comment to a function, a type or a method of its own package.
var docLink = regexp.MustCompile(`\[\*?([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)

// A link in a comment leads to a declaration of its package. A directory is a package here.
func TestDocLinksLead(t *testing.T) {
	type reference struct{ at, folder, name string }
	var links []reference
	declared := map[string]bool{}
	for _, path := range files(t, ".go") {
		if strings.HasPrefix(path, "gen/") || strings.HasPrefix(path, "ent/") {
			continue
		}
		set, folder := token.NewFileSet(), filepath.Dir(path)
		file, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			comment, names := documented(d)
			if comment != nil {
				for _, m := range docLink.FindAllStringSubmatch(comment.Text(), -1) {
					links = append(links, reference{set.Position(comment.Pos()).String(), folder, m[1]})
				}
			}
			for name := range names {
				declared[folder+"."+receiver(d)+name] = true
			}
		}
	}
	for _, l := range links {
		if !declared[l.folder+"."+l.name] {
			t.Errorf("%s: the link [%s] leads nowhere", l.at, l.name)
		}
	}
	if len(links) < 10 {
		t.Errorf("only %d links found: the search is broken", len(links))
	}
}

// receiver returns the type of a method's receiver with a dot; empty for other declarations.
func receiver(d ast.Decl) string {
	fn, ok := d.(*ast.FuncDecl)
	if !ok || fn.Recv == nil {
		return ""
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
