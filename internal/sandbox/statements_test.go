package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/dbtest"
)

// statementsOf returns the statements that run for the pages of a request.
func statementsOf(t *testing.T, request func() error) []string {
	t.Helper()
	return dbtest.Statements(t, isForPage, func() {
		if err := request(); err != nil {
			t.Fatal(err)
		}
	})
}

// isForPage reports whether a statement runs for the request of a page: its context is that of an HTTP request, but not of a call of the PMS.
func isForPage(ctx context.Context) bool {
	call := chain.From(ctx)
	return ctx.Value(http.ServerContextKey) != nil && (call == nil || !strings.HasPrefix(call.Method, "/latchkey.partner."))
}

// rooms is the number of rooms of the large group.
const rooms = 40

// partySize is the number of guests of the large party.
const partySize = 39

// maxPageStatements bounds the statements of a page for a party of one guest.
const maxPageStatements = 17

// The bounds of the statements of the page of a search and the search: for one that finds a stay and begins a session, and for one that
// offers several stays.
const (
	maxFoundStatements   = 35
	maxOfferedStatements = 15
)

// maxMore bounds the statements that a page adds for the large party, of whatever size.
const maxMore = 3

// question is a placeholder for the path of the first question of a guest's form, which differs for each guest.
const question = "/form/question"

// The statements of a guest's page have a bound, which does not grow with the party or the group.
func TestStatementsOfAPage(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := build(t, Config{Play: true, Server: config.Config{Database: url}})
		bookParties(t, w)
		one, err := w.VisitByDoor(t.Context(), "S-1", "Lovelace")
		if err != nil {
			t.Fatal(err)
		}
		party, err := w.VisitByDoor(t.Context(), "S-2", "Lovelace")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []*Visitor{one, party} {
			if err := v.Form(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, page := range []string{"", question, "/form/check", "/checkin", "/people", "/form/share", "/form/rules", "/form/arrival"} {
			t.Run("stay"+page, func(t *testing.T) {
				count := func(v *Visitor, most int) int {
					below := page
					if page == question {
						below = v.Question
					}
					run := statementsOf(t, func() error { _, err := v.Open(t.Context(), below); return err })
					if len(run) == 0 || len(run) > most {
						t.Errorf("%d statements, want 1 to %d:\n%s", len(run), most, strings.Join(run, "\n"))
					}
					return len(run)
				}
				few := count(one, maxPageStatements)
				t.Logf("%d statements for one guest, %d for %d", few, count(party, few+maxMore), partySize)
			})
		}
	})
}

// The search of a stay runs as many statements for a group of many rooms as for a few: it offers the rooms, and begins no session.
func TestStatementsOfASearch(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := build(t, Config{Play: true, Server: config.Config{Database: url}})
		bookParties(t, w)
		door, _ := w.kiosk()
		search := func(number string) []string {
			return statementsOf(t, func() error {
				b, err := newBrowser()
				if err == nil {
					err = b.open(t.Context(), "http://"+w.Server.HTTPAddr()+"/q/"+door)
				}
				if err == nil {
					err = b.submit(t.Context(), map[string]string{"f-number": number, "f-name": "Lovelace"})
				}
				return err
			})
		}
		alone, group := search("S-1"), search("S-3")
		t.Logf("%d statements for one room, %d for a group of %d rooms", len(alone), len(group), rooms)
		if len(alone) > maxFoundStatements || len(group) > maxOfferedStatements {
			t.Errorf("%d statements for one room, %d for a group:\n%s", len(alone), len(group), strings.Join(group, "\n"))
		}
	})
}

// largeParties are the booking numbers of the stays with a large party.
var largeParties = []string{"S-2", "S-4", "S-5", "S-6"}

// bookParties books stays of today: S-1 for one guest, largeParties, and S-3 for a group of many rooms.
func bookParties(t *testing.T, w *World) {
	t.Helper()
	book := func(id, number string, adults, children int) {
		t.Helper()
		a, err := w.PMS.Push(t.Context(), id, map[string]any{
			"pmsNumber": number, "state": "confirmed", "booker": map[string]any{"lastName": "Lovelace"}, "adultCount": adults, "childCount": children,
			"roomId": "R101", "pmsMeta": map[string]any{"groupId": number},
			"fromDate": time.Now().Format(time.DateOnly), "toDate": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
		})
		if err != nil || a.Status != 200 {
			t.Fatal(err, a)
		}
	}
	book("one", "S-1", 1, 0)
	for _, number := range largeParties {
		book("party-"+number, number, 20, partySize-20)
	}
	for i := range rooms {
		book(fmt.Sprintf("group-%d", i), "S-3", 1, 0)
	}
}

