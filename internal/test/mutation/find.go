package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entryPoints are the functions that a verifier calls. Checks in these and in all functions they reach are mutated; signing and
// minting are not. es256Verifier.Verify is named because only the COSE library calls it.
var entryPoints = []string{
	"Verify", "KeySet.Advance", "KeySet.AdvanceList", "PinKeySet", "VerifyPossession", "DecodeGreeting", "DecodePresentation",
	"DecodeAnswer", "Trust.Refresh", "es256Verifier.Verify",
}

// errorTextFunctions are functions that only build the text of an error. They are not mutated.
var errorTextFunctions = []string{"detailOf"}

// mutant is one change of one check: replacement takes the place of the source between the offsets start and end.
type mutant struct {
	number, line, start, end            int
	file, function, source, replacement string
	survived                            bool
}

// reasonKey returns the line that identifies the mutant in equivalent.txt.
func (m mutant) reasonKey() string { return m.function + ": " + m.source + " -> " + m.replacement }

// insertMutants replaces each mutated expression of a file by a call that selects between it and its replacement.
func insertMutants(path, source string, mutants []*mutant) string {
	type edit struct {
		at, size, number int
		text             string
	}
	var edits []edit
	for _, m := range mutants {
		if m.file == path {
			size := m.end - m.start
			edits = append(edits, edit{m.start, -size, m.number, fmt.Sprintf("mutant(%d, ", m.number)}, edit{m.end, size, -m.number, ", " + m.replacement + ")"})
		}
	}
	// At one offset an outer expression opens first and ends last.
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.at-b.at, a.size-b.size, a.number-b.number) })
	var out strings.Builder
	last := 0
	for _, e := range edits {
		out.WriteString(source[last:e.at] + e.text)
		last = e.at
	}
	return out.String() + source[last:]
}

// emptyImporter yields empty packages: references within the package resolve without its dependencies.
type emptyImporter struct{}

// Import implements types.Importer.
func (emptyImporter) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// finder collects the mutants of a package.
type finder struct {
	set      *token.FileSet
	files    map[string]string
	mutants  []*mutant
	function string // where the walk is
}

// findMutants returns the package's source files by path, and all mutants of the functions that the entry points reach.
func findMutants(dir string) (map[string]string, []*mutant, error) {
	f := &finder{set: token.NewFileSet(), files: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		file, err := parser.ParseFile(f.set, path, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		f.files[path] = string(source)
		parsed = append(parsed, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	_, _ = (&types.Config{Importer: emptyImporter{}, Error: func(error) {}}).Check(dir, f.set, parsed, &info)
	reached, err := reachableFunctions(parsed, info)
	if err != nil {
		return nil, nil, err
	}
	for _, fn := range reached {
		f.function = functionName(fn)
		f.findChecks(fn.Body, fn.Type.Results)
	}
	return f.files, f.mutants, nil
}

// reachableFunctions returns the entry points and all functions that they call, directly or indirectly, in the order of the source.
func reachableFunctions(parsed []*ast.File, info types.Info) ([]*ast.FuncDecl, error) {
	byObject, queue, found := map[types.Object]*ast.FuncDecl{}, []*ast.FuncDecl(nil), map[*ast.FuncDecl]bool{}
	for _, file := range parsed {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				byObject[info.Defs[fn.Name]] = fn
				if slices.Contains(entryPoints, functionName(fn)) {
					queue = append(queue, fn)
				}
			}
		}
	}
	if len(queue) != len(entryPoints) {
		return nil, fmt.Errorf("%d of %d entries are functions of the package: mend the list", len(queue), len(entryPoints))
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if found[queue[0]] || slices.Contains(errorTextFunctions, functionName(queue[0])) {
			continue
		}
		found[queue[0]] = true
		ast.Inspect(queue[0].Body, func(n ast.Node) bool {
			if ident, ok := n.(*ast.Ident); ok && byObject[info.Uses[ident]] != nil {
				queue = append(queue, byObject[info.Uses[ident]])
			}
			return true
		})
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b *ast.FuncDecl) int { return int(a.Pos() - b.Pos()) }), nil
}

// findChecks adds the mutants of a function's body: of conditions of if and switch, of returned bools, of arguments of inRange, and of
// durations added to times. It skips conditions that only lead to a panic. results are the results of the function.
func (f *finder) findChecks(body ast.Node, results *ast.FieldList) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.findChecks(n.Body, n.Type.Results)
			return false
		case *ast.IfStmt:
			if !strings.HasPrefix(f.sourceText(n.Body.List[0]), "panic(") {
				f.addConditionMutants(n.Cond, "false")
			}
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					if n.Tag == nil {
						f.addConditionMutants(e, "false")
					}
				}
			}
		case *ast.ReturnStmt:
			for i, e := range n.Results {
				if text := f.sourceText(e); isBool(results, i) && text != "true" && text != "false" {
					f.addConditionMutants(e, "true", "false")
				}
			}
		case *ast.CallExpr:
			name := f.sourceText(n.Fun)
			for _, argument := range n.Args {
				if name == "inRange" || strings.HasSuffix(name, ".Add") {
					f.addMutant(argument, "0")
				}
			}
		}
		return true
	})
}

// addConditionMutants adds the mutants of a condition: each operand replaced by a constant without effect, each comparison with its
// boundary moved. neutral has the constants that replace the whole.
func (f *finder) addConditionMutants(e ast.Expr, neutral ...string) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		f.addConditionMutants(e.X, neutral...)
		return
	case *ast.BinaryExpr:
		if value := map[token.Token]string{token.LOR: "false", token.LAND: "true"}[e.Op]; value != "" {
			f.addConditionMutants(e.X, value)
			f.addConditionMutants(e.Y, value)
			return
		}
		if moved := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}[e.Op]; moved != "" {
			f.addMutant(e, f.sourceText(e.X)+" "+moved+" "+f.sourceText(e.Y))
		}
	}
	for _, value := range neutral {
		f.addMutant(e, value)
	}
	// "a before b" becomes "a not after b".
	moved, _ := strings.CutPrefix("!"+f.sourceText(e), "!!")
	for was, is := range map[string]string{".Before(": ".After(", ".After(": ".Before("} {
		if strings.Count(moved, was) == 1 {
			moved = strings.Replace(moved, was, is, 1)
			f.addMutant(e, moved)
			break
		}
	}
}

// addMutant adds the mutant that replaces an expression.
func (f *finder) addMutant(e ast.Expr, replacement string) {
	start, end := f.set.Position(e.Pos()), f.set.Position(e.End())
	f.mutants = append(f.mutants, &mutant{
		number: len(f.mutants) + 1, file: start.Filename, line: start.Line, start: start.Offset, end: end.Offset,
		function: f.function, source: f.sourceText(e), replacement: replacement,
	})
}

// sourceText returns the source of a node.
func (f *finder) sourceText(n ast.Node) string {
	start, end := f.set.Position(n.Pos()), f.set.Position(n.End())
	return f.files[start.Filename][start.Offset:end.Offset]
}

// functionName returns a function's name, preceded by the type of its receiver if it has one.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + fn.Name.Name
}

// isBool reports whether result i of a function is a bool.
func isBool(results *ast.FieldList, i int) bool {
	var flat []string
	if results != nil {
		for _, field := range results.List {
			for range max(1, len(field.Names)) {
				flat = append(flat, types.ExprString(field.Type))
			}
		}
	}
	return i < len(flat) && flat[i] == "bool"
}
