package checkin

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// A guest in house reads until when the code works: the end of the stay, and after staff extended the access, that time.
func TestAccessUntil(t *testing.T) {
	t.Parallel()
	w := open(t)
	g := w.bind(w.book("B-1", "1001", "R101"))
	stay := func() *guestv1.Stay {
		t.Helper()
		out, err := guestv1.NewStayServiceClient(w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
		w.must(err)
		return out.GetData()
	}
	if until := stay().GetAccessUntil(); until != nil {
		t.Errorf("before the check-in the access ends at %v", until.AsTime())
	}
	_, err := w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "started"})
	w.must(err)
	g.awaits("checkedIn")
	s := stay()
	if !s.GetAccessUntil().AsTime().Equal(s.GetTo().AsTime()) {
		t.Errorf("the access ends at %v, the stay at %v", s.GetAccessUntil().AsTime(), s.GetTo().AsTime())
	}
	until := s.GetTo().AsTime().Add(3 * time.Hour)
	_, err = propertyv1.NewReservationServiceClient(w.Public).ExtendAccess(w.Staff(t.Context()), &propertyv1.ExtendAccessRequest{Id: g.stay, Until: timestamppb.New(until), Reason: "late flight"})
	w.must(err)
	if got := stay().GetAccessUntil().AsTime(); !got.Equal(until) {
		t.Errorf("after the extension the access ends at %v, want %v", got, until)
	}
}
