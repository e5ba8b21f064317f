package smartkeys

import (
	"context"
	"fmt"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/smartkey"
)

// planned is what the access plan says of SmartKeys at a door; empty: the door is not in it.
func planned(ctx context.Context, w *e2etest.World, door string) (string, error) {
	o, err := w.Do(ctx, w.Partner(), "GET", "/v1/reservations/find?pmsId=S&extend=access", nil)
	if err != nil || !o.OK() {
		return "", fmt.Errorf("%v, %w", o, err)
	}
	doors, _ := e2etest.ValueAt(o.Data(), "access.doors").([]any)
	for _, d := range doors {
		if e2etest.ValueAt(d, "name") == door {
			return e2etest.ValueAt(d, "smartKey").(string), nil
		}
	}
	return "", nil
}

// TestPlanShowsSmartKeyStatus follows the word of a door from before the first phone until after the stay.
func TestPlanShowsSmartKeyStatus(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		becomes := func(door, word string) {
			t.Helper()
			w.Await(door+" is "+word, func(ctx context.Context) (bool, error) {
				got, err := planned(ctx, w, door)
				if err == nil && got != word {
					err = fmt.Errorf("it is %q", got)
				}
				return err == nil, err
			})
		}
		id := stay(t, w, "S", map[string]any{"state": "started", "roomId": "R101"})
		becomes("Room 101", "planned")
		p := newPhone(t, w)
		p.enrol(link(t, w, id))
		becomes("Room 101", "accepted")
		room := p.door("Room 101")
		p.wants("check", p.use(room, smartkey.Check), smartkey.OK, "checked")
		becomes("Room 101", "verified")
		p.wants("open", p.use(room, smartkey.Unlock), smartkey.OK, "opened")
		becomes("Room 101", "used")
		becomes("Front door", "accepted")

		// A companion's phone is shut out: the other goes on.
		companion := newPhone(t, w)
		companion.enrol(link(t, w, id))
		if _, err := staff(w).RevokeSmartKeyPhone(w.Staff(t.Context()), &propertyv1.RevokeSmartKeyPhoneRequest{Id: companion.id}); err != nil {
			t.Fatal(err)
		}
		becomes("Room 101", "used")

		// The guest moves: the token for the old room is taken back, and the phone has yet to renew.
		e2etest.PushReservation(t, w, "S", map[string]any{"state": "started", "roomId": "R102"})
		becomes("Room 102", "planned")
		becomes("Front door", "planned")
		if err := p.renew(); err != nil {
			t.Fatal(err)
		}
		becomes("Room 102", "accepted")

		// Replaced at once, the issuer key of that token counts for nothing.
		if _, err := staff(w).RotateIssuerKey(w.Staff(t.Context()), &propertyv1.RotateIssuerKeyRequest{AtOnce: true}); err != nil {
			t.Fatal(err)
		}
		becomes("Room 102", "planned")
		if err := p.renew(); err != nil {
			t.Fatal(err)
		}
		becomes("Room 102", "accepted")
		e2etest.PushReservation(t, w, "S", map[string]any{"state": "processed", "roomId": "R102"})
		becomes("Room 102", "removed")
	})
}
