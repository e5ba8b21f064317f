package repository_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fewestLines is what a file has at least. A shorter one joins the file of its package with the same subject.
const fewestLines = 40

// shortFiles are the shorter files whose subject no other file of their package has, with that subject.
var shortFiles = map[string]string{
	"internal/api/chain/reason_test.go":            "reasons in the audit log; the other tests are about addresses, credentials, limits and wrong values",
	"internal/lock/formergrant_test.go":            "the grant and the door of an event; the other tests are about readings of a lock",
	"internal/reservation/replan_internal_test.go": "an unexported function for plans; the other tests are about days, patches and retention",
	"internal/server/contract_test.go":             "the contract of the PMS, of which only this package imports both sides",
	"internal/server/garbage_test.go":              "the collector of garbage; the other tests are about parts that fail, imports and pages",
}

// shortNames are the names of files that may be short: readers and other checks look for their content under these names.
var shortNames = []string{"store.go", "store_test.go", "main.go", "main_test.go", "export_test.go"}

var (
	packageClause = regexp.MustCompile(`(?m)^package (\w+)`)
	// constrained matches what restricts a file to some builds.
	constrained = regexp.MustCompile(`(?m)^//go:build `)
)

// A file is short only if it cannot join another: it belongs to some builds only, has no neighbour with its package clause, or is in a list
// above.
func TestNoFileIsTiny(t *testing.T) {
	short, neighbours, seen := map[string]string{}, map[string]int{}, 0 // short has package clauses, by file
	for _, name := range files(t, ".go") {
		if strings.HasPrefix(name, "gen/") || strings.HasPrefix(name, "ent/") || slices.Contains(shortNames, path.Base(name)) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if constrained.Match(content) || strings.HasSuffix(name, "_linux.go") {
			continue
		}
		clause := path.Dir(name) + " " + string(packageClause.Find(content))
		if strings.HasSuffix(name, "_test.go") {
			clause += ", tests"
		}
		neighbours[clause]++
		if bytes.Count(content, []byte("\n")) < fewestLines {
			short[name] = clause
		}
	}
	for name, clause := range short {
		if neighbours[clause] > 1 && shortFiles[name] == "" {
			t.Errorf("%s has fewer than %d lines: join it to the file of its package with the same subject", name, fewestLines)
		}
	}
	for name := range shortFiles {
		if neighbours[short[name]] < 2 {
			t.Errorf("%s is not a short file among others: remove it from the list", name)
		}
	}
	if seen < 1000 {
		t.Errorf("only %d files found: the search is broken", seen)
	}
}
