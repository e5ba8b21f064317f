package checkin

import (
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// askAs lets the owner ask the PMS again about a stay, with an Idempotency-Key if key is not empty.
func (w *world) askAs(key, stay string) e2etest.Outcome {
	w.t.Helper()
	by := w.Owner()
	if key != "" {
		by = by.WithHeader("Idempotency-Key", key)
	}
	o, err := w.Do(w.t.Context(), by, "POST", "/v1/property/reservations/"+stay+"/checkIn:askAgain", "{}")
	w.must(err)
	return o
}

// stop returns the reason of the first stop in an answer to staff, and what the PMS said about it.
func stop(o e2etest.Outcome) (reason, said string) {
	if stops, _ := o.Data()["stops"].([]any); len(stops) > 0 {
		reason, _ = e2etest.ValueAt(stops[0], "reason").(string)
		said, _ = e2etest.ValueAt(stops[0], "partnerReason").(string)
	}
	return reason, said
}

// A request of staff to ask the PMS again that is repeated with its key gets the same answer without what the PMS said, which is not stored
// with the key. The PMS is asked once for each key.
func TestStaffRepeatARequest(t *testing.T) {
	w := open(t)
	g, other := w.bind(w.book("B-1", "1001", "R101")), w.bind(w.book("B-2", "1002", "R102"))
	g.fill()
	w.PMS.SetConduct("B-1", sandbox.Lies)
	g.press(false)
	g.reads("stopped", "partnerError")
	asked := w.asked()
	calls := func(what string, want int) {
		t.Helper()
		if n := w.asked() - asked; n != want {
			t.Errorf("%s: the PMS was asked %d times, want %d", what, n, want)
		}
		asked = w.asked()
	}
	first := w.askAs("k-1", g.stay)
	calls("the first request", 1)
	if reason, said := stop(first); !first.OK() || reason != "partnerError" || said != "pmsBroken" {
		t.Errorf("the first request: %s", first.Raw)
	}
	w.PMS.SetConduct("B-1", sandbox.Normal)
	again := w.askAs("k-1", g.stay)
	calls("the repeated request", 0)
	if reason, said := stop(again); !again.OK() || reason != "partnerError" || said != "" {
		t.Errorf("the repeated request: %s", again.Raw)
	}
	if o := w.askAs("k-1", other.stay); o.HTTP != 400 || o.Reason != "idempotencyKeyReused" {
		t.Errorf("the key with another stay: %v", o)
	}
	calls("the key with another stay", 0)
	for _, key := range []string{"k-2", "", ""} {
		if o := w.askAs(key, g.stay); !o.OK() || e2etest.ValueAt(o.Data(), "stage") != "confirmDetails" {
			t.Errorf("the key %q: %s", key, o.Raw)
		}
		calls("another key, or none", 1)
	}
}
