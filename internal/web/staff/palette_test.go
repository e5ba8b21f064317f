package staff

import (
	"strings"
	"testing"
)

// Every page of the palette has a name and a route, which needs the same right.
func TestPalettePages(t *testing.T) {
	rights := map[string]string{}
	for _, r := range Routes() {
		rights[r.Pattern] = r.Right
	}
	for _, p := range furtherPages {
		checkTexts(t, p.Name)
		path, _, _ := strings.Cut(p.URL, "?")
		if right, ok := rights["GET "+path]; !ok || right != p.right {
			t.Errorf("%s needs %q, its route %q (there is one: %v)", p.URL, p.right, right, ok)
		}
	}
	for _, tab := range settingsTabs {
		checkTexts(t, "staff.settings."+tab.Name)
	}
}

// A query finds a text with all of its words, in any case and order.
func TestContains(t *testing.T) {
	for _, c := range []struct {
		text, query string
		want        bool
	}{
		{"Guests in house", "", true}, {"Guests in house", "HOUSE guest", true}, {"Guests in house", "houses", false}, {"Réglages", "rég", true}, {"Locks", "  ", true},
	} {
		if got := contains(c.text, c.query); got != c.want {
			t.Errorf("%q in %q: %v", c.query, c.text, got)
		}
	}
}
