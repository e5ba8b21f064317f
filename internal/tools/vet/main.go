// Command vet is a go vet -vettool: the checks of go vet, staticcheck with its check for unused code, simple and some of stylecheck in one pass.
package main

import (
	"encoding/json"
	"go/token"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/cgocall"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/facts/deprecated"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// vet are the checks of go vet. Those of assembly are left out: there is none here.
var vet = []*analysis.Analyzer{
	appends.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer, buildtag.Analyzer, cgocall.Analyzer, composite.Analyzer,
	copylock.Analyzer, defers.Analyzer, directive.Analyzer, errorsas.Analyzer, hostport.Analyzer, httpresponse.Analyzer,
	ifaceassert.Analyzer, loopclosure.Analyzer, lostcancel.Analyzer, nilfunc.Analyzer, printf.Analyzer, shift.Analyzer,
	sigchanyzer.Analyzer, slog.Analyzer, stdmethods.Analyzer, stdversion.Analyzer, stringintconv.Analyzer, structtag.Analyzer,
	testinggoroutine.Analyzer, tests.Analyzer, timeformat.Analyzer, unmarshal.Analyzer, unreachable.Analyzer, unsafeptr.Analyzer,
	unusedresult.Analyzer, waitgroup.Analyzer,
}

func main() {
	if ofDependency(os.Args[len(os.Args)-1]) {
		unitchecker.Main(factsOfDependencies...)
	}
	all := append(vet, unusedCode)
	for _, a := range slices.Concat(staticcheck.Analyzers, simple.Analyzers) {
		all = append(all, a.Analyzer)
	}
	for _, a := range stylecheck.Analyzers {
		if slices.Contains(style, a.Analyzer.Name) {
			all = append(all, a.Analyzer)
		}
	}
	for i, a := range all {
		checked := *a
		checked.Run = func(pass *analysis.Pass) (any, error) {
			kept := *pass
			kept.Report = func(d analysis.Diagnostic) {
				if !ignored(pass, a.Name, d.Pos) {
					pass.Report(d)
				}
			}
			return a.Run(&kept)
		}
		all[i] = &checked
	}
	unitchecker.Main(all...)
}

// unusedCode reports what staticcheck's U1000 finds within one package. go vet analyses a package together with its own tests, so a name that
// only they use counts as used, as does an exported name. A name that only a file for another system uses is reported: move it to that file,
// or give the reason in a comment "//lint:ignore unused reason".
var unusedCode = &analysis.Analyzer{
	Name: "unused", Doc: "code that nothing uses", Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		found := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
		for _, o := range found.Unused {
			pass.Reportf(position(pass, o.Position), "%s %s is unused", o.Kind, o.Name)
		}
		return nil, nil
	},
}

// position returns the position in the files of the pass that at describes.
func position(pass *analysis.Pass, at token.Position) (found token.Pos) {
	for _, f := range pass.Files {
		if file := pass.Fset.File(f.FileStart); file.Name() == at.Filename {
			return file.Pos(at.Offset)
		}
	}
	return token.NoPos
}

// ignored reports whether the line of a finding at a position, or the line above it, has a comment "//lint:ignore CHECK reason" with this
// check and a reason.
func ignored(pass *analysis.Pass, check string, at token.Pos) bool {
	where := pass.Fset.Position(at)
	for _, f := range pass.Files {
		if f.FileStart > at || at > f.FileEnd {
			continue
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				line := pass.Fset.Position(c.Pos()).Line
				words := strings.Fields(c.Text)
				if (line == where.Line || line == where.Line-1) && len(words) > 2 && words[0] == "//lint:ignore" && words[1] == check {
					return true
				}
			}
		}
	}
	return false
}

// style are the checks of stylecheck that are not about taste: error strings and their order among results, names of error
// variables, the place of default, Yoda conditions, and packages imported twice.
var style = []string{"ST1005", "ST1008", "ST1012", "ST1015", "ST1017", "ST1019"}

// factsOfDependencies are the analyzers that run on packages of other modules. They are cheap. Others would need the intermediate
// representation of every package of the standard library.
var factsOfDependencies = []*analysis.Analyzer{ctrlflow.Analyzer, printf.Analyzer, deprecated.Analyzer}

// ofDependency reports whether go vet runs this program only to collect facts about a dependency, a package of another module. config is
// the file with which go vet describes the package.
func ofDependency(config string) bool {
	content, err := os.ReadFile(config)
	if err != nil {
		return false // the last argument is -V=full or -flags, not a file
	}
	var unit unitchecker.Config
	if err := json.Unmarshal(content, &unit); err != nil {
		return false
	}
	return unit.VetxOnly && !strings.HasPrefix(unit.ImportPath, "latchkey.dev/")
}
