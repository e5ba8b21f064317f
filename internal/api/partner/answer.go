package partner

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// reservationMessage converts a reservation to its message for partners, without the data that the parameter extend adds. Times have the
// property's UTC offset.
func reservationMessage(r *reservation.Row, b reservation.Booker, timeZone string) (*partnerv1.Reservation, error) {
	zone, err := clock.Zone(timeZone)
	if err != nil {
		return nil, err
	}
	from, to := formatTime(r.FromAt, zone), formatTime(r.ToAt, zone)
	out := &partnerv1.Reservation{
		Id: r.ID, PropertyId: r.PropertyID, HostelId: r.PropertyID,
		PmsMeta: &partnerv1.PmsMeta{
			Id: r.PmsID, GroupId: r.PmsGroupID, SpaceId: r.PmsSpaceID, ParentSpaceId: r.PmsParentSpaceID, CompanionIds: r.PmsCompanionIds,
		},
		PmsNumber: r.PmsNumber,
		Booker:    &partnerv1.Booker{FirstName: b.FirstName, LastName: b.LastName, Email: b.Email, Mobile: b.Mobile},
		State:     r.State, From: &from, To: &to, FromDate: r.FromDate, ToDate: r.ToDate,
		AdultCount: convert.Int32(r.AdultCount), ChildCount: convert.Int32(r.ChildCount),
		Price: decimalAmount(r.PriceMinor, r.OwingCurrency), Owing: decimalAmount(r.OwingMinor, r.OwingCurrency), OwingCurrency: r.OwingCurrency,
		SourceName: r.SourceName, ChannelManager: r.ChannelManager, ChannelNumber: r.ChannelNumber,
		ParentSpaceId: r.OwnSpaceID, RoomId: r.PmsParentSpaceID, BedId: r.PmsSpaceID,
		CreatedAt: timestamppb.New(r.CreatedAt), UpdatedAt: timestamppb.New(r.UpdatedAt),
	}
	if r.PmsUpdatedAt != nil {
		out.PmsMeta.UpdatedAt = timestamppb.New(*r.PmsUpdatedAt)
	}
	return out, nil
}

// lateMessage returns the answer to a patch for a reservation that the server deleted after its retention period. It contains only the ids
// of the property and of the reservation at the PMS, is marked as stale, and says that the stay is over.
func lateMessage(p reservation.Patch, propertyID string) *partnerv1.Reservation {
	pmsID, _ := p[reservation.PMSID].(string)
	stale := true
	return &partnerv1.Reservation{
		PropertyId: propertyID, HostelId: propertyID, PmsMeta: &partnerv1.PmsMeta{Id: pmsID}, State: string(access.Processed), Stale: &stale,
		Access: &partnerv1.AccessPlan{Status: string(access.StatusNone), Reasons: []string{string(access.CheckedOut)}},
	}
}

// storedMessage converts the result of a stored change to a message.
func storedMessage(s reservation.Stored) (*partnerv1.Reservation, error) {
	out, err := reservationMessage(s.Row, s.Booker, s.Property.TimeZone)
	if err != nil {
		return nil, err
	}
	if s.Stale {
		out.Stale = &s.Stale
	}
	out.Access, err = planMessage(s.Plan, s.Row, s.Property.TimeZone)
	return out, err
}

// planMessage converts the access plan of a reservation, without the time of its last change: see accessOf. Times have the property's UTC
// offset.
func planMessage(p access.Plan, row *reservation.Row, timeZone string) (*partnerv1.AccessPlan, error) {
	out := &partnerv1.AccessPlan{Status: string(p.Status)}
	if slices.Contains(p.Reasons, space.SpaceUnknown) || slices.Contains(p.Reasons, space.SpaceNotMapped) {
		out.UnresolvedSpaceId = convert.TextOrNil(cmp.Or(row.SpaceKey, convert.OrEmpty(row.OwnSpaceID)))
	}
	if p.Window != nil {
		zone, err := clock.Zone(timeZone)
		if err != nil {
			return nil, err
		}
		out.Window = &partnerv1.AccessWindow{From: formatTime(p.Window.From, zone), To: formatTime(p.Window.To, zone), TimeZone: timeZone}
	}
	for _, d := range p.Doors {
		out.Doors = append(out.Doors, &partnerv1.AccessDoor{
			DoorId: d.ID, Name: d.Name, Kind: string(d.Kind), Pin: string(d.PIN), SmartKey: string(d.SmartKey), Reason: convert.TextOrNil(string(d.Reason)),
		})
	}
	for _, r := range p.Reasons {
		out.Reasons = append(out.Reasons, string(r))
	}
	return out, nil
}

// formatTime formats a time as RFC 3339 with the UTC offset of a time zone.
func formatTime(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.RFC3339) }

// decimalAmount converts an amount in the smallest unit of its currency to a decimal number. Without a currency, the smallest unit is a
// thousandth. The result is nil if minor is nil.
func decimalAmount(minor *int64, currency *string) *float64 {
	if minor == nil {
		return nil
	}
	code := ""
	if currency != nil {
		code = *currency
	}
	v, err := strconv.ParseFloat(reservation.Decimal(*minor, code), 64)
	if err != nil {
		return nil
	}
	return &v
}
