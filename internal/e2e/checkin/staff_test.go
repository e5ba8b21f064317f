package checkin

import (
	"net/http"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// staffView returns the check-in of the guest's stay as staff see it.
func (g *guest) staffView() *propertyv1.StaffCheckIn {
	g.w.t.Helper()
	shown, err := propertyv1.NewCheckInServiceClient(g.w.Public).GetCheckIn(g.w.Staff(g.w.t.Context()), &propertyv1.GetCheckInRequest{ReservationId: g.stay})
	g.w.must(err)
	return shown.GetData()
}

// Staff read when the guest comes, and that the house rules were accepted.
func TestStaffReadArrivalAndHouseRules(t *testing.T) {
	w := open(t)
	g := w.bind(w.book("B-1", "1001", "R101"))
	if before := g.staffView(); before.GetArrivalTime() != "" || before.GetHouseRulesAcceptedAt() != nil {
		t.Errorf("before: arrival %q, house rules %v", before.GetArrivalTime(), before.GetHouseRulesAcceptedAt())
	}
	forms := guestv1.NewFormServiceClient(w.Public)
	_, err := forms.SetArrival(g.as, &guestv1.SetArrivalRequest{Time: "22:00"})
	w.must(err)
	_, err = forms.AcceptHouseRules(g.as, &guestv1.AcceptHouseRulesRequest{})
	w.must(err)
	if after := g.staffView(); after.GetArrivalTime() != "22:00" || after.GetHouseRulesAcceptedAt() == nil {
		t.Errorf("after: arrival %q, house rules %v", after.GetArrivalTime(), after.GetHouseRulesAcceptedAt())
	}
	arrivals, err := propertyv1.NewReservationServiceClient(w.Public).ListArrivals(w.Staff(t.Context()), &propertyv1.ListArrivalsRequest{})
	w.must(err)
	for _, a := range arrivals.GetData().GetList() {
		if is := a.GetArrivalTime(); (a.GetReservationId() == g.stay) != (is == "22:00") {
			t.Errorf("booking %s arrives at %q", a.GetPmsNumber(), is)
		}
	}
}

// Staff read at an open amount how much is owed, what the settings allow, and the booking's number.
func TestStaffReadWhyAnAmountStops(t *testing.T) {
	for _, c := range []struct {
		policy        string
		threshold     int
		limit, notice string
	}{
		{"block", 0, "0.00", "more than 0.00 EUR stops"},
		{"threshold", 2000, "20.00", "more than 20.00 EUR stops"},
	} {
		t.Run(c.policy, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			o, err := w.Do(t.Context(), w.Owner(), http.MethodPatch, "/v1/property", map[string]any{"settings": map[string]any{"owingPolicy": c.policy, "owingThresholdMinor": c.threshold}})
			if err != nil || !o.OK() {
				t.Fatal(o, err)
			}
			g := w.bind(w.book("B-1", "1001", "R101"))
			_, err = w.PMS.SetOwing(t.Context(), "B-1", 84)
			w.must(err)
			g.press(false)
			shown := g.staffView()
			if len(shown.GetStops()) != 1 {
				t.Fatalf("stops: %v", shown.GetStops())
			}
			stop := shown.GetStops()[0]
			if shown.GetOwing() != "84.00" || stop.GetOwingPolicy() != c.policy || stop.GetOwingLimit() != c.limit {
				t.Errorf("owing %s, policy %s, limit %s", shown.GetOwing(), stop.GetOwingPolicy(), stop.GetOwingLimit())
			}
			if p := stop.GetParameters().AsMap(); p["number"] != "1001" || p["amount"] != "84.00 EUR" {
				t.Errorf("parameters %v", p)
			}
			for _, part := range []string{"booking 1001", "84.00 EUR is owed", c.notice} {
				if !strings.Contains(stop.GetText(), part) {
					t.Errorf("staff do not read %q: %s", part, stop.GetText())
				}
			}
		})
	}
}
