package staff

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// days is an API with one row of a day and these numbers of all rows.
type days struct {
	house
	propertyv1.DayServiceClient
	propertyv1.KioskServiceClient
	counts *propertyv1.DayCounts
	asked  *propertyv1.ListDayRequest
}

func newDays(counts *propertyv1.DayCounts) *days {
	return &days{house: house{rights: []string{"readReservations"}}, counts: counts}
}

func (d *days) ListDay(_ context.Context, r *propertyv1.ListDayRequest, _ ...grpc.CallOption) (*propertyv1.ListDayResponse, error) {
	d.asked = r
	day := noon.Format(time.DateOnly)
	if r.GetDate() != "" {
		day = r.GetDate()
	}
	return &propertyv1.ListDayResponse{Data: &propertyv1.DayList{
		Date: day, Counts: d.counts, NextPageToken: "next", List: []*propertyv1.DayStay{{ReservationId: "rsv_1", State: "confirmed", Verdict: "ready"}},
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

func (d *days) ListKiosks(context.Context, *propertyv1.ListKiosksRequest, ...grpc.CallOption) (*propertyv1.ListKiosksResponse, error) {
	return &propertyv1.ListKiosksResponse{Data: &propertyv1.KioskList{List: []*propertyv1.Kiosk{
		{Name: "Lobby", State: "offline", SeenAt: timestamppb.New(noon)}, {Name: "Bar", State: "online"}, {Name: "Attic", State: "notEnrolled"},
	}}}, nil
}

// The page of today names the tablets that are offline, to people who may see tablets, and offers the keys that they may use.
func TestTodayFollowsTheRights(t *testing.T) {
	for _, c := range []struct {
		query, rights string
		want          []string // what the page has
		lacks         []string
	}{
		{"", "", []string{"topics=reservations\""}, []string{"offline", "data-row-keys"}},
		{"", "readProperty", []string{"topics=reservations,kiosks\"", "The tablet “Lobby” has been offline since <time"}, []string{"Bar", "Attic", "/app/settings/kiosks"}},
		{"", "readProperty readNotices manageSettings", []string{"topics=reservations,notices,kiosks\"", `href="/app/settings/kiosks">Tablets`}, []string{"Bar"}},
		{"?day=2031-01-01", "readProperty manageSettings", []string{"topics=reservations\""}, []string{"offline", `id="lead-kiosks"`}},
		{"?day=2031-01-01", "readProperty readNotices", []string{"topics=reservations,notices\""}, []string{"offline"}},
		{"", "readNotices", []string{"topics=reservations,notices\""}, []string{"offline"}},
		{"", "openDoors", []string{`data-row-keys="o"`}, nil},
		{"", "readGuests openDoors", []string{`data-row-keys="om"`}, nil},
	} {
		d := newDays(&propertyv1.DayCounts{Arrivals: 1, ArrivalsChecked: 1})
		d.rights = append(d.rights, strings.Fields(c.rights)...)
		body := serve(t, API{Sessions: d, Properties: d, Days: d, Kiosks: d}, "/app/today"+c.query, nil).Body.String()
		in := func(text string) bool { return strings.Contains(body, text) }
		if slices.ContainsFunc(c.lacks, in) || len(slices.DeleteFunc(slices.Clone(c.want), in)) > 0 {
			t.Errorf("%+v: %s", c, body)
		}
	}
}

// A guest whose doors are ready, but whose check-in is stopped or will be, does not get in without staff.
func TestReadyDoorsBehindAStop(t *testing.T) {
	for _, c := range []struct {
		needs   bool
		checkIn *propertyv1.DayCheckIn
		chip    string
		says    []string
	}{
		{false, &propertyv1.DayCheckIn{Stage: "start"}, "staff.verdict.ready", []string{"staff.stage.start", "staff.form.open"}},
		{true, &propertyv1.DayCheckIn{Stage: "notToday", Owing: "84.00", OwingCurrency: "EUR"}, "staff.verdict.staff", []string{"staff.stage.notToday", "staff.form.open"}},
		{true, &propertyv1.DayCheckIn{Stage: "stopped", Stops: []string{"owing"}, Owing: "84.00", OwingCurrency: "EUR"}, "staff.verdict.staff", []string{"staff.stop.owing"}},
		{true, &propertyv1.DayCheckIn{Stage: "signature"}, "staff.verdict.staff", []string{"staff.stage.signature"}},
	} {
		r := newDayRow("arrivals", &propertyv1.DayStay{State: "confirmed", Verdict: "ready", NeedsStaff: c.needs, CheckIn: c.checkIn})
		if r.Chip.Text != c.chip || !slices.Equal(r.CheckIn, c.says) || r.Waives != (c.checkIn.GetStage() == "stopped") || r.Owes != (c.checkIn.GetStage() == "notToday") {
			t.Errorf("%v: %+v", c.checkIn, r)
		}
		checkTexts(t, append(r.CheckIn, r.Chip.Text, "staff.owes")...)
	}
}
