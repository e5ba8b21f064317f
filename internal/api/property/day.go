package property

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/readiness"
)

// Days implements DayService: a day at the front desk.
type Days struct {
	propertyv1.UnimplementedDayServiceServer
	Deps
	CheckIns *checkin.Service
}

// ListDay returns one page of the arrivals, the guests in house or the departures of a day, with the counts of all three lists. The
// defaults are today and the arrivals.
func (s *Days) ListDay(ctx context.Context, r *propertyv1.ListDayRequest) (answer *propertyv1.ListDayResponse, err error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	q := reservation.DayQuery{
		Day: r.GetDate(), Tab: reservation.Tab(cmp.Or(r.GetTab(), string(reservation.Arrivals))), Size: cmp.Or(int(r.GetPageSize()), defaultPage), Token: r.GetPageToken(),
	}
	err = s.DB.ViewShared(ctx, func(view *db.Tx) error {
		list, err := s.listDay(view, propertyID, q, r.GetNeedsStaffOnly())
		answer = &propertyv1.ListDayResponse{Data: list}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// CountArrivals counts the arrivals of a day in each space, and those whose space is not known. The number of counted arrivals is limited:
// see [reservation.CountArrivals].
func (s *Days) CountArrivals(ctx context.Context, r *propertyv1.CountArrivalsRequest) (*propertyv1.CountArrivalsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := property.Get(view, propertyID)
	if err != nil {
		return nil, err
	}
	counts, date, err := reservation.CountArrivals(view, row, r.GetDate())
	if err != nil {
		return nil, err
	}
	out := &propertyv1.ArrivalCounts{Date: date, WithoutSpace: int32(counts[""])}
	for _, spaceID := range slices.Sorted(maps.Keys(counts)) {
		if spaceID != "" {
			out.List = append(out.List, &propertyv1.SpaceArrivals{SpaceId: spaceID, Arrivals: int32(counts[spaceID])})
		}
	}
	return &propertyv1.CountArrivalsResponse{Data: out}, nil
}

// listDay returns the page of the list that q selects, with the counts of all three lists and, for arrivals, how many of the checked ones
// need staff: see findNeedingStaff. If needy is true, it lists only the arrivals found to need staff; it has no effect on the other lists.
func (s *Days) listDay(view *db.Tx, propertyID string, q reservation.DayQuery, needy bool) (*propertyv1.DayList, error) {
	svc := reservation.Service{Keys: s.Keys}
	row, err := property.Get(view, propertyID)
	if err != nil {
		return nil, err
	}
	var a attention
	if needy = needy && q.Tab == reservation.Arrivals; needy {
		// The first page of all arrivals checks up to q.Size listed ones and attentionJudged more; this finds the same ones.
		if a, err = s.findNeedingStaff(view, row, q.Day, nil, attentionJudged+q.Size); err != nil {
			return nil, err
		}
		q.Only = append([]string{}, a.needy...) // an empty list, not nil, selects nothing
	}
	stays, next, err := readiness.List(view, svc, row, q)
	if err != nil {
		return nil, err
	}
	rows := make([]*reservation.Row, len(stays))
	for i, stay := range stays {
		rows[i] = stay.Row
	}
	briefs, err := s.CheckIns.Briefs(view, row, rows)
	if err != nil {
		return nil, err
	}
	counts, err := reservation.CountDay(view, row, q.Day)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.DayList{Date: counts.Day, NextPageToken: next}
	for i, stay := range stays {
		booker, err := svc.Booker(view.Context(), stay.Row)
		if err != nil {
			return nil, err
		}
		list.List = append(list.List, dayStay(stay, booker, briefs[i], q.Tab, chain.Reader(view.Context())))
	}
	if q.Tab == reservation.Arrivals && !needy {
		if a, err = s.findNeedingStaff(view, row, q.Day, list.GetList(), attentionJudged); err != nil {
			return nil, err
		}
	}
	list.Counts = &propertyv1.DayCounts{
		Arrivals: int32(counts.Arrivals), ArrivalsLeft: int32(counts.ArrivalsLeft), ArrivalsNeedStaff: int32(len(a.needy)), ArrivalsChecked: int32(a.checked),
		InHouse: int32(counts.InHouse), Departures: int32(counts.Departures), DeparturesLeft: int32(counts.DeparturesLeft),
	}
	return list, nil
}

// dayStay converts a row of the list that tab names: a stay, its booker and its check-in. Except for departures, it adds whether the doors
// are ready.
func dayStay(a readiness.Arrival, booker reservation.Booker, b checkin.Brief, tab reservation.Tab, to message.Reader) *propertyv1.DayStay {
	out := &propertyv1.DayStay{
		ReservationId: a.Row.ID, PmsNumber: a.Row.PmsNumber, GuestName: strings.TrimSpace(convert.OrEmpty(booker.FirstName) + " " + booker.LastName),
		SpaceName: convert.TextOrNil(cmp.Or(a.Space, a.Row.SpaceKey)), ParentSpaceName: convert.TextOrNil(a.ParentSpace), State: a.Row.State, From: timestamppb.New(a.Row.FromAt), To: timestamppb.New(a.Row.ToAt),
		CheckIn: &propertyv1.DayCheckIn{Stage: string(b.Stage), FormComplete: b.FormComplete, ArrivalTime: b.ArrivalTime, BeganAt: clock.Timestamp(b.BeganAt)},
	}
	for _, d := range a.Plan.Doors {
		out.Doors, out.DoorParentNames = append(out.Doors, d.Name), append(out.DoorParentNames, d.Parent)
	}
	for _, stop := range b.Stops {
		out.CheckIn.Stops = append(out.CheckIn.Stops, string(stop))
	}
	if b.Owing != nil {
		out.CheckIn.Owing, out.CheckIn.OwingCurrency = b.Owing.Number(), b.Owing.Currency
	}
	if tab != reservation.Departures {
		out.Verdict, out.Fixes = string(a.Status), arrivalFixes(a.Fixes, to)
	}
	out.NeedsStaff = needsStaff(access.State(a.Row.State), readiness.Status(out.GetVerdict()), b)
	return out
}
