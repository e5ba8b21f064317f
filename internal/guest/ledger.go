package guest

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entdisclosure "latchkey.dev/ent/disclosure"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
)

// Why the PMS got data: with a checkIn call, or because it read them.
const (
	WhyCheckIn = "checkIn"
	WhyRead    = "read"
)

// maxDisclosures bounds the disclosures that a guest reads.
const maxDisclosures = 100

// DisclosureRow is a disclosure as stored.
type DisclosureRow = ent.Disclosure

// Disclosed is what a call to the PMS contains of one guest.
type Disclosed struct {
	GuestID string
	Groups  []rule.Group
}

// RecordDisclosures records which data of which guests a call gives to the PMS, and why. It runs before the call, because a call without an
// answer may have arrived. A repeated call with the same groups of data is recorded once.
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

// ListDisclosures returns what the PMS got of some guests of a party, the latest first, and whether there are older ones.
func ListDisclosures(view *db.Tx, p *Party, of []Member) (rows []*ent.Disclosure, more bool, err error) {
	ids := make([]string, len(of))
	for i, m := range of {
		ids[i] = m.Row.ID
	}
	rows, err = view.Disclosure.Query().Where(entdisclosure.PropertyID(p.Reservation.PropertyID), entdisclosure.ReservationID(p.Reservation.ID),
		entdisclosure.GuestIDIn(ids...)).Order(ent.Desc(entdisclosure.FieldCreatedAt), ent.Desc(entdisclosure.FieldID)).Limit(maxDisclosures + 1).All(view.Context())
	if err != nil {
		return nil, false, fmt.Errorf("list the disclosures of a stay: %w", err)
	}
	return rows[:min(len(rows), maxDisclosures)], len(rows) > maxDisclosures, nil
}
