package guest

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entdisclosure "latchkey.dev/ent/disclosure"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/reservation"
)

// Why the PMS got data: with a checkIn call, or because it read them.
const (
	WhyCheckIn = "checkIn"
	WhyRead    = "read"
)

// Disclosed is what a call to the PMS contains about one guest.
type Disclosed struct {
	GuestID string
	Groups  []rule.Group
}

// RecordDisclosures records which data of which guests a call gives to the PMS, and why (WhyCheckIn). call is the Idempotency-Key of the
// call. It runs before the call, because the PMS may get the data of a call that fails without a response. A call that is repeated under
// its key with the same groups of data is recorded once.
func RecordDisclosures(tx *db.Tx, reserved *ent.Reservation, why, call string, all []Disclosed) error {
	if len(all) == 0 {
		return nil
	}
	ids := make([]string, len(all))
	for i, d := range all {
		ids[i] = d.GuestID
	}
	recorded, err := tx.Disclosure.Query().Where(entdisclosure.PropertyID(reserved.PropertyID), entdisclosure.GuestIDIn(ids...),
		entdisclosure.Call(call), entdisclosure.ReservationID(reserved.ID)).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load the disclosures of a call: %w", err)
	}
	var rows []*ent.DisclosureCreate
	for _, d := range all {
		groups := make([]string, len(d.Groups))
		for i, g := range d.Groups {
			groups[i] = string(g)
		}
		if slices.ContainsFunc(recorded, func(r *ent.Disclosure) bool { return r.GuestID == d.GuestID && slices.Equal(r.Groups, groups) }) {
			continue
		}
		rows = append(rows, tx.Disclosure.Create().SetID(id.New(id.Disclosure)).SetPropertyID(reserved.PropertyID).SetReservationID(reserved.ID).SetGuestID(d.GuestID).
			SetIntegrationID(reserved.IntegrationID).SetGroups(groups).SetWhy(why).SetCall(call).SetCreatedAt(tx.Now()))
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.Disclosure.CreateBulk(rows...).Exec(tx.Context()); err != nil {
		return fmt.Errorf("record disclosures: %w", err)
	}
	return nil
}

// LedgerPage selects a page of the disclosures that a guest reads.
type LedgerPage struct {
	Size  int    // at least 1
	Token string // the token that came with the page before; empty: the first page
}

// ListDisclosures returns a page of what the PMS got about some guests of a party, the latest first, and the token of the next page, with
// older lines. The token is empty on the last page. A line that is added while a guest pages is newer than the first page, so later pages
// do not shift.
func ListDisclosures(view *db.Tx, p *Party, of []Member, page LedgerPage) (rows []*ent.Disclosure, next string, err error) {
	ids := make([]string, len(of))
	for i, m := range of {
		ids[i] = m.Row.ID
	}
	query := view.Disclosure.Query().Where(entdisclosure.PropertyID(p.Reservation.PropertyID), entdisclosure.ReservationID(p.Reservation.ID),
		entdisclosure.GuestIDIn(ids...))
	if page.Token != "" {
		at, lastID, err := reservation.ParsePageTokenOf(id.Disclosure, page.Token)
		if err != nil {
			return nil, "", err
		}
		query.Where(entdisclosure.Or(entdisclosure.CreatedAtLT(at), entdisclosure.And(entdisclosure.CreatedAt(at), entdisclosure.IDLT(lastID))))
	}
	rows, err = query.Order(ent.Desc(entdisclosure.FieldCreatedAt), ent.Desc(entdisclosure.FieldID)).Limit(page.Size + 1).All(view.Context())
	if err != nil {
		return nil, "", fmt.Errorf("list the disclosures of a stay: %w", err)
	}
	if len(rows) > page.Size {
		rows = rows[:page.Size]
		last := rows[page.Size-1]
		next = reservation.PageToken(last.CreatedAt, last.ID)
	}
	return rows, next, nil
}
