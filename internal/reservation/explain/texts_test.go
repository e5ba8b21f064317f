package explain

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"latchkey.dev/internal/message"
)

// Each step has texts for the guest and for staff, with the parameters that they need.
func TestEachStepHasTexts(t *testing.T) {
	seen := map[string]bool{}
	for kind := range message.Kinds(message.English) {
		if strings.HasPrefix(kind, "step.") || strings.HasPrefix(kind, "verdict.") {
			seen[strings.TrimSuffix(kind, ".staff")] = true
		}
	}
	for _, kind := range stepKinds(t) {
		seen["step."+kind] = true
	}
	for kind := range seen {
		all := message.Kinds(message.English)
		for _, name := range all[kind+".staff"] {
			if !slices.Contains(all[kind], name) {
				t.Errorf("the text of %s for staff has the parameter %s, which the text for the guest lacks", kind, name)
			}
		}
		if all[kind] == nil || all[kind+".staff"] == nil {
			t.Errorf("%s lacks a text for the guest or for staff", kind)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		for _, s := range Explain(randomStay(r, 30)).Steps {
			if err := s.Text.Check(); err != nil {
				r.Errorf("%s: %v", s.Kind, err)
			}
			if got := english(ForStaff(s.Text)); got == "" || strings.Contains(got, "?") || strings.Contains(got, "step.") {
				r.Errorf("%s for staff: %q", s.Kind, got)
			}
		}
	})
}

// stepKind matches the kind of a step where the code of this package makes one.
var stepKind = regexp.MustCompile(`(?:stepText\(|\badd\((?:cmp\.Or\(kind, )?|\.at\([^"\n]*, )"(\w+)"`)

// stepKinds returns the kinds of all steps that the code of this package makes.
func stepKinds(t *testing.T) []string {
	t.Helper()
	var kinds []string
	for _, w := range evidenceSteps {
		kinds = append(kinds, w.kind, "earlierCode"+strings.TrimPrefix(w.kind, "code"))
	}
	kinds = slices.AppendSeq(kinds, maps.Values(stateSteps))
	kinds = slices.AppendSeq(kinds, maps.Values(planSteps))
	named := len(kinds)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range stepKind.FindAllSubmatch(source, -1) {
			kinds = append(kinds, string(m[1]))
		}
	}
	if len(kinds) < named+18 {
		t.Errorf("only %d kinds in the code: %v", len(kinds)-named, kinds[named:])
	}
	return kinds
}
