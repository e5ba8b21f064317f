package repository_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var codeSpan = regexp.MustCompile("`([a-z0-9]+(?:/[a-z0-9]+)*)`")

// docs/architecture.md names every package below internal/. For the packages of tests and tools it names the directory.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"server": true} // in the drawing of the tree
	for _, m := range codeSpan.FindAllSubmatch(text, -1) {
		named[string(m[1])] = true
	}
	missing := map[string]bool{}
	for _, name := range files(t, ".go") {
		room, ok := strings.CutPrefix(path.Dir(name), "internal/")
		if !ok || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if top, _, _ := strings.Cut(room, "/"); top == "test" || top == "e2e" || top == "tools" {
			room = top
		}
		if !named[room] {
			missing[room] = true
		}
	}
	for room := range missing {
		t.Errorf("docs/architecture.md does not name the package %s: add it to the table of packages", room)
	}
}
