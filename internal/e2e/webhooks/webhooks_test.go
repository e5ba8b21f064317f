package webhooks

import (
	"context"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
)

// A partner registers a webhook and gets the events of a stay, signed and in order, with the PIN in one message only.
func TestEventsOfAStayArrive(t *testing.T) {
	w := e2etest.Open(t, loopback)
	r := newReceiver(t)
	h := register(t, w, w.Partner(), r.URL+"/hook")
	a := e2etest.PushReservation(t, w, "B-1", map[string]any{"state": "started", "roomId": "R101"})
	stayID, _ := a.Data()["id"].(string)
	w.Await("the PIN and the access arrive", func(context.Context) (bool, error) {
		return len(r.received("reservationPinGenerated")) > 0 && len(r.received("access.issued")) > 0, nil
	})
	for _, m := range r.received() {
		if err := verify(t, m, h.Secret); err != nil {
			t.Errorf("%s: %v", m.Body.Event, err)
		}
	}
	pin := r.received("reservationPinGenerated")[0]
	digits, _ := pin.Body.Data["pin"].(string)
	if pin.Body.Data["id"] != stayID || len(digits) < 4 || !strings.HasSuffix(pin.Body.Data["webAppUrl"].(string), "/g/stays/"+stayID) {
		t.Errorf("reservationPinGenerated: %v", pin.Body.Data)
	}
	if e2etest.ValueAt(pin.Body.Data, "pmsMeta.id") != "B-1" || e2etest.ValueAt(pin.Body.Data, "booker.lastName") != "Lovelace" {
		t.Errorf("reservationPinGenerated is not the reservation: %s", pin.Raw)
	}
	issued := r.received("access.issued")[0]
	if issued.Body.Subject != stayID || issued.Body.Data["pmsId"] != "B-1" || strings.Contains(string(issued.Raw), digits) {
		t.Errorf("access.issued: %s", issued.Raw)
	}
}
