package e2e

import (
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// A stay that ended before the retention period is not stored, whichever protocol is spoken.
func TestLateStaysAreNotStored(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Server.KeepStays = 30 * 24 * time.Hour })
	body := map[string]any{"pmsMeta": map[string]any{"id": "late-1"}, "pmsNumber": "1", "booker": map[string]any{"lastName": "Lovelace"},
		"state": "started", "roomId": "R1", "fromDate": "2020-07-01", "toDate": "2020-07-03"}
	check := func(protocol string, data map[string]any) {
		t.Helper()
		id, _ := data["id"].(string)
		meta, _ := data["pmsMeta"].(map[string]any)
		access, _ := data["access"].(map[string]any)
		if data["stale"] != true || data["state"] != "processed" || meta["id"] != "late-1" || access["status"] != "none" || id != "" || data["booker"] != nil {
			t.Errorf("%s: %v", protocol, data)
		}
	}
	o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/reservations", body)
	if err != nil || !o.OK() {
		t.Fatal(err, o)
	}
	check("REST", o.Data())
	o, err = w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/reservations/batch", map[string]any{"reservations": []any{body}})
	if err != nil || !o.OK() {
		t.Fatal(err, o)
	}
	updated, _ := o.Data()["updatedReservations"].([]any)
	if len(updated) != 1 {
		t.Fatalf("batch: %v", o.Data())
	}
	data, _ := updated[0].(map[string]any)
	check("batch", data)

	ctx := metadata.NewOutgoingContext(t.Context(), metadata.New(w.Partner().Headers))
	from, to := "2020-07-01", "2020-07-03"
	answer, err := partnerv1.NewReservationServiceClient(w.Public).UpsertReservation(ctx, &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{
		PmsMeta: &partnerv1.PmsMeta{Id: "late-1"}, PmsNumber: "1", Booker: &partnerv1.Booker{LastName: "Lovelace"}, State: "started", FromDate: &from, ToDate: &to,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r := answer.GetData(); !r.GetStale() || r.GetState() != "processed" || r.GetPmsMeta().GetId() != "late-1" || r.GetId() != "" || r.GetBooker() != nil {
		t.Errorf("gRPC: %v", r)
	}

	if o, err = w.Do(t.Context(), w.Partner(), http.MethodGet, "/v1/reservations/find?pmsId=late-1", nil); err != nil || o.Reason != "reservationNotFound" {
		t.Errorf("it is stored: %v, %v", err, o)
	}
}
