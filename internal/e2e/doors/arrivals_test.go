package doors

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/proxytest"
)

// often has what time alone brings looked for many times a second.
func often(c *sandbox.Config) { c.Options.SweepsEvery = 50 * time.Millisecond }

// ahead is a clock that runs ahead of the system's by a given time.
type ahead struct{ by atomic.Int64 }

func (a *ahead) Now() time.Time { return time.Now().Add(time.Duration(a.by.Load())).UTC() }

func (a *ahead) pass(d time.Duration) { a.by.Add(int64(d)) }

// expects makes a reservation whose guest comes after some time, and gives its id.
func expects(t *testing.T, w *e2etest.World, id string, in time.Duration, fields map[string]any) string {
	t.Helper()
	from := time.Now().Add(in)
	all := map[string]any{"state": "confirmed", "fromDate": nil, "from": from.Format(time.RFC3339)}
	for k, v := range fields {
		all[k] = v
	}
	return e2etest.PushReservation(t, w, id, all).Data()["id"].(string)
}

// arrival finds an arrival in the list of its day; nil: it is not there.
func arrival(t *testing.T, w *e2etest.World, id string, in time.Duration) *propertyv1.Arrival {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now().Add(in).In(zone)
	client := propertyv1.NewReservationServiceClient(w.Public)
	for _, on := range []time.Time{from, from.AddDate(0, 0, -1)} { // midnight may have passed since
		for token := ""; ; {
			r, err := client.ListArrivals(w.Staff(t.Context()), &propertyv1.ListArrivalsRequest{Date: on.Format(time.DateOnly), PageSize: 2, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range r.GetData().GetList() {
				if a.GetReservationId() == id {
					return a
				}
			}
			if token = r.GetData().GetNextPageToken(); token == "" {
				break
			}
		}
	}
	return nil
}

// openNotices are the kinds of the open notices about a subject.
func openNotices(t *testing.T, w *e2etest.World, subject string) (kinds []string) {
	t.Helper()
	r, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(t.Context()), &propertyv1.ListNoticesRequest{PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range r.GetData().GetList() {
		if n.GetSubject() == subject && n.GetStands() {
			kinds = append(kinds, n.GetKind())
		}
	}
	return kinds
}

func TestArrivalBecomesUnreadyAndReadyAgain(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		t.Parallel()
		p, clock := proxytest.New(t), &ahead{}
		w := e2etest.Open(t, often, e2etest.Database(url), func(c *sandbox.Config) {
			c.RouteBridge, c.MaxBridgeRetry, c.Options.Clock = p.SetTarget, 20*time.Millisecond, clock
		})
		const (
			in    = 50 * time.Minute
			again = 10 * time.Second // after which an unready arrival is checked again
		)
		id := expects(t, w, "SOON", in, room("R101"))
		is := func(verdict string, reasons, notices []string) {
			t.Helper()
			w.Await("the arrival is "+verdict, func(context.Context) (bool, error) {
				a, open := arrival(t, w, id, in), openNotices(t, w, id)
				var why []string
				for _, f := range a.GetFixes() {
					why = append(why, f.GetReason()+" "+f.GetDoorName())
				}
				ok := a.GetVerdict() == verdict && slices.Equal(why, reasons) && slices.Equal(open, notices) && a.GetLookedAtMinutes() == 120
				return ok, fmt.Errorf("%v, open notices %v", a, open)
			})
		}
		// The virtual locks have no lockout.
		guessable := []string{"guessable Room 101", "guessable Front door"}
		is("ready", guessable, nil)
		p.Refuse()
		is("notReady", append([]string{"bridgeOffline Room 101", "bridgeOffline Front door"}, guessable...), []string{"arrivalNotReady"})
		p.EndFaults()
		online(w, "online")
		clock.pass(again)
		is("ready", guessable, nil)
		// The PMS moves the guest to a room that is not mapped yet.
		e2etest.PushReservation(t, w, "SOON", map[string]any{"state": "confirmed", "roomId": "R404", "fromDate": nil, "from": time.Now().Add(in).Format(time.RFC3339)})
		is("notReady", []string{"spaceUnknown "}, []string{"arrivalNotReady"})
		e2etest.PushReservation(t, w, "SOON", map[string]any{"state": "canceled", "fromDate": nil, "from": time.Now().Add(in).Format(time.RFC3339)})
		clock.pass(again)
		w.Await("there is no arrival", func(context.Context) (bool, error) {
			open := openNotices(t, w, id)
			return arrival(t, w, id, in) == nil && len(open) == 0, fmt.Errorf("open notices %v", open)
		})
	})
}

func TestArrivalsAreCheckedThreeTimes(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, often)
	for in, minutes := range map[time.Duration]int32{30 * time.Hour: 0, 20 * time.Hour: 1440, 110 * time.Minute: 120, 14 * time.Minute: 15} {
		id := expects(t, w, in.String(), in, room("R102"))
		w.Await("the arrival is checked", func(context.Context) (bool, error) {
			a := arrival(t, w, id, in)
			return a != nil && a.GetLookedAtMinutes() == minutes && a.GetVerdict() == "ready" && slices.Contains(a.GetDoors(), "Room 102"), fmt.Errorf("in %v: %v", in, a)
		})
	}
	const in = 20 * time.Hour
	id := expects(t, w, "NOWHERE", in, nil)
	w.Await("the missing room is reported", func(context.Context) (bool, error) {
		a, open := arrival(t, w, id, in), openNotices(t, w, id)
		return a.GetVerdict() == "atRisk" && slices.Equal(open, []string{"arrivalAtRisk"}), fmt.Errorf("%v, open notices %v", a, open)
	})
	e2etest.PushReservation(t, w, "NOWHERE", map[string]any{"state": "confirmed", "roomId": "R103", "fromDate": nil, "from": time.Now().Add(in).Format(time.RFC3339)})
	w.Await("the arrival is ready", func(context.Context) (bool, error) {
		a, open := arrival(t, w, id, in), openNotices(t, w, id)
		return a.GetVerdict() == "ready" && len(open) == 0, fmt.Errorf("%v, open notices %v", a, open)
	})
}
