package worker

import (
	"fmt"
	"strings"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

// A row of the table invitations is added when the arrival of a reservation comes within the horizon, when a link or a code is mailed, or
// when another reservation of its group is evaluated. It is evaluated when next_at comes or the reservation changes. So no sweep reads
// reservations that are far away, past or unchanged.
const (
	insertInvitations = `INSERT INTO invitations (id, property_id, reservation_id, seen_at, next_at, created_at)
		SELECT r.id, r.property_id, r.id, r.created_at, $1, $2 FROM `
	isInvited   = `JOIN integrations AS g ON g.id = r.integration_id AND g.property_id = r.property_id AND g.invitations_at IS NOT NULL`
	enqueueNear = insertInvitations + `reservations AS r ` + isInvited + ` WHERE r.from_at > $3 AND r.from_at <= $4 AND r.state = 'confirmed'
		AND NOT EXISTS (SELECT 1 FROM invitations AS i WHERE i.id = r.id) ORDER BY r.from_at LIMIT $5 ON CONFLICT (id) DO NOTHING`
	changedSince = `reservation_changes AS c JOIN reservations AS r ON r.id = c.reservation_id AND r.property_id = c.property_id `
	// enqueueMoved adds rows of changed reservations, such as those that were booked or moved to a near day.
	enqueueMoved = insertInvitations + changedSince + isInvited + ` WHERE c.id > $3 AND c.id <= $4 AND r.updated_at = c.changed_at
		AND r.from_at > $5 AND r.from_at <= $6 ON CONFLICT (id) DO NOTHING`
	// enqueueChanged makes the rows of changed reservations due, also while the invitations of their integration are off: links at a former
	// address end.
	enqueueChanged = `UPDATE invitations SET next_at = $1 WHERE id IN (SELECT r.id FROM ` + changedSince + `WHERE c.id > $2 AND c.id <= $3)
		AND NOT EXISTS (SELECT 1 FROM reservations AS r WHERE r.id = invitations.id AND r.updated_at = invitations.seen_at)`
	// findMissed finds the reservations that changed while no process ran the sweep.
	findMissed = `SELECT i.id FROM invitations AS i JOIN reservations AS r ON r.id = i.id
		WHERE i.id > $1 AND r.updated_at <> i.seen_at AND i.next_at IS NULL ORDER BY i.id LIMIT $2`
	// insertFollowed adds the row of a stay to which a link or a code was mailed, see followStay.
	insertFollowed = `INSERT INTO invitations (id, property_id, reservation_id, seen_at, address_mac, next_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`
	newestSwitch = `SELECT MAX(invitations_at) FROM integrations`
)

const reevaluateInvitations = `UPDATE invitations SET next_at = $1 WHERE property_id = $2
	AND reservation_id IN (SELECT id FROM reservations WHERE integration_id = $3 AND property_id = $4)`

// reevaluate makes the rows of invitations of an integration due, after staff switched them on or off. The next sweep decides about them
// and orders the mails. It adds no missing rows.
func reevaluate(tx *db.Tx, propertyID, integrationID string) error {
	_, err := tx.ExecContext(tx.Context(), reevaluateInvitations, tx.Now(), propertyID, integrationID, propertyID)
	if err != nil {
		return fmt.Errorf("evaluate invitations again: %w", err)
	}
	return nil
}

// followStay adds the row of a stay to the table invitations when a link or a code is mailed, unless the stay has one, also while the
// invitations of its integration are off. Then the sweep sees changes of the stay: links follow its dates and state, and the code follows
// the booker's address.
func followStay(tx *db.Tx, keys *keyring.Ring, reservations reservation.Service, stay *ent.Reservation) error {
	known, err := tx.Invitation.Query().Where(invitation.PropertyID(stay.PropertyID), invitation.ID(stay.ID)).Exist(tx.Context())
	if err != nil || known {
		return err
	}
	address, err := bookerAddress(tx, reservations, stay)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(tx.Context(), insertFollowed, stay.ID, stay.PropertyID, stay.ID, stay.UpdatedAt, addressMAC(keys, stay.PropertyID, address), tx.Now(), tx.Now())
	if err != nil {
		return fmt.Errorf("follow a stay: %w", err)
	}
	return nil
}

// listDepartures lists a page of at most departureBatch stays of checked-in guests, of all properties with the country rule law, that end
// after from and not after until, in the order of reservation ids. after is the last id of the former page.
func listDepartures(view *db.Tx, law string, from, until time.Time, after string) ([]guest.StayKey, error) {
	stays, err := db.ReadList(view, func(k *guest.StayKey) []any { return []any{&k.PropertyID, &k.ReservationID} },
		findDepartures, law, from, until, after, departureBatch)
	if err != nil {
		return nil, fmt.Errorf("find stays that end soon: %w", err)
	}
	return stays, nil
}

// findDepartures finds the stays under a rule that end soon, by the id of the reservation.
const findDepartures = `SELECT r.property_id, r.id FROM check_in_settings AS s JOIN reservations AS r ON r.property_id = s.property_id
	WHERE s.rule = $1 AND r.state = 'started' AND r.to_at > $2 AND r.to_at <= $3 AND r.id > $4 ORDER BY r.id LIMIT $5`

// storeSeenBegin is the first part of the statement that stores which versions of reservations were evaluated.
const storeSeenBegin = `UPDATE invitations SET seen_at = r.updated_at FROM reservations AS r
	WHERE r.id = invitations.reservation_id AND r.property_id = invitations.property_id AND invitations.property_id = $1 AND invitations.id IN (`

// storeSeen stores that some reservations were evaluated in their present version, so that only a later change makes them due.
func (b booking) storeSeen(tx *db.Tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	args, holders := []any{b.propertyID()}, make([]string, len(ids))
	for i, id := range ids {
		args, holders[i] = append(args, id), fmt.Sprintf("$%d", i+2)
	}
	_, err := tx.ExecContext(tx.Context(), storeSeenBegin+strings.Join(holders, ", ")+")", args...)
	return err
}
