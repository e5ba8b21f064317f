package doors

import (
	"context"
	"slices"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

func TestTheWindowOfAStay(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		now := time.Now().UTC()
		instants := func(from, to time.Duration) map[string]any {
			return map[string]any{"from": now.Add(from).Format(time.RFC3339), "to": now.Add(to).Format(time.RFC3339), "fromDate": nil, "toDate": nil}
		}
		g := arrives(t, w, "S", room("R103"))
		g.settles("issued")
		pin := g.pin()

		// Over already.
		g.push(instants(-48*time.Hour, -time.Hour))
		if p := g.settles("removed"); !slices.Contains(p.reasons, "windowPast") {
			t.Errorf("over: %+v", p)
		}
		g.opens(pin)

		// A late-out of two hours opens it again.
		late, none := int32(120), int32(0)
		settings := propertyv1.NewPropertyServiceClient(w.Public)
		set := func(minutes *int32) {
			t.Helper()
			if _, err := settings.UpdateProperty(w.Staff(t.Context()), &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{LateOutMinutes: minutes}}); err != nil {
				t.Fatal(err)
			}
		}
		set(&late)
		p := g.settles("issued")
		if ends, err := time.Parse(time.RFC3339, p.to); err != nil || !ends.Equal(now.Add(time.Hour).Truncate(time.Second)) {
			t.Errorf("the window ends at %s; want two hours after the stay", p.to)
		}
		pin = g.pin()
		g.opens(pin, "Room 103", front)
		set(&none)
		g.settles("removed")
		g.opens(pin)

		// Before its first day a stay has no access, and staff are notified.
		g.push(instants(48*time.Hour, 96*time.Hour))
		w.Await("access is held back", func(context.Context) (bool, error) {
			p, _ := g.sees()
			return slices.Contains(p.reasons, "windowInFuture"), nil
		})
		notices, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(t.Context()), &propertyv1.ListNoticesRequest{})
		if err != nil || len(notices.GetData().GetList()) == 0 {
			t.Errorf("staff are not notified: %v %v", notices, err)
		}
		if _, pin := g.sees(); pin != "" {
			g.opens(pin)
		}

		// The booked day is now after all.
		g.push(instants(-time.Hour, 96*time.Hour))
		g.settles("issued")
		g.opens(g.pin(), "Room 103", front)
	})
}

func TestAnEarlyCheckInOpensAtOnce(t *testing.T) {
	w := e2etest.Open(t)
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	here := time.Now().In(zone)
	// The end of today, so that the booked hour is still to come whenever this runs.
	booked := time.Date(here.Year(), here.Month(), here.Day(), 23, 59, 59, 0, zone)
	g := arrives(t, w, "EARLY", map[string]any{"roomId": "R101", "fromDate": nil, "from": booked.Format(time.RFC3339)})
	g.settles("issued")
	g.opens(g.pin(), "Room 101", front)
}
