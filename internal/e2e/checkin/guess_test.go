package checkin

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// A mail scanner opens every link, any number of times. The guest's device is bound afterwards all the same.
func TestMailScanner(t *testing.T) {
	w := open(t)
	link := w.book("B-1", "1001", "R101")
	api := guestv1.NewLinkServiceClient(w.Public)
	for range 20 {
		got, err := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: link})
		if err != nil || got.GetData().GetBound() || got.GetData().GetInitial() != "A" {
			t.Fatalf("the scanner reads %v, %v", got, err)
		}
	}
	w.bind(link)
	got, err := api.GetLink(t.Context(), &guestv1.GetLinkRequest{Link: link})
	if err != nil || !got.GetData().GetBound() {
		t.Errorf("a bound link reads %v, %v", got, err)
	}
}

// The copied cookie of a tablet finds no stay: another key does not sign, and a signed challenge works once.
func TestCopiedTabletCookie(t *testing.T) {
	w := open(t)
	w.book("B-1", "1001", "R101")
	tablet, thief := e2etest.EnrolTablet(t, w.World, "Lobby 2"), e2etest.EnrolTablet(t, w.World, "Lobby 3")
	api := kioskv1.NewKioskServiceClient(w.Public)
	find := func(by *e2etest.Tablet, challenge string) error {
		signature, err := by.Sign(challenge)
		w.must(err)
		_, err = api.FindStay(tablet.As(t.Context()), &kioskv1.FindStayRequest{Number: "1001", FamilyName: "Lovelace", Challenge: challenge, Signature: signature})
		return err
	}
	start, err := api.GetKiosk(tablet.As(t.Context()), &kioskv1.GetKioskRequest{})
	w.must(err)
	challenge := start.GetData().GetChallenge()
	if err := find(thief, challenge); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the cookie with another key: %v", err)
	}
	w.must(find(tablet, challenge))
	if err := find(tablet, challenge); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a replay: %v", err)
	}
}

// A guesser at the QR code is limited, says the answer for how long, and neither the tablet nor another booking is.
func TestGuesserAtTheDoor(t *testing.T) {
	w := open(t)
	w.book("B-1", "1001", "R101")
	w.book("B-2", "1002", "R102")
	tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
	find := func(number, name string) error {
		_, err := guestv1.NewLinkServiceClient(w.Public).FindStay(t.Context(), &guestv1.FindStayRequest{Door: tablet.Door, Number: number, FamilyName: name})
		return err
	}
	unknown := find("9999", "Smith")
	for i := range 5 {
		wrong := find("1001", fmt.Sprintf("Smith%d", i))
		if status.Code(wrong) != codes.NotFound || status.Convert(wrong).Message() != status.Convert(unknown).Message() {
			t.Errorf("a wrong name answers %v, an unknown number %v", wrong, unknown)
		}
	}
	limited := find("1001", "Lovelace")
	if status.Code(limited) != codes.ResourceExhausted || !strings.Contains(status.Convert(limited).Message(), "try again in 15 minutes, or go to the desk") {
		t.Errorf("the right name after five guesses: %v", limited)
	}
	w.must(find("1002", "Lovelace"))
	if tablet.GuestSession(t, "1001", "Lovelace") == "" {
		t.Error("the tablet finds no stay")
	}
}
