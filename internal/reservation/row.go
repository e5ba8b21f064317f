package reservation

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
)

// recordOf reads a record out of its row. Times are in UTC, so that records that say the same are equal.
func recordOf(r *ent.Reservation) Record {
	out := Record{
		PMSID: r.PmsID, GroupID: r.PmsGroupID, SpaceID: r.PmsSpaceID, ParentID: r.PmsParentSpaceID,
		CompanionIDs: r.PmsCompanionIds, Number: r.PmsNumber,
		FirstName: r.BookerFirstName, LastName: r.BookerLastName, Email: r.BookerEmail, Mobile: r.BookerMobile,
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

// rowOf is a row with a record written to it.
func rowOf(row *ent.Reservation, r Record, now time.Time) *ent.Reservation {
	out := *row
	out.PmsGroupID, out.PmsSpaceID, out.PmsParentSpaceID, out.PmsCompanionIds = r.GroupID, r.SpaceID, r.ParentID, r.CompanionIDs
	out.PmsUpdatedAt, out.PmsNumber, out.State = r.PMSUpdatedAt, r.Number, string(r.State)
	out.BookerFirstName, out.BookerLastName, out.BookerEmail, out.BookerMobile = r.FirstName, r.LastName, r.Email, r.Mobile
	out.FromDate, out.ToDate, out.FromAt, out.ToAt = r.FromDate, r.ToDate, r.From, r.To
	out.AdultCount, out.ChildCount = r.Adults, r.Children
	out.PriceMinor, out.OwingMinor, out.OwingCurrency = r.Price, r.Owing, r.Currency
	out.SourceName, out.ChannelManager, out.ChannelNumber = r.SourceName, r.ChannelManager, r.ChannelNumber
	out.OwnSpaceID, out.SpaceKey, out.UpdatedAt = r.OwnSpaceID, r.SpaceKey(), now
	return &out
}

// write puts a record into a row that is created or changed.
func write(m *ent.ReservationMutation, r Record, now time.Time) {
	set(r.GroupID, m.SetPmsGroupID, m.ClearPmsGroupID)
	set(r.SpaceID, m.SetPmsSpaceID, m.ClearPmsSpaceID)
	set(r.ParentID, m.SetPmsParentSpaceID, m.ClearPmsParentSpaceID)
	set(r.PMSUpdatedAt, m.SetPmsUpdatedAt, m.ClearPmsUpdatedAt)
	set(r.FirstName, m.SetBookerFirstName, m.ClearBookerFirstName)
	set(r.Email, m.SetBookerEmail, m.ClearBookerEmail)
	set(r.Mobile, m.SetBookerMobile, m.ClearBookerMobile)
	set(r.FromDate, m.SetFromDate, m.ClearFromDate)
	set(r.ToDate, m.SetToDate, m.ClearToDate)
	set(r.Adults, m.SetAdultCount, m.ClearAdultCount)
	set(r.Children, m.SetChildCount, m.ClearChildCount)
	set(r.Price, m.SetPriceMinor, m.ClearPriceMinor)
	set(r.Owing, m.SetOwingMinor, m.ClearOwingMinor)
	set(r.Currency, m.SetOwingCurrency, m.ClearOwingCurrency)
	set(r.SourceName, m.SetSourceName, m.ClearSourceName)
	set(r.ChannelManager, m.SetChannelManager, m.ClearChannelManager)
	set(r.ChannelNumber, m.SetChannelNumber, m.ClearChannelNumber)
	set(r.OwnSpaceID, m.SetOwnSpaceID, m.ClearOwnSpaceID)
	if len(r.CompanionIDs) > 0 {
		m.SetPmsCompanionIds(r.CompanionIDs)
	} else {
		m.ClearPmsCompanionIds()
	}
	m.SetPmsNumber(r.Number)
	m.SetBookerLastName(r.LastName)
	m.SetState(string(r.State))
	m.SetFromAt(r.From)
	m.SetToAt(r.To)
	m.SetSpaceKey(r.SpaceKey())
	m.SetUpdatedAt(now)
}

func set[T any](v *T, to func(T), clear func()) {
	if v == nil {
		clear()
		return
	}
	to(*v)
}
