package smartkeys

import (
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
)

// TestALinkIsShownOnce repeats a call that creates a link, with the same Idempotency-Key: the call creates no second link, and is
// refused because the link was shown before.
func TestALinkIsShownOnce(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		path := "/v1/property/reservations/" + stay(t, w, "S", map[string]any{"state": "started", "roomId": "R101"}) + "/smartkey-links"
		create := func(key string) e2etest.Outcome {
			t.Helper()
			o, err := w.Do(t.Context(), w.Owner().WithHeader("Idempotency-Key", key), "POST", path, map[string]any{"ttlMinutes": 10})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		shown := func(o e2etest.Outcome) string {
			_, rest, _ := strings.Cut(string(o.Raw), `"link":"`)
			link, _, _ := strings.Cut(rest, `"`)
			return link
		}
		first := create("l-1")
		if !first.OK() || shown(first) == "" {
			t.Fatal(first, string(first.Raw))
		}
		for range 25 { // more than a stay may have open at once
			again := create("l-1")
			if again.HTTP != 409 || again.Reason != "shownOnce" || strings.Contains(string(again.Raw), shown(first)) {
				t.Errorf("repeated: %v %s", again, again.Raw)
			}
		}
		if second := create("l-2"); !second.OK() || shown(second) == "" || shown(second) == shown(first) {
			t.Errorf("under another key: %v %s", second, second.Raw)
		}
		p := newPhone(t, w)
		p.enrol(shown(first)) // it was not touched
	})
}
