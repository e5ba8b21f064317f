package checkin

import (
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
