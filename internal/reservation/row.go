package reservation

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
)

func recordOf(r *ent.Reservation) Record {
	return Record{
		PMSID: r.PmsID, GroupID: r.PmsGroupID, SpaceID: r.PmsSpaceID, ParentID: r.PmsParentSpaceID,
		CompanionIDs: r.PmsCompanionIds, PMSUpdatedAt: r.PmsUpdatedAt, Number: r.PmsNumber,
		FirstName: r.BookerFirstName, LastName: r.BookerLastName, Email: r.BookerEmail, Mobile: r.BookerMobile,
		State: access.State(r.State), FromDate: r.FromDate, ToDate: r.ToDate, From: r.FromAt, To: r.ToAt,
		Adults: r.AdultCount, Children: r.ChildCount, Price: r.PriceMinor, Owing: r.OwingMinor, Currency: r.OwingCurrency,
		SourceName: r.SourceName, ChannelManager: r.ChannelManager, ChannelNumber: r.ChannelNumber, OwnSpaceID: r.OwnSpaceID,
	}
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
