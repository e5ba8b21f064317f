package repository_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sharedRows are the tables that packages besides their owner write, by ent's name, with these packages. Most remove or detach the rows of
// a reservation that they delete, or of a guest that they erase. The list should only become shorter: a package asks the owner of a row to
// change it.
var sharedRows = map[string]string{
	"Act":          "reservation",
	"Arrival":      "reservation",
	"Grant":        "mobilekey reservation",
	"Guest":        "checkin conversation reservation",
	"GuestLink":    "reservation",
	"GuestSession": "reservation",
	"Idempotency":  "worker",
	"Integration":  "space",
	"Invitation":   "guest property reservation",
	"Mail":         "checkin guest reservation worker",
	"Notice":       "access/code guest reservation",
	"Phone":        "guest reservation",
	"PhoneLink":    "reservation",
	"Pin":          "reservation",
	"Secret":       "bridge",
	"Slot":         "access/code reservation",
	"Stay":         "guest reservation",
}

var rowWrite = regexp.MustCompile(`\b[tT]x\.([A-Z]\w+)\.(?:Update|Create|MapCreate|Delete)\w*\(`)

func TestRowsHaveOneWriter(t *testing.T) {
	writers := map[string]map[string]int{}
	for _, name := range files(t, ".go") {
		room, inside := strings.CutPrefix(path.Dir(name), "internal/")
		if !inside || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(room, "test/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range rowWrite.FindAllSubmatch(content, -1) {
			table := string(m[1])
			if writers[table] == nil {
				writers[table] = map[string]int{}
			}
			writers[table][room]++
		}
	}
	if len(writers) < len(sharedRows) {
		t.Fatalf("found the writers of %d tables only", len(writers))
	}
	for table, rooms := range writers {
		others := slices.DeleteFunc(slices.Sorted(maps.Keys(rooms)), func(room string) bool { return !slices.Contains(strings.Fields(sharedRows[table]), room) })
		if got := strings.Join(others, " "); got != sharedRows[table] {
			t.Errorf("besides its owner, %q write the table %s, and the list says %q: shorten the list", got, table, sharedRows[table])
		}
		if owners := len(rooms) - len(others); owners != 1 {
			t.Errorf("%v write the table %s: one package owns it, and others ask the owner", slices.Sorted(maps.Keys(rooms)), table)
		}
	}
}
