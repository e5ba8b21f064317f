package smartkeys

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/smartkey"
)

// steps are the kind and reason of the steps about doors and phones in a stay's explanation.
func steps(t *testing.T, w *e2etest.World, reservationID string) (out []string) {
	t.Helper()
	o, err := w.Do(t.Context(), w.Owner(), "GET", "/v1/property/reservations/"+reservationID+"/explain", nil)
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	all, _ := o.Data()["steps"].([]any)
	for _, s := range all {
		kind, _ := s.(map[string]any)["kind"].(string)
		if reason, _ := s.(map[string]any)["reason"].(string); strings.Contains(kind, "hone") || strings.Contains(kind, "Staff") {
			out = append(out, strings.TrimSpace(kind+" "+reason))
		}
	}
	return out
}

// TestRefusedSmartKeysAreReported lets a door refuse phones: the stay's explanation shows it, and many refusals notify staff of guessing.
func TestRefusedSmartKeysAreReported(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		id := stay(t, w, "S", map[string]any{"state": "started", "roomId": "R101"})
		p, thief := newPhone(t, w), newPhone(t, w)
		p.enrol(link(t, w, id))
		thief.keep(p.keys)
		room := p.door("Room 101")
		w.Await("the code is at the door", func(context.Context) (bool, error) {
			o, err := w.Do(t.Context(), w.Owner(), "GET", "/v1/property/reservations/"+id+"/explain", nil)
			return strings.Contains(string(o.Raw), "codeVerified"), err
		})
		p.wants("open", p.use(room, smartkey.Unlock), smartkey.OK, "opened")
		thief.wants("copied", thief.use(room, smartkey.Unlock), smartkey.Cloned, "refused")
		want := []string{"doorOpenedByPhone", "otherPhoneDenied smartkey:cloned"}
		w.Await("the explanation shows it", func(context.Context) (bool, error) {
			got := steps(t, w, id)
			if !slices.Equal(got, want) {
				return false, fmt.Errorf("%q, want %q", got, want)
			}
			return true, nil
		})
		for range lock.LockBudget.Limit {
			thief.use(room, smartkey.Unlock)
		}
		w.Await("staff are notified of guessing", func(context.Context) (bool, error) {
			o, err := w.Do(t.Context(), w.Owner(), "GET", "/v1/property/notices", nil)
			return strings.Contains(string(o.Raw), `"guessing"`), err
		})
	})
}
