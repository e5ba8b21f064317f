package saga

import (
	"context"
	"testing"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/test/dbtest"
)

// erasurePoints are the points of an erasure at which the server is killed: with the call, after its answer, at the steps of the mail that
// confirms it, and some times after a start, while the sweep erases.
var erasurePoints = []string{"call", "answer", "mail recipient", "mail taken", "mail answered", "2ms", "5ms", "10ms", "20ms", "40ms", "80ms", "160ms"}

// A server that is killed at any point of an erasure finishes it after the restart, and every guest gets a receipt.
func TestKillDuringErasure(t *testing.T) {
	t.Parallel()
	engines := []string{"sqlite"}
	if kills(t) > 0 {
		engines = dbtest.Engines
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			w := open(t, engine, len(erasurePoints))
			r := &run{world: w}
			r.invite(make([]point, len(erasurePoints)))
			var receipts []string
			for i, p := range erasurePoints {
				g := r.guest(i)
				g.at = func(step) {}
				w.must(g.open(t.Context()))
				receipts = append(receipts, w.requestErasure(g, p))
				if wait, err := time.ParseDuration(p); err == nil {
					<-time.After(wait)
					w.restart()
				}
			}
			for i, receipt := range receipts {
				w.awaitErasure(erasurePoints[i], receipt)
			}
			w.nothingIsLeft()
		})
	}
}

// restart kills the server and starts it again. Each start runs the sweeps at once.
func (w *world) restart() {
	w.t.Helper()
	w.server.Kill()
	w.must(w.server.Start(w.t.Context()))
}

// requestErasure requests the erasure of a guest's data while the server is killed at a point, and repeats the call until it is answered.
func (w *world) requestErasure(g *guest, point string) (receipt string) {
	w.t.Helper()
	privacy := guestv1.NewPrivacyServiceClient(w.Public)
	request := func() (bool, error) {
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		asked, err := privacy.RequestErasure(g.as(ctx), &guestv1.RequestErasureRequest{})
		receipt = asked.GetData().GetReceipt()
		return receipt != "", err
	}
	switch point {
	case "call":
		sent := make(chan struct{})
		go func() { defer close(sent); _, _ = request() }()
		w.restart()
		<-sent
	case "answer":
		w.must(program.Await(w.t.Context(), "the request is answered", request))
		w.restart()
	case "mail recipient", "mail taken", "mail answered":
		dead := w.arm(point, g.id)
		w.must(program.Await(w.t.Context(), "the request is answered", request))
		w.server.Kill()
		err := w.server.Start(w.t.Context()) // the sweep orders the mail, at whose step the server is killed, perhaps before it is ready
		select {
		case <-dead:
			w.must(w.server.Start(w.t.Context()))
		case <-time.After(program.Patience):
			w.t.Fatalf("the server was not killed at %q: %v", point, err)
		}
	}
	if receipt == "" { // after an answer, the sweeps of the restarts may have erased the data, and ended the session
		w.must(program.Await(w.t.Context(), "the request is answered", request))
	}
	return receipt
}

// awaitErasure waits until an erasure is done. It starts the server again and again instead of waiting for the sweep.
func (w *world) awaitErasure(point, receipt string) {
	w.t.Helper()
	deadline := time.Now().Add(2 * program.Patience)
	for state := ""; time.Now().Before(deadline); {
		w.must(program.Await(w.t.Context(), "the receipt of an erasure", func() (bool, error) {
			r, err := guestv1.NewPrivacyServiceClient(w.Public).GetErasureReceipt(w.t.Context(), &guestv1.GetErasureReceiptRequest{Receipt: receipt})
			state = r.GetData().GetState()
			return err == nil, err
		}))
		if state == "done" {
			return
		}
		w.restart()
		<-time.After(time.Second)
	}
	w.t.Errorf("killed at %q: the erasure is not done", point)
}

// nothingIsLeft checks that no guest and no mail is left.
func (w *world) nothingIsLeft() {
	w.t.Helper()
	mails, err := propertyv1.NewMailServiceClient(w.Public).ListMails(w.asStaff(), &propertyv1.ListMailsRequest{PageSize: 200})
	w.must(err)
	for _, m := range mails.GetData().GetList() {
		if m.GetReservationId() != "" {
			w.t.Errorf("a mail is left: %s %s to %s", m.GetKind(), m.GetState(), m.GetMaskedTo())
		}
	}
	all, err := propertyv1.NewPrivacyServiceClient(w.Public).ListErasures(w.asStaff(), &propertyv1.ListErasuresRequest{PageSize: 200})
	w.must(err)
	if n := len(all.GetData().GetList()); n != len(erasurePoints) {
		w.t.Errorf("%d erasures of %d guests", n, len(erasurePoints))
	}
	for _, e := range all.GetData().GetList() {
		guests, err := propertyv1.NewCheckInServiceClient(w.Public).ListGuests(w.asStaff(), &propertyv1.ListGuestsRequest{ReservationId: e.GetReservationId()})
		if err != nil || len(guests.GetData().GetList()) > 0 {
			w.t.Errorf("%s: %d guests are left, %v", e.GetReservationId(), len(guests.GetData().GetList()), err)
		}
	}
}
