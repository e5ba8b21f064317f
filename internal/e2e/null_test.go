package e2e

import (
	"net/http"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
)

// Over Connect in JSON null clears a field, as over REST, and what is left out keeps its value.
func TestNullClearsOverConnect(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	for id, call := range map[string]struct{ rpc, body string }{
		"one":  {"UpsertReservation", `{"reservation":{"pmsMeta":{"id":"one"},"booker":{"email":null}}}`},
		"many": {"BatchUpsertReservations", `{"reservations":[{"pmsMeta":{"id":"many"},"booker":{"email":null}}]}`},
	} {
		kept := good(id)
		kept["booker"] = map[string]any{"lastName": "Ada", "email": "ada@example.com", "mobile": "+351910000000"}
		if o, err := w.Do(t.Context(), w.Partner(), "PATCH", "/v1/reservations", kept); err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		r := e2etest.FindRPC("latchkey.partner.v1.ReservationService/" + call.rpc)
		as := w.Partner().WithHeader("Idempotency-Key", "key-"+id)
		o, err := w.HTTPCall(t.Context(), as, http.MethodPost, "/"+r.Name, "application/json", []byte(call.body))
		if err == nil {
			err = o.ReadConnect(r)
		}
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		o, err = w.Do(t.Context(), w.Partner(), "GET", "/v1/reservations/find?pmsId="+id, nil)
		if text := string(o.Raw); err != nil || strings.Contains(text, "ada@example.com") || !strings.Contains(text, "+351910000000") {
			t.Errorf("%s: %s %v", call.rpc, text, err)
		}
		// Under the same key, a body that leaves the field out is another one.
		other := strings.Replace(call.body, `"email":null`, ``, 1)
		if o, err = w.HTTPCall(t.Context(), as, http.MethodPost, "/"+r.Name, "application/json", []byte(other)); err == nil {
			err = o.ReadConnect(r)
		}
		if err != nil || o.Reason != "idempotencyKeyReused" {
			t.Errorf("%s: another body under the same key: %v %v", call.rpc, o, err)
		}
	}
}
