package repository_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var lower = flag.Bool("lower", false, "write the counts that sank to "+languageFile)

// languageFile has a line for each directory whose text still has banned words: their number, which may only sink. A blank line
// between two of them lets two branches change neighbours.
const languageFile = "language.txt"

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
var bannedNames = []string{"anew", "stand", "standing", "told", "heard", "wish", "whoever", "somebody", "nobody", "seat", "settler", "lookanew"}

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

// inGo finds banned words in the comments and the declared names of a Go file, and in its string literals unless it is a test.
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
		for _, word := range words(id.Name) {
			if slices.Contains(bannedNames, word) {
				found = append(found, finding{file, positions.Position(id.Pos()).Line, id.Name, "a name of the standard terms"})
			}
		}
	}
	test := strings.HasSuffix(file, "_test.go")
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING && !test {
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

// The text that a person reads has no more banned words than the list allows, and the list allows no more than there are.
func TestPlainLanguage(t *testing.T) {
	byDirectory := map[string][]finding{}
	for _, file := range files(t, ".go", ".md", ".proto", ".yml", ".yaml", ".service", ".html", "") {
		if file == "LICENSE" || strings.HasPrefix(file, "gen/") || strings.HasPrefix(file, "ent/") && !strings.HasPrefix(file, "ent/schema/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var found []finding
		if filepath.Ext(file) == ".go" {
			found = inGo(t, file, content)
		} else {
			found = inText(file, 1, withoutMarks(content))
		}
		if dir := filepath.Dir(file); len(found) > 0 {
			byDirectory[dir] = append(byDirectory[dir], found...)
		}
	}
	allowed := allowances(t)
	for _, dir := range slices.Sorted(maps.Keys(byDirectory)) {
		if found := byDirectory[dir]; len(found) > allowed[dir] {
			t.Errorf("%s has %d banned words, %d are allowed. Write these plainly:", dir, len(found), allowed[dir])
			for _, f := range found {
				t.Log(f)
			}
		}
	}
	var sank []string
	for dir, most := range allowed {
		if now := len(byDirectory[dir]); now < most {
			sank = append(sank, fmt.Sprintf("%s %d", dir, now))
			allowed[dir] = now
		}
	}
	if *lower {
		writeAllowances(t, allowed)
	} else if slices.Sort(sank); len(sank) > 0 {
		t.Errorf("fewer banned words than %s allows: run go test ./internal/test/repository -run TestPlainLanguage -lower, or change these lines (drop those of 0):\n%s", languageFile, strings.Join(sank, "\n"))
	}
}

func allowances(t *testing.T) map[string]int {
	t.Helper()
	content, err := os.ReadFile(languageFile)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]int{}
	for line := range strings.Lines(string(content)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		dir, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			t.Fatalf("%s: %q is no directory and a number above 0", languageFile, line)
		}
		allowed[dir] = n
	}
	return allowed
}

func writeAllowances(t *testing.T, allowed map[string]int) {
	t.Helper()
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(allowed)) {
		if allowed[dir] > 0 {
			lines = append(lines, fmt.Sprintf("%s %d\n", dir, allowed[dir]))
		}
	}
	if err := os.WriteFile(languageFile, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBannedWordsAreFound(t *testing.T) {
	const source = `package p

// f looks at the one
// that is told, as it is.
func standOf() error { return errors.New("nobody is beside") }

func aNewAPIOf() {}
`
	var got []string
	for _, f := range inGo(t, "p.go", []byte(source)) {
		got = append(got, fmt.Sprintf("%d %s", f.line, strings.Join(strings.Fields(f.words), " ")))
	}
	want := []string{"3 the one that", "4 told", "4 as it is", "5 standOf", "5 nobody", "5 beside"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := inGo(t, "p_test.go", []byte(source)); len(got) != 4 {
		t.Errorf("in a test: %v, want all but its strings", got)
	}
}
