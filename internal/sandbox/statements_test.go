package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/server"
)

// pageStatements records the statements that run for requests of pages, on the goroutine of the request.
type pageStatements struct {
	mu  sync.Mutex
	run []string
}

func watchPages(t *testing.T) *pageStatements {
	p := &pageStatements{}
	db.WatchStatements(func(query string) {
		if isForPage() {
			p.mu.Lock()
			p.run = append(p.run, query)
			p.mu.Unlock()
		}
	})
	t.Cleanup(func() { db.WatchStatements(func(string) {}) })
	return p
}

func isForPage() bool {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "latchkey.dev/internal/web.") {
			return true
		}
		if !more {
			return false
		}
	}
}

// of returns the statements of a request.
func (p *pageStatements) of(t *testing.T, request func() error) []string {
	t.Helper()
	p.mu.Lock()
	p.run = nil
	p.mu.Unlock()
	if err := request(); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// rooms is the number of rooms of the large group.
const rooms = 40

// partySize is the number of guests of the large party.
const partySize = 39

// maxPageStatements bounds the statements of a page for a party of one guest.
const maxPageStatements = 25

// perGuest bounds the statements that the page of all answers adds for each further guest: it makes a GetForm call for each, because the API
// has no call for the forms of a whole party. All other pages add none.
const perGuest = 6

// The statements of a guest's page have a bound. A larger party or group adds statements only to the two pages that are named.
func TestStatementsOfAPage(t *testing.T) {
	w := build(t, Config{Play: true})
	ctx := t.Context()
	book := func(id, number string, adults, children int) {
		t.Helper()
		a, err := w.PMS.Push(ctx, id, map[string]any{
			"pmsNumber": number, "state": "confirmed", "booker": map[string]any{"lastName": "Lovelace"}, "adultCount": adults, "childCount": children,
			"roomId": "R101", "pmsMeta": map[string]any{"groupId": number},
			"fromDate": time.Now().Format(time.DateOnly), "toDate": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
		})
		if err != nil || a.Status != 200 {
			t.Fatal(err, a)
		}
	}
	book("one", "S-1", 1, 0)
	book("party", "S-2", 20, partySize-20)
	for i := range rooms {
		book(fmt.Sprintf("group-%d", i), "S-3", 1, 0)
	}
	watched := watchPages(t)
	search := func(number string) func() error {
		return func() error {
			door, _ := w.kiosk()
			b, err := newBrowser()
			if err == nil {
				err = b.open(ctx, "http://"+w.Server.HTTPAddr()+"/q/"+door)
			}
			if err == nil {
				err = b.submit(ctx, map[string]string{"f-number": number, "f-name": "Lovelace"})
			}
			return err
		}
	}
	alone := len(watched.of(t, search("S-1")))
	inGroup := watched.of(t, search("S-3"))
	group := len(inGroup)
	t.Logf("search: %d statements for one room, %d for a group of %d rooms", alone, group, rooms)
	if most := alone + rooms/2; group > most { // the search reads the place of each stay that it offers
		t.Errorf("the search runs %d statements for a group of %d rooms, and %d for one room:\n%s", group, rooms, alone, strings.Join(inGroup, "\n"))
	}
	one, err := w.VisitByDoor(ctx, "S-1", "Lovelace")
	if err != nil {
		t.Fatal(err)
	}
	party, err := w.VisitByDoor(ctx, "S-2", "Lovelace")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"", "/form/check", "/checkin", "/people", "/form/share", "/form/rules", "/form/arrival"} {
		t.Run("stay"+page, func(t *testing.T) {
			count := func(v *Visitor, most int) int {
				run := watched.of(t, func() error { _, err := v.Open(ctx, page); return err })
				if len(run) == 0 || len(run) > most {
					t.Errorf("%d statements, want 1 to %d:\n%s", len(run), most, strings.Join(run, "\n"))
				}
				return len(run)
			}
			few := count(one, maxPageStatements)
			most := few
			if page == "/form/check" {
				most += perGuest * (partySize - 1)
			}
			t.Logf("%d statements for one guest, %d for %d", few, count(party, most), partySize)
		})
	}
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
	run := watchPages(t).of(t, func() error { _, err := v.Open(t.Context(), ""); return err })
	if !slices.ContainsFunc(run, func(q string) bool { return strings.HasPrefix(q, "UPDATE `guest_sessions`") }) {
		t.Errorf("no statement stores the use of the session:\n%s", strings.Join(run, "\n"))
	}
}
