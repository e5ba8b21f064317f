package privacy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/privacy"
	"latchkey.dev/internal/test/sourcetest"
)

// Annotations that several tables share are not changed by the reason of one of them.
func TestKeepsLeavesTheSharedAnnotation(t *testing.T) {
	shared := privacy.Table{About: privacy.Guests, Ends: []privacy.End{privacy.Stay}}
	kept := shared.Keeps("it names no guest")
	if diff := cmp.Diff(privacy.Table{About: privacy.Guests, Ends: []privacy.End{privacy.Stay}, Kept: "it names no guest"}, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if shared.Kept != "" {
		t.Errorf("the shared annotation says %q", shared.Kept)
	}
}

// Each end ends the rows of a table, and one with a retention time names a flag of the server, so that docs/privacy.md explains no end that
// does not exist.
func TestEndsExist(t *testing.T) {
	server, err := kong.New(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	for _, f := range server.Model.Flags {
		flags = append(flags, "`--"+f.Name+"`")
	}
	var used []privacy.End
	for _, model := range schema.All {
		for _, a := range model.Annotations() {
			if table, ok := a.(privacy.Table); ok {
				used = append(used, table.Ends...)
			}
		}
	}
	for name, end := range sourcetest.Constants(t, "privacy.go", "End") {
		if !slices.Contains(used, privacy.End(end)) {
			t.Errorf("%s ends the rows of no table", name)
		}
		if strings.HasPrefix(end, "`") && !slices.Contains(flags, end) {
			t.Errorf("%s is %s, which is no flag of the server", name, end)
		}
	}
}
