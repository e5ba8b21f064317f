package property

import (
	"context"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entslot "latchkey.dev/ent/slot"
)

// The rows that the domain answers with, and their client. The only place of this package that
// names the models.
type (
	client         = ent.Client
	propertyRow    = ent.Property
	spaceRow       = ent.Space
	gateRow        = ent.Gate
	lockRow        = ent.Lock
	bridgeRow      = ent.Bridge
	slotRow        = ent.Slot
	noticeRow      = ent.Notice
	conflictRow    = ent.Conflict
	integrationRow = ent.Integration
	tokenRow       = ent.Token
)

// slotsOf lists the slots of a lock that were ever used, by number, and for each grant the
// reservation it is of.
func slotsOf(ctx context.Context, c *client, propertyID, lockID string) ([]*slotRow, map[string]string, error) {
	rows, err := c.Slot.Query().Where(entslot.PropertyID(propertyID), entslot.LockID(lockID)).Order(entslot.ByNumber()).All(ctx)
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	for _, s := range rows {
		if s.GrantID != "" {
			ids = append(ids, s.GrantID)
		}
	}
	grants, err := c.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, nil, err
	}
	stays := make(map[string]string, len(grants))
	for _, g := range grants {
		stays[g.ID] = g.ReservationID
	}
	return rows, stays, nil
}
