package server_test

import (
	"crypto/rand"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/smartkey"
)

// TestAPhoneReachesABridgeOnAnotherNode has a phone call one node while the bridge is connected to the other.
func TestAPhoneReachesABridgeOnAnotherNode(t *testing.T) {
	in := install(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, now := t.Context(), time.Now()
	conn, err := grpc.NewClient(in.Server.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	defer func() { _ = conn.Close() }()
	a, err := in.PMS.Push(ctx, "S", map[string]any{
		"state": "started", "roomId": "R101", "pmsNumber": "1", "booker": map[string]any{"lastName": "Lovelace"},
		"fromDate": now.AddDate(0, 0, -1).Format(time.DateOnly), "toDate": now.AddDate(0, 0, 3).Format(time.DateOnly),
	})
	must(err)
	id, _ := a.Data()["id"].(string)
	l, err := propertyv1.NewSmartKeyServiceClient(conn).CreateSmartKeyLink(in.Staff(ctx), &propertyv1.CreateSmartKeyLinkRequest{ReservationId: id})
	must(err)
	api := guestv1.NewSmartKeyServiceClient(conn)
	look, err := api.GetEnrolment(ctx, &guestv1.GetEnrolmentRequest{Link: l.GetLink()})
	must(err)
	p, err := smartkey.NewPhone(rand.Reader)
	must(err)
	raw, err := p.SignPossession(smartkey.PossessionSpec{Property: look.GetPropertyId(), Purpose: smartkey.Enrol, Challenge: look.GetChallenge()}, now)
	must(err)
	e, err := api.Enrol(ctx, &guestv1.EnrolRequest{Link: l.GetLink(), Possession: raw})
	must(err)
	p.SetToken(e.GetKey().GetToken())
	door := smartkey.Door(e.GetKey().GetDoors()[0].GetDoor())
	use := func() *guestv1.PresentResponse {
		t.Helper()
		greeted, err := api.Greet(ctx, &guestv1.GreetRequest{Token: p.Token(), Door: door[:]})
		must(err)
		g, err := smartkey.DecodeGreeting(greeted.GetGreeting())
		must(err)
		pr, err := p.Present(g, door, smartkey.Unlock, time.Now())
		must(err)
		raw, err := pr.Encode()
		must(err)
		done, err := api.Present(ctx, &guestv1.PresentRequest{Presentation: raw})
		must(err)
		return done
	}
	if got := use(); got.GetResult() != "opened" {
		t.Errorf("across nodes: %s, %s", got.GetReason(), got.GetResult())
	}
	_, err = propertyv1.NewSmartKeyServiceClient(conn).RevokeSmartKeyPhone(in.Staff(ctx), &propertyv1.RevokeSmartKeyPhoneRequest{Id: e.GetPhoneId()})
	must(err)
	for deadline := time.Now().Add(20 * time.Second); ; {
		got := use()
		if got.GetReason() == string(smartkey.Revoked) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a phone that was shut out on one node, at a bridge on the other: %s, %s", got.GetReason(), got.GetResult())
		}
	}
}
