package staff

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// days is an API with one row of a day and these numbers of all rows.
type days struct {
	house
	propertyv1.DayServiceClient
	counts *propertyv1.DayCounts
	asked  *propertyv1.ListDayRequest
}

func newDays(counts *propertyv1.DayCounts) *days {
	return &days{house: house{rights: []string{"readReservations", "openDoors", "readLocks"}}, counts: counts}
}

func (d *days) ListDay(_ context.Context, r *propertyv1.ListDayRequest, _ ...grpc.CallOption) (*propertyv1.ListDayResponse, error) {
	d.asked = r
	return &propertyv1.ListDayResponse{Data: &propertyv1.DayList{
		Date: "2026-11-21", Counts: d.counts, NextPageToken: "next", List: []*propertyv1.DayStay{{ReservationId: "rsv_1", State: "confirmed", Verdict: "ready"}},
	}}, nil
}

// The line above the arrivals is about all of the day, although the page shows only some of them, and says how many were not checked.
func TestSummaryOfTheDay(t *testing.T) {
	const only, all = `href="/app/today?day=2026-11-21&amp;tab=arrivals&amp;need=staff"`, `href="/app/today?day=2026-11-21&amp;tab=arrivals">Show all arrivals`
	for _, c := range []struct {
		query               string
		all, need, checked  int32
		says, links, nowise string
	}{
		{"", 300, 3, 300, "Of 300 arrivals, 3 need you.", only, "not checked"},
		{"", 300, 0, 300, "Every guest will get in.", "", "need=staff"},
		{"", 300, 3, 280, "Of 300 arrivals, 3 need you. 20 arrivals were not checked", only, all},
		{"", 300, 0, 299, "No problem is known for the checked arrivals. 1 arrival was not checked", "", "Every guest"},
		{"", 0, 0, 0, "", "", "Every guest"},
		{"&need=staff", 300, 3, 300, "Of 300 arrivals, 3 need you.", all, "Show only"},
		{"&tab=house", 300, 3, 300, "", "", "need you"},
	} {
		d := newDays(&propertyv1.DayCounts{Arrivals: c.all, ArrivalsNeedStaff: c.need, ArrivalsChecked: c.checked})
		body := serve(t, API{Sessions: d, Properties: d, Days: d}, "/app/today?day=2026-11-21"+c.query, nil).Body.String()
		if !strings.Contains(body, c.says) || !strings.Contains(body, c.links) || strings.Contains(body, c.nowise) {
			t.Errorf("%+v: %s", c, body)
		}
		if d.asked.GetNeedsStaffOnly() != (c.query == "&need=staff") {
			t.Errorf("%q asks for %v", c.query, d.asked)
		}
	}
}
