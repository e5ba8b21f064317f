// Package repository_test checks the tree as a whole: what no single package can see.
package repository_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// files lists what git tracks, or would track, with one of the given extensions.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	folders := map[string]bool{}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		for _, ext := range extensions {
			if filepath.Ext(name) == ext {
				found = append(found, name)
				for folder := filepath.Dir(name); !folders[folder]; folder = filepath.Dir(folder) {
					folders[folder] = true
				}
			}
		}
	}
	// "go test" repeats a stored result unless something changes that the test itself read. It does not see what git reads: without this, a
	// new file would change nothing.
	for folder := range folders {
		if _, err := os.ReadDir(filepath.Join(root, folder)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return found
}

var (
	document = regexp.MustCompile(`\bdocs/[\w./-]*\.(?:md|json|yml|yaml)\b`)
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// A file that text refers to exists: documents by their path from the root, links of documents by their path from there.
func TestReferencesLead(t *testing.T) {
	seen := 0
	for _, name := range files(t, ".go", ".md", ".proto", ".yaml", ".service", ".html") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range document.FindAllString(string(content), -1) {
			seen++
			exists(t, name, path)
		}
		if filepath.Ext(name) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(content), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "/") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			seen++
			exists(t, name, filepath.Join(filepath.Dir(name), target))
		}
	}
	if seen < 20 {
		t.Errorf("only %d references found: the search is broken", seen)
	}
}

func exists(t *testing.T, from, path string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		t.Errorf("%s refers to %s, which does not exist", from, path)
	}
}

// Every test that a document names exists.
func TestNamedTestsExist(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tests := map[string]bool{}
	for _, name := range files(t, ".go") {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(content), -1) {
			tests[m[1]] = true
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`")
	seen := 0
	for _, name := range files(t, ".md") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(content), -1) {
			seen++
			if !tests[m[1]] {
				t.Errorf("%s names the test %s, which does not exist", name, m[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d named tests found: the search is broken", seen)
	}
}
