package staff

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"latchkey.dev/internal/message"
)

// Every message that a template or the code names exists.
func TestEveryMessageExists(t *testing.T) {
	named := regexp.MustCompile(`"((?:staff|web)\.[a-zA-Z.]+)"`)
	count := 0
	for _, glob := range []string{"*.go", "pages/*.html", "parts/*.html"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(content), -1) {
				if strings.HasSuffix(m[1], ".") || filepath.Ext(m[1]) == ".css" || filepath.Ext(m[1]) == ".js" { // the rest is data, or it is a file
					continue
				}
				if count++; !message.Has(m[1]) {
					t.Errorf("%s names %s, which has no text", file, m[1])
				}
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d names were found", count)
	}
	for _, done := range results {
		if !message.Has("staff.done." + done) {
			t.Errorf("the result %s has no text", done)
		}
	}
	for _, a := range areas {
		if !message.Has("staff.area." + a.Name) {
			t.Errorf("the area %s has no name", a.Name)
		}
	}
}

// Only an address of the dashboard follows a sign-in.
func TestLocalPage(t *testing.T) {
	for address, want := range map[string]bool{
		"/app/": true, "/app/today?tab=house&day=2026-11-21": true, "/app/account#x": true,
		"": false, "/": false, "/g/stays/x": false, "//evil.example/app/": false, "https://evil.example/app/": false, `/app/\evil`: false, "/app/../g/": false,
		"/app/%2e%2e/g": false, "/app/%5cevil": false, "app/": false, "/app/\r\nx": false, "javascript:alert(1)": false,
	} {
		if got := localPage(address); (got == address && got != "") != want {
			t.Errorf("%q leads to %q", address, got)
		}
	}
}
