package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// visitor is a guest at the page of the QR code.
type visitor struct {
	t    *testing.T
	conn *grpc.ClientConn
	as   context.Context
	id   string
}

// findStay finds a stay by the QR code of a kiosk.
func findStay(s *shell, number, family string) *visitor {
	s.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	door := s.json("kiosk create Lobby")["data"].(map[string]any)["door"].(string)
	v := &visitor{t: s.T, conn: conn}
	found, err := guestv1.NewLinkServiceClient(conn).FindStay(s.Context(), &guestv1.FindStayRequest{Door: door, Number: number, FamilyName: family})
	v.must(err)
	v.as = metadata.AppendToOutgoingContext(s.Context(), "authorization", "Bearer "+found.GetData().GetSession().GetToken())
	stay, err := guestv1.NewStayServiceClient(conn).GetStay(v.as, &guestv1.GetStayRequest{})
	v.must(err)
	v.id = stay.GetData().GetGuests()[0].GetId()
	return v
}

func (v *visitor) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// sign draws the signature of the guest.
func (v *visitor) sign() {
	v.t.Helper()
	forms := guestv1.NewFormServiceClient(v.conn)
	form, err := forms.GetForm(v.as, &guestv1.GetFormRequest{GuestId: v.id})
	v.must(err)
	_, err = forms.SignForm(v.as, &guestv1.SignFormRequest{GuestId: v.id, Shown: form.GetData().GetSignature().GetShown(), Drawing: "17,23 931,377"})
	v.must(err)
}

// Staff let a guest check in who owes an amount, and see who did.
func TestWaive(t *testing.T) {
	s, w := newWorld(t)
	s.ok("checkin settings --rule none --identity-check none --signature none")
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "confirmed", "R101", 2)
	if _, err := w.PMS.SetOwing(t.Context(), "B-1", 20); err != nil {
		t.Fatal(err)
	}
	s.ok("today", "1 arrival, 1 still to come", "0 departures", "4711")
	v := findStay(s, "4711", "Lovelace")
	forms, api := guestv1.NewFormServiceClient(v.conn), guestv1.NewCheckInServiceClient(v.conn)
	_, err := forms.SaveStep(v.as, &guestv1.SaveStepRequest{GuestId: v.id, Step: "name", Answers: map[string]string{"firstName": "Ada", "lastName": "Lovelace"}})
	v.must(err)
	_, err = api.StartCheckIn(v.as, &guestv1.StartCheckInRequest{})
	v.must(err)
	s.fails(2, "checkin waive 4711 '20.00 EUR'", "--reason")
	s.fails(1, "checkin waive 4711 '19.00 EUR' --reason 'pays on departure'", "20.00 EUR")
	s.ok("checkin waive 4711 '20.00 EUR' --reason 'pays on departure'", "owing waived (20.00 EUR) by operator:socket")
	s.fails(1, "checkin waive 4711 '20.00 EUR' --reason 'pays on departure'", "no open amount stops this check-in")
}

// Staff follow a check-in: they read who comes and when, refuse and clear the identity check, keep the signature, and end a device.
func TestCheckInOfAGuest(t *testing.T) {
	s, w := newWorld(t)
	s.ok("checkin settings --rule none --identity-check live --signature drawn --house-rules 'Quiet from 22:00.' --staff-email desk@example.com --desk-phone '+34 600 000 000'",
		"live", "drawn", "Quiet from 22:00.", "desk@example.com", "+34 600 000 000")
	s.ok("checkin settings --often PT,ES --invite-days 7 --remind-days 1 --kiosk-offline 20 --who-fills all", "PT, ES", "invite days", "7", "20 min", "all")
	s.fails(1, "checkin settings --kiosk-offline=-1 --invite-days 61", "--kiosk-offline", "--invite-days")
	s.fails(1, "checkin settings --mandatory shoes --often Portugal", "--mandatory", "--often")
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "confirmed", "R101", 2)
	s.fails(1, "checkin show 4712", "no reservation 4712")
	s.ok("checkin show 4711", "start")

	v := findStay(s, "4711", "Lovelace")
	s.ok("checkin guests 4711", v.id, "main", "missing name")
	s.fails(1, "checkin signature 4711 "+v.id, "signature")
	forms, api := guestv1.NewFormServiceClient(v.conn), guestv1.NewCheckInServiceClient(v.conn)
	_, err := forms.SaveStep(v.as, &guestv1.SaveStepRequest{GuestId: v.id, Step: "name", Answers: map[string]string{"firstName": "Ada", "lastName": "Lovelace"}})
	v.must(err)
	_, err = forms.SetArrival(v.as, &guestv1.SetArrivalRequest{Time: "22:15"})
	v.must(err)
	_, err = api.StartCheckIn(v.as, &guestv1.StartCheckInRequest{})
	v.must(err)
	_, err = api.ConfirmDetails(v.as, &guestv1.ConfirmDetailsRequest{})
	v.must(err)
	s.ok("checkin show 4711", "identityCheck", "22:15")
	s.ok("arrivals", "22:15")

	s.fails(2, "checkin clear 4711 passport", "identityCheck", "signature")
	s.ok("checkin clear Lovelace identityCheck --refuse 'another person'", "stopped", "refused (another person)")
	s.ok("checkin clear 4711 identityCheck", "stage", "signature", "cleared")
	v.sign()
	s.ok("checkin show 4711", "houseRules")
	s.ok("checkin guests 4711", "Ada Lovelace", "complete")
	s.ok("checkin guests 4711 --json", `"lastName"`, "Lovelace")

	s.ok("checkin signature 4711 "+v.id, "<svg", "M17 23L931 377")
	file := filepath.Join(t.TempDir(), "signature.svg")
	s.ok("checkin signature 4711 "+v.id+" --to "+file, "Wrote the signature of", file)
	if raw, err := os.ReadFile(file); err != nil || !strings.Contains(string(raw), "M17 23L931 377") {
		t.Errorf("the file has %q, %v", raw, err)
	}
	s.fails(1, "checkin signature 4711 "+v.id+" --to "+file, "exists")
	s.fails(1, "checkin signature 4711 gst_none", "guest")

	s.fails(1, "checkin end-call 4711", "no checkIn call")
	s.ok("checkin ask 4711", "houseRules")
	devices := s.json("checkin devices 4711")["data"].(map[string]any)["list"].([]any)
	session := devices[0].(map[string]any)["device"].(map[string]any)["id"].(string)
	s.ok("checkin devices 4711", session, "door")
	s.ok("checkin end-device 4711 "+session, "Ended "+session)
	s.ok("checkin devices 4711", "No device")
	if _, err := api.GetCheckIn(v.as, &guestv1.GetCheckInRequest{}); err == nil {
		t.Error("the session goes on after staff ended it")
	}
}
