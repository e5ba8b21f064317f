package reservation

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
)

// recordOf reads a record from its row, without the booker. Times are in UTC, so that equal records compare equal.
func recordOf(r *ent.Reservation) Record {
	out := Record{
		PMSID: r.PmsID, GroupID: r.PmsGroupID, SpaceID: r.PmsSpaceID, ParentID: r.PmsParentSpaceID,
		CompanionIDs: r.PmsCompanionIds, Number: r.PmsNumber,
		State: access.State(r.State), FromDate: r.FromDate, ToDate: r.ToDate, From: r.FromAt.UTC(), To: r.ToAt.UTC(),
		Adults: r.AdultCount, Children: r.ChildCount, Price: r.PriceMinor, Owing: r.OwingMinor, Currency: r.OwingCurrency,
		SourceName: r.SourceName, ChannelManager: r.ChannelManager, ChannelNumber: r.ChannelNumber, OwnSpaceID: r.OwnSpaceID,
	}
	if r.PmsUpdatedAt != nil {
		at := r.PmsUpdatedAt.UTC()
		out.PMSUpdatedAt = &at
	}
	return out
}

// rowOf returns the row with a record and the sealed booker written to it.
func rowOf(row *ent.Reservation, r Record, booker []byte, now time.Time) *ent.Reservation {
	out := *row
	out.PmsGroupID, out.PmsSpaceID, out.PmsParentSpaceID, out.PmsCompanionIds = r.GroupID, r.SpaceID, r.ParentID, r.CompanionIDs
	out.PmsUpdatedAt, out.PmsNumber, out.State = r.PMSUpdatedAt, r.Number, string(r.State)
	out.Booker = booker
	out.FromDate, out.ToDate, out.FromAt, out.ToAt = r.FromDate, r.ToDate, r.From, r.To
	out.AdultCount, out.ChildCount = r.Adults, r.Children
	out.PriceMinor, out.OwingMinor, out.OwingCurrency = r.Price, r.Owing, r.Currency
	out.SourceName, out.ChannelManager, out.ChannelNumber = r.SourceName, r.ChannelManager, r.ChannelNumber
	out.OwnSpaceID, out.SpaceKey, out.UpdatedAt = r.OwnSpaceID, r.SpaceKey(), now
	return &out
}

func hoursOf(p *ent.Property, r access.Rules) Hours {
	return Hours{Zone: r.Zone, CheckIn: p.CheckInTime, CheckOut: p.CheckOutTime}
}
