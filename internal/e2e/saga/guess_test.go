package saga

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/test/dbtest"
)

// guesser searches with guessed facts, and kills the server again and again: after an answer, or together with a call.
type guesser struct {
	*world
	search func(ctx context.Context, number, name string) error
	tries  int
}

// guess sends tries until the server has been killed a number of times, and returns how many were compared.
func (g *guesser) guess(restarts int, facts func(try int) (number, name string)) (compared int) {
	g.t.Helper()
	for restart := range restarts {
		killed := make(chan struct{})
		for range 3 {
			number, name := facts(g.tries)
			g.tries++
			if g.tries%3 == 0 && restart%2 == 0 {
				go func() { g.server.Kill(); close(killed) }() // the kill meets the call anywhere on its way
			}
			switch err := g.search(g.t.Context(), number, name); status.Code(err) {
			case codes.NotFound:
				compared++
			case codes.ResourceExhausted, codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			default:
				g.t.Fatalf("try %d: %v", g.tries, err)
			}
		}
		if restart%2 == 1 {
			g.server.Kill()
		} else {
			<-killed
		}
		g.must(g.server.Start(g.t.Context()))
		g.must(program.Await(g.t.Context(), "the server answers", func() (bool, error) {
			_, err := guestv1.NewLinkServiceClient(g.Public).GetLink(g.t.Context(), &guestv1.GetLinkRequest{Link: "lkl_none"})
			return status.Code(err) == codes.NotFound, err
		}))
	}
	return compared
}

// A guesser does not get more tries by restarts of the server: the tries of an hour are sent at once, and the server is killed between and
// during them. The guest finds the booking meanwhile: on a phone after guesses at the tablet, and at the tablet after guesses from afar.
func TestGuessingOverRestarts(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			w := open(t, engine, 2)
			for i, number := range []string{"1001", "1002"} {
				w.must(w.book(t.Context(), &guest{number: number, room: roomID(i), id: "B-" + number, email: "b" + number + "@example.com"}))
			}
			tablet := e2etest.EnrolTabletAt(t, w.Public, w.asStaff(), "Lobby")
			atTablet := func(ctx context.Context, number, name string) error {
				_, err := tablet.Find(ctx, number, name)
				return err
			}
			atDoor := func(ctx context.Context, number, name string) error {
				_, err := guestv1.NewLinkServiceClient(w.Public).FindStay(ctx, &guestv1.FindStayRequest{Door: tablet.Door, Number: number, FamilyName: name})
				return err
			}
			oneBooking := func(try int) (number, name string) { return "1001", fmt.Sprintf("Smith%d", try) }
			manyBookings := func(try int) (number, name string) { return fmt.Sprint(5000 + try), "Smith" }
			limited := func(what string, err error) {
				t.Helper()
				if status.Code(err) != codes.ResourceExhausted {
					t.Errorf("%s: %v", what, err)
				}
			}

			lobby := &guesser{world: w, search: atTablet}
			if n := lobby.guess(4, oneBooking); n > 5 || n < 4 { // an answer may be lost by the kill
				t.Errorf("%d names were compared at the tablet", n)
			}
			limited("the right name at the tablet", atTablet(t.Context(), "1001", "Lovelace"))
			w.must(atTablet(t.Context(), "1002", "Lovelace"))
			w.must(atDoor(t.Context(), "1001", "Lovelace"))
			if n := lobby.guess(3, manyBookings); n > 5 || n < 4 { // five of the ten failures of the tablet are used
				t.Errorf("%d pairs were compared at the tablet", n)
			}
			limited("another booking at the tablet", atTablet(t.Context(), "1002", "Lovelace"))

			afar := &guesser{world: w, search: atDoor}
			if n := afar.guess(3, oneBooking); n > 5 || n < 4 {
				t.Errorf("%d names were compared at the QR code", n)
			}
			limited("the right name from the guesser's network", atDoor(t.Context(), "1001", "Lovelace"))
			w.must(atDoor(t.Context(), "1002", "Lovelace"))
		})
	}
}
