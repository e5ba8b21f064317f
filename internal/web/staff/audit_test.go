package staff

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"latchkey.dev/internal/staff"
)

// A log that one press cannot verify to its end is verified by following the link.
func TestLongAuditLogIsVerified(t *testing.T) {
	f := &fakeAPI{role: staff.Owner, entries: 450_000}
	link := regexp.MustCompile(`href="(/app/audit\?from=[^"]*)"`)
	path, until := "/app/audit?verify=yes", []string{"number 200000 are", "number 400000 are", "last, number 450000, are"}
	for _, want := range until {
		_, page := f.get(t, path, "en")
		if !strings.Contains(page, want) {
			t.Fatalf("%s: want %q in %s", path, want, page)
		}
		found := link.FindStringSubmatch(page)
		if found == nil {
			path = ""
			continue
		}
		path = html.UnescapeString(found[1])
	}
	if path != "" {
		t.Errorf("the verified log offers %s", path)
	}
	if _, page := f.get(t, "/app/audit?verify=yes&from=x", "en"); !strings.Contains(page, until[0]) {
		t.Errorf("a wrong beginning: %s", page)
	}
}
