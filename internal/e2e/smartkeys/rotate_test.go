package smartkeys

import (
	"context"
	"fmt"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/smartkey"
)

// signs is the id of the issuer key that signs now.
func (p *phone) signs(ctx context.Context, property string) (string, error) {
	l, err := p.api.GetLists(ctx, &guestv1.GetListsRequest{Token: p.Token()})
	if err != nil || len(l.GetKeySets()) != 1 {
		return "", fmt.Errorf("%d key sets, %w", len(l.GetKeySets()), err)
	}
	set, err := smartkey.PinKeySet(l.GetKeySets()[0], property)
	if err != nil {
		return "", err
	}
	k, err := set.Current()
	return k.Key.KeyID().String(), err
}

// TestIssuerKeyRotation replaces the key step by step with a bridge that is connected: the new one signs once the
// bridge has said that it knows it, and neither the old token nor the new one is ever refused.
func TestIssuerKeyRotation(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		p := newPhone(t, w)
		p.enrol(link(t, w, stay(t, w, "S", map[string]any{"state": "started", "roomId": "R101"})))
		stay(t, w, "T", map[string]any{"state": "started", "roomId": "R102"})
		room := p.door("Room 101")
		p.wants("before", p.use(room, smartkey.Check), smartkey.OK, "checked")
		before, err := p.signs(t.Context(), w.PropertyID)
		if err != nil {
			t.Fatal(err)
		}
		done, err := staff(w).RotateIssuerKey(w.Staff(t.Context()), &propertyv1.RotateIssuerKeyRequest{})
		if err != nil || done.GetCurrentKeyId() != before {
			t.Fatalf("announced: %v, %v; %s signed before", done, err, before)
		}
		rooms := []string{"R103", "R102"}
		w.Await("the new key signs", func(ctx context.Context) (bool, error) {
			// Any change of a stay, and a timer, check the property's keys.
			rooms[0], rooms[1] = rooms[1], rooms[0]
			e2etest.PushReservation(t, w, "T", map[string]any{"state": "started", "roomId": rooms[0]})
			now, err := p.signs(ctx, w.PropertyID)
			return err == nil && now != before, err
		})
		p.wants("the old token", p.use(room, smartkey.Unlock), smartkey.OK, "opened")
		if err := p.renew(); err != nil {
			t.Fatal(err)
		}
		p.wants("the new token", p.use(room, smartkey.Unlock), smartkey.OK, "opened")
	})
}