// maxLastPress bounds the statements from the last press to the page with the PIN, without those of the PMS's change.
const maxLastPress = 60

// The last press does not read the stay before it acts, and its answer leads to the page with the PIN.
func TestStatementsOfTheLastPress(t *testing.T) {
	w := build(t, Config{Play: true})
	v, err := w.VisitByDoor(t.Context(), "2001", "okafor")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.AnswerName(t.Context(), "Ngozi", "Okafor"); err != nil {
		t.Fatal(err)
	}
	if err := v.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := statementsOf(t, func() error { _, err := v.b.press(t.Context()); return err })
	if len(run) == 0 || len(run) > maxLastPress {
		t.Errorf("%d statements, want 1 to %d:\n%s", len(run), maxLastPress, strings.Join(run, "\n"))
	}
	if pinOn(v.b.page) == "" {
		t.Errorf("the answer to the last press shows no PIN: %s", v.b.heading())
	}
}

// Each page and press of a check-in runs as many statements for a large party as for one guest: also the page on which the guest confirms
// all answers.
func TestStatementsOfACheckIn(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := build(t, Config{Play: true, Server: config.Config{Database: url}})
		lead := "lead"
		settings := &propertyv1.CheckInSettingsChange{WhoFills: &lead}
		if _, err := propertyv1.NewCheckInServiceClient(w.public).UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{Settings: settings}); err != nil {
			t.Fatal(err)
		}
		bookParties(t, w)
		// run returns the statements of each press up to the last, by what it does.
		run := func(number string) map[string][]string {
			v, err := w.VisitByDoor(t.Context(), number, "Lovelace")
			if err == nil {
				err = v.AnswerName(t.Context(), "Ada", "Lovelace")
			}
			if err == nil {
				_, err = v.Open(t.Context(), "/checkin")
			}
			if err != nil {
				t.Fatal(err)
			}
			presses := map[string][]string{}
			for v.next() != "complete" {
				does := v.next()
				if presses[does] != nil {
					t.Fatalf("the check-in stays at %s (%s)", v.b.at.Path, v.b.heading())
				}
				presses[does] = statementsOf(t, func() error { _, err := v.b.press(t.Context()); return err })
			}
			return presses
		}
		one, party := run("S-1"), run(largeParties[0])
		for _, number := range largeParties[1:] { // PostgreSQL may run a transaction twice, which says nothing about the party
			for does, statements := range run(number) {
				if len(statements) < len(party[does]) {
					party[does] = statements
				}
			}
		}
		if len(one["confirm"]) == 0 {
			t.Error("no guest confirmed the answers")
		}
		for does, statements := range one {
			few, many := len(statements), len(party[does])
			t.Logf("%s: %d statements for one guest, %d for %d", does, few, many, partySize)
			if many == 0 || many > few+maxMore {
				t.Errorf("%s: %d statements for one guest, %d for %d:\n%s", does, few, many, partySize, strings.Join(party[does], "\n"))
			}
		}
	})
}

// lateClock is the system clock plus an offset.
type lateClock struct{ offset atomic.Int64 }

func (c *lateClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// A page stores that the session was used, also if it reads the stay alone.
func TestPageMarksTheUseOfASession(t *testing.T) {
	clock := &lateClock{}
	w := build(t, Config{Play: true, Options: server.Options{Clock: clock}})
	v, err := w.VisitByDoor(t.Context(), "2001", "okafor")
	if err != nil {
		t.Fatal(err)
	}
	clock.offset.Store(int64(10 * time.Minute))
	run := statementsOf(t, func() error { _, err := v.Open(t.Context(), ""); return err })
	if !slices.ContainsFunc(run, func(q string) bool { return strings.HasPrefix(q, "UPDATE `guest_sessions`") }) {
		t.Errorf("no statement stores the use of the session:\n%s", strings.Join(run, "\n"))
	}
}
