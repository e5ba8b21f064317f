package staff

import (
	"strings"
	"testing"
)

// A new code stops a tablet that is set up, so the page asks first. A tablet that is not has nothing to lose.
func TestNewCodeOfATabletAsksFirst(t *testing.T) {
	d := newDays(nil)
	d.rights = append(d.rights, "readProperty", "manageSettings")
	body := serve(t, API{Sessions: d, Properties: d, Kiosks: d}, "/app/settings/kiosks", nil).Body.String()
	for name, asks := range map[string]bool{"Lobby": true, "Bar": true, "Attic": false} {
		_, row, _ := strings.Cut(body, "<strong>"+name+"</strong>")
		row, _, _ = strings.Cut(row, "</li>")
		before, _, found := strings.Cut(row, `value="reset"`)
		inMenu := strings.Count(before, "<details") > strings.Count(before, "</details")
		if !found || inMenu != asks || strings.Contains(before, "The tablet stops at once, until") != asks {
			t.Errorf("%s: the button is in a menu: %t, want %t: %s", name, inMenu, asks, row)
		}
	}
}
