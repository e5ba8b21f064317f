package e2e

import (
	"net/http"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// Staff read the spaces to see whether the PMS is repaired: a failed read is a failure, with its cause.
func TestReadSpacesReportsAFailedRead(t *testing.T) {
	w := e2etest.Open(t)
	read := func() e2etest.Outcome {
		o, err := w.Do(t.Context(), w.Owner(), http.MethodPost, "/v1/property/integrations/"+w.IntegrationID+":readSpaces", nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := read(); !o.OK() || o.Data()["found"] != float64(len(sandbox.Listing())) {
		t.Fatalf("a good read: %v %v", o, o.Data())
	}
	fails := func(what string, status int, reason, text string) {
		t.Helper()
		for range 4 {
			if o := read(); o.HTTP != status || o.Reason != reason || !strings.Contains(o.Message, text) {
				t.Errorf("%s: %v; want %d %s with %q", what, o, status, reason, text)
			}
		}
	}
	w.PMS.Break(http.StatusInternalServerError)
	fails("HTTP 500", 409, "partnerError", `(HTTP 500); "broken"; "the PMS is out of order"`)
	w.PMS.Break(0)
	w.PMS.SetSpaces([]sandbox.Space{})
	fails("an empty list", 409, "partnerError", "the listing is empty")
	w.PMS.SetSpaces([]sandbox.Space{{ID: "R101", Type: "Tent", Name: "101"}})
	fails("a broken contract", 409, "partnerError", "outside the contract")
	o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/endpoints", map[string]any{"action": "getSpaces", "url": w.PMSURL() + "/nothing"})
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	w.PMS.SetSpaces(sandbox.Listing())
	fails("another address", 409, "partnerError", "(HTTP 404)")
	if o, err = w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/endpoints", map[string]any{"action": "getSpaces", "url": w.PMSURL() + "/spaces"}); err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	if o := read(); !o.OK() {
		t.Errorf("after the repair: %v", o)
	}
}

// An answer of the service can be sent back as it is, and changes nothing but the form of the dates.
func TestAnAnswerCanBeSentBack(t *testing.T) {
	w := e2etest.Open(t)
	e2etest.Push(t, w, "BACK", map[string]any{"state": "started", "roomId": "R101", "fromDate": e2etest.Today(0), "toDate": e2etest.Today(2)})
	get := func() map[string]any {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodGet, "/v1/reservations/find?pmsId=BACK&extend=access", nil)
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		return o.Data()
	}
	before := get()
	if o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/reservations", before); err != nil || !o.OK() {
		t.Fatalf("sent back: %v %v", o, err)
	}
	after := get()
	for _, f := range []string{"from", "to", "state", "roomId", "pmsNumber"} {
		if before[f] != after[f] {
			t.Errorf("%s was %v and is %v", f, before[f], after[f])
		}
	}
}
