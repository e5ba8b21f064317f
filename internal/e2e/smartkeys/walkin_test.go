package smartkeys

import (
	"context"
	"regexp"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/smartkey"
)

var linkSecret = regexp.MustCompile(`/g/l/([A-Za-z0-9_-]+)`)

// keyMailTo waits for the mail with the code to an address, and returns the secret of its link.
func keyMailTo(t *testing.T, w *e2etest.World, address string) (secret string) {
	t.Helper()
	mails := propertyv1.NewMailServiceClient(w.Public)
	w.Await("the mail with the code to "+address, func(ctx context.Context) (bool, error) {
		listed, err := mails.ListMails(w.Staff(ctx), &propertyv1.ListMailsRequest{PageSize: 200})
		for _, m := range listed.GetData().GetList() {
			read, err := mails.GetMail(w.Staff(ctx), &propertyv1.GetMailRequest{Id: m.GetId()})
			if err != nil {
				return false, err
			}
			if found := linkSecret.FindStringSubmatch(read.GetText().GetText()); found != nil && read.GetText().GetTo() == address && m.GetKind() == "key" {
				secret = found[1]
			}
		}
		return secret != "", err
	})
	return secret
}

// A guest whom the PMS checked in at the desk, without any invitation, opens the link of the mail with the code, reads the PIN and opens
// the door with a SmartKey. The link of a former address does nothing.
func TestWalkInGetsTheStayAndTheSmartKey(t *testing.T) {
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Play = true })
	links, stays := guestv1.NewLinkServiceClient(w.Public), guestv1.NewStayServiceClient(w.Public)
	walkIn := func(email string) {
		stay(t, w, "W", map[string]any{"state": "started", "roomId": "R101", "booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": email}})
	}
	walkIn("former@example.com")
	former := keyMailTo(t, w, "former@example.com")
	formerDevice, err := links.BindLink(t.Context(), &guestv1.BindLinkRequest{Link: former})
	if err != nil {
		t.Fatal(err)
	}
	walkIn("ada@example.com")
	if _, err := links.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: former}); err == nil {
		t.Error("the link of the former address works")
	}
	if _, err := stays.GetStay(e2etest.AsGuest(t.Context(), formerDevice.GetData().GetToken()), &guestv1.GetStayRequest{}); err == nil {
		t.Error("the device of the former address still reads the stay")
	}

	bound, err := links.BindLink(t.Context(), &guestv1.BindLinkRequest{Link: keyMailTo(t, w, "ada@example.com")})
	if err != nil {
		t.Fatal(err)
	}
	as := e2etest.AsGuest(t.Context(), bound.GetData().GetToken())
	shown, err := stays.RevealPin(as, &guestv1.RevealPinRequest{})
	if err != nil || shown.GetData().GetPin() == "" {
		t.Fatalf("no PIN: %v", err)
	}
	enrolment, err := stays.CreateSmartKeyLink(as, &guestv1.CreateSmartKeyLinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	p := newPhone(t, w)
	p.enrol(enrolment.GetLink())
	p.wants("open", p.use(p.door("Room 101"), smartkey.Unlock), smartkey.OK, "opened")
}
