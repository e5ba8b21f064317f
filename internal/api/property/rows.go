package property

import (
	"context"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entslot "latchkey.dev/ent/slot"
)

// Aliases of the database models, so that no other file of this package imports them.
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

// loadSlots returns the slots of a lock that were ever used, by number, and maps each of their grants to its
// reservation.
func loadSlots(ctx context.Context, c *client, propertyID, lockID string) ([]*slotRow, map[string]string, error) {
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
