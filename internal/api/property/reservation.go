package property

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/explain"
	"latchkey.dev/internal/reservation/readiness"
)

type reservations struct {
	propertyv1.UnimplementedReservationServiceServer
	Deps
}

func (s *reservations) reservations() reservation.Service { return reservation.Service{Keys: s.Keys} }

// ExplainReservation explains for each door of a reservation why it opens or does not open.
func (s *reservations) ExplainReservation(ctx context.Context, r *propertyv1.ExplainReservationRequest) (*propertyv1.ExplainReservationResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	e, err := explain.Of(s.DB.View(ctx), s.reservations(), reservation.Scope{PropertyID: propertyID}, r.GetId())
	if err != nil {
		return nil, err
	}
	return &propertyv1.ExplainReservationResponse{Data: convert.Explanation(e, chain.Reader(ctx))}, nil
}

// ListReservations lists a page of reservations, or searches them by number, id or the booker's name, the latest arrival first. With a
// query or a space, a page can be short or empty although there is a next one. A search for one id also returns the booker's contact to a
// caller who may read guests.
func (s *reservations) ListReservations(ctx context.Context, r *propertyv1.ListReservationsRequest) (*propertyv1.ListReservationsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	q := reservation.Search{
		Text: r.GetQuery(), IDs: r.GetIds(), State: r.GetState(), SpaceID: r.GetSpaceId(), Day: r.GetDate(), Size: int(r.GetPageSize()), Token: r.GetPageToken(),
	}
	if q.Size == 0 {
		q.Size = defaultPage
	}
	found, next, err := s.reservations().Search(s.DB.View(ctx), propertyID, q)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.Row.ID
	}
	erasures, err := guest.PendingErasures(s.DB.View(ctx), propertyID, ids)
	if err != nil {
		return nil, err
	}
	integrations, err := integrationNames(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.ReservationList{NextPageToken: next}
	for _, f := range found {
		m := staffReservation(f)
		m.IntegrationName, m.ErasureRequestedAt = integrations[f.Row.IntegrationID], clock.Timestamp(erasures[f.Row.ID])
		// The page of one stay needs the contact. A list has none, so that a search is no export of addresses.
		if len(r.GetIds()) == 1 && mayReadGuests(ctx) {
			m.Email, m.Mobile = f.Booker.Email, f.Booker.Mobile
		}
		list.List = append(list.List, m)
	}
	return &propertyv1.ListReservationsResponse{Data: list}, nil
}

// staffReservation converts a reservation with the facts of the PMS. It leaves out the contact of the booker. Without a known space, its
// space name is the PMS's key of the space.
func staffReservation(f reservation.Found) *propertyv1.Reservation {
	name, spaceID := f.Row.SpaceKey, ""
	if f.Space != nil {
		spaceID, name = f.Space.ID, f.Space.Name
	}
	m := &propertyv1.Reservation{
		SpaceId: convert.TextOrNil(spaceID), SpaceName: convert.TextOrNil(name), ParentSpaceName: convert.TextOrNil(f.Parent), Id: f.Row.ID, IntegrationId: f.Row.IntegrationID, PmsId: f.Row.PmsID, PmsNumber: f.Row.PmsNumber, State: f.Row.State,
		FirstName: f.Booker.FirstName, LastName: f.Booker.LastName, From: timestamppb.New(f.Row.FromAt), To: timestamppb.New(f.Row.ToAt), ErasedAt: convert.OptionalTime(f.Row.ErasedAt),
		AdultCount: convert.Int32(f.Row.AdultCount), ChildCount: convert.Int32(f.Row.ChildCount),
		PmsGroupId: f.Row.PmsGroupID, SourceName: f.Row.SourceName, ChannelNumber: f.Row.ChannelNumber,
	}
	if f.Row.OwingMinor != nil && f.Row.OwingCurrency != nil {
		amount := money.Amount{Minor: *f.Row.OwingMinor, Currency: *f.Row.OwingCurrency}.Number()
		m.Owing, m.OwingCurrency = &amount, f.Row.OwingCurrency
	}
	return m
}

// integrationNames returns the names of the integrations of a property, by id.
func integrationNames(view *db.Tx, propertyID string) (map[string]string, error) {
	rows, err := partner.Integrations(view, propertyID)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, nil
}

// ListArrivals lists a page of the arrivals of a day, or of today, each with whether its doors are ready. Within the page, the worst are
// first.
func (s *reservations) ListArrivals(ctx context.Context, r *propertyv1.ListArrivalsRequest) (*propertyv1.ListArrivalsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := property.Get(view, propertyID)
	if err != nil {
		return nil, err
	}
	q := reservation.DayQuery{Day: r.GetDate(), Tab: reservation.Arrivals, Size: cmp.Or(int(r.GetPageSize()), defaultPage), Token: r.GetPageToken()}
	arrivals, next, err := readiness.List(view, s.reservations(), row, q)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(arrivals))
	for i, a := range arrivals {
		ids[i] = a.Row.ID
	}
	hours, err := guest.ArrivalTimes(s.DB.View(ctx), propertyID, ids)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.ArrivalList{NextPageToken: next}
	slices.SortStableFunc(arrivals, func(a, b readiness.Arrival) int { return b.Status.Rank() - a.Status.Rank() })
	for _, a := range arrivals {
		booker, err := s.reservations().Booker(ctx, a.Row)
		if err != nil {
			return nil, err
		}
		m := arrivalMessage(a, booker, chain.Reader(ctx))
		m.ArrivalTime = convert.TextOrNil(hours[a.Row.ID])
		list.List = append(list.List, m)
	}
	return &propertyv1.ListArrivalsResponse{Data: list}, nil
}

// arrivalMessage converts an arrival with whether its doors are ready and what must be fixed. The texts are in the reader's language.
func arrivalMessage(a readiness.Arrival, b reservation.Booker, to message.Reader) *propertyv1.Arrival {
	out := &propertyv1.Arrival{
		ReservationId: a.Row.ID, PmsNumber: a.Row.PmsNumber, State: a.Row.State, From: timestamppb.New(a.Row.FromAt), Verdict: string(a.Status),
	}
	out.GuestName = strings.TrimSpace(convert.OrEmpty(b.FirstName) + " " + b.LastName)
	out.SpaceName, out.ParentSpaceName = convert.TextOrNil(cmp.Or(a.Space, a.Row.SpaceKey)), convert.TextOrNil(a.ParentSpace)
	for _, d := range a.Plan.Doors {
		out.Doors = append(out.Doors, d.Name)
	}
	out.Fixes = arrivalFixes(a.Fixes, to)
	if a.CheckedAt > 0 {
		minutes := int32(a.CheckedAt) // the last check, in minutes before arrival: 1440, 120 or 15
		out.LookedAtMinutes = &minutes
	}
	return out
}

// arrivalFixes converts the problems that staff must fix before an arrival.
func arrivalFixes(fixes []readiness.Fix, to message.Reader) (out []*propertyv1.ArrivalFix) {
	for _, f := range fixes {
		out = append(out, &propertyv1.ArrivalFix{
			Reason: string(f.Reason), Severity: string(f.Severity), DoorId: convert.TextOrNil(f.DoorID), DoorName: convert.TextOrNil(f.Door), DoorParentName: convert.TextOrNil(f.DoorParent),
			Text: to.Text(f.Message()), Parameters: convert.Struct(f.Params),
		})
	}
	return out
}
