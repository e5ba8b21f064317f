//go:build !race

package repository_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned are words and patterns that readers stumble over, with what to write in their place.
var banned = []struct{ pattern, instead string }{
	{`anew`, `again`},
	{`whoever|whomever|whosoever|somebody|nobody`, `the role: the caller, the guest, the server`},
	{`of (?:ours|theirs)`, `the owner's name`},
	{`shall`, `must, or the present tense`},
	{`(?:is|are|was|were) to be`, `must be, will be`},
	{`the ones? (?:that|which|who)`, `the noun itself`},
	{`(?:was|were|is|are) not said|slip of the pen`, `is missing`},
	{`(?:is|are) no \w+ (?:that|which)`, `a direct sentence: unknown field`},
	{`standing|(?:a|the|its|their|his|this|that|each|every|no|whose|one|by|of) stands?`, `state, status, right`},
	{`told|tell anew|tells? of`, `notified, recorded, reported`},
	{`heard|hears? of`, `reported, received`},
	{`looked at|looks? anew|has \w+ looked`, `checked, inspected`},
	{`as (?:it is|they are|it stands|they stand)`, `unchanged, or nothing`},
	{`beside`, `next to, besides, also`},
	{`lest|whence|thence|whither|thereof|therein|thereby|therefrom|hitherto|wherewith|henceforth|ere`, `a plain sentence`},
	{`in vain`, `without effect, fails`},
	{`nolint`, `//lint:ignore CHECK reason`},
}

// bannedNames are words that no declared name contains.
var bannedNames = []string{"anew", "stand", "standing", "told", "heard", "wish", "whoever", "somebody", "nobody", "seat", "settler", "lookanew",
	"stands", "standings", "wishes", "wished", "seats", "settlers", "settling", "met", "leaver", "leavers", "keeper", "keepers", "relearn"}

var bannedText = func() *regexp.Regexp {
	var all []string
	for _, b := range banned {
		all = append(all, `(`+strings.ReplaceAll(b.pattern, " ", `\s+`)+`)`)
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}()

// finding is a banned word at a place.
type finding struct {
	file    string
	line    int
	words   string
	instead string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q: write %s", f.file, f.line, strings.Join(strings.Fields(f.words), " "), f.instead)
}

// inText finds banned words in a text that starts at a line of a file.
func inText(file string, line int, text []byte) (found []finding) {
	for _, m := range bannedText.FindAllSubmatchIndex(text, -1) {
		f := finding{file: file, line: line + bytes.Count(text[:m[0]], []byte("\n")), words: string(text[m[0]:m[1]])}
		for i, b := range banned {
			if m[2*i+2] >= 0 {
				f.instead = b.instead
			}
		}
		found = append(found, f)
	}
	return found
}

var commentMarks = regexp.MustCompile(`(?m)^\s*(?://|#|\*)`)

// withoutMarks blanks the marks of comments, so that a pattern matches across lines.
func withoutMarks(text []byte) []byte {
	return commentMarks.ReplaceAllFunc(text, func(mark []byte) []byte {
		return bytes.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, mark)
	})
}

// inGo finds banned words in the comments, the string literals and the declared names of a Go file.
func inGo(t *testing.T, file string, content []byte) (found []finding) {
	t.Helper()
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	text := func(n ast.Node) {
		from, to := positions.Position(n.Pos()), positions.Position(n.End())
		found = append(found, inText(file, from.Line, withoutMarks(content[from.Offset:to.Offset]))...)
	}
	for _, c := range parsed.Comments {
		text(c)
	}
	name := func(id *ast.Ident) {
		lower := strings.ToLower(id.Name)
		if !slices.ContainsFunc(bannedNames, func(word string) bool { return strings.Contains(lower, word) }) {
			return
		}
		for _, word := range words(id.Name) {
			if slices.Contains(bannedNames, word) {
				found = append(found, finding{file, positions.Position(id.Pos()).Line, id.Name, "a name of the standard terms"})
			}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING && file != listOfWords {
				text(n)
			}
		case *ast.FuncDecl:
			name(n.Name)
		case *ast.TypeSpec:
			name(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					name(id)
				}
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					name(id)
				}
			}
		}
		return true
	})
	return found
}

var (
	nameWord   = regexp.MustCompile(`[a-z0-9]+`)
	afterLower = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	afterUpper = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// words splits a name in camel case into its words, in lower case.
func words(name string) []string {
	split := afterUpper.ReplaceAllString(afterLower.ReplaceAllString(name, "${1}_$2"), "${1}_$2")
	return nameWord.FindAllString(strings.ToLower(split), -1)
}

// foreign reports whether a file has texts in another language than English, or the names of countries.
func foreign(file string) bool {
	name, ok := strings.CutPrefix(file, "internal/message/catalogue/")
	return ok && (strings.HasPrefix(name, "countries.") || !strings.HasSuffix(name, "en.txt"))
}

func generated(file string) bool {
	return strings.HasPrefix(file, "gen/") || strings.HasPrefix(file, "internal/web/kit/static/") || strings.HasPrefix(file, "ent/") && !strings.HasPrefix(file, "ent/schema/") && !strings.HasPrefix(file, "ent/template/")
}

// listOfWords is this file, whose strings are the banned words.
const listOfWords = "internal/test/repository/language_test.go"

// Text that a person reads has no banned words.
func TestPlainLanguage(t *testing.T) {
	for _, file := range files(t, ".go", ".md", ".proto", ".yml", ".yaml", ".service", ".html", ".css", ".js", ".ts", ".tmpl", ".txt", "") {
		if file == "LICENSE" || generated(file) || foreign(file) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		find := inGo
		if filepath.Ext(file) != ".go" {
			find = func(_ *testing.T, file string, content []byte) []finding {
				return inText(file, 1, withoutMarks(content))
			}
		}
		for _, f := range find(t, file, content) {
			t.Error(f)
		}
	}
}

func TestBannedWordsAreFound(t *testing.T) {
	const source = `package p

// f looks at the one
// that is told, as it is.
func standOf() error { return errors.New("nobody is beside") }

func aNewAPIOf() {
	for told := range 3 {
		_ = told
	}
}
`
	var got []string
	for _, f := range inGo(t, "p.go", []byte(source)) {
		got = append(got, fmt.Sprintf("%d %s", f.line, strings.Join(strings.Fields(f.words), " ")))
	}
	want := []string{"3 the one that", "4 told", "4 as it is", "5 standOf", "5 nobody", "5 beside", "8 told"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
