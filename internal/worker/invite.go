package worker

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/invitation"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/text"
)

// booking has the data that decide about the invitations of one reservation, or of a group of reservations.
type booking struct {
	grouped  bool
	schedule mail.Schedule
	rooms    []room
}

// room is a reservation of a booking.
type room struct {
	stay    *ent.Reservation
	row     *ent.Invitation
	address string // the booker's address, or ""
	mac     []byte // keyed hash of the address; nil without one
}

// loadBooking loads what decides about the mails of a reservation and of the others in its group. It adds missing rows of invitations.
func (v Invitations) loadBooking(tx *db.Tx, stay *ent.Reservation) (b booking, err error) {
	if b.schedule, err = scheduleOf(tx, stay.PropertyID); err != nil {
		return b, err
	}
	on, err := tx.Integration.Query().Where(integration.PropertyID(stay.PropertyID), integration.ID(stay.IntegrationID), integration.InvitationsAtNotNil()).Exist(tx.Context())
	if err != nil {
		return b, fmt.Errorf("find whether invitations are on: %w", err)
	}
	b.schedule.Off = !on
	b.grouped = groupOf(stay) != ""
	stays, err := reservationsOf(tx, stay)
	if err != nil {
		return b, err
	}
	rows, err := invitationsOf(tx, stay.PropertyID, stays)
	if err == nil {
		err = addInvitations(tx, stays, rows)
	}
	if err != nil {
		return b, err
	}
	for _, stay := range stays {
		r := room{stay: stay, row: rows[stay.ID]}
		if r.address, err = bookerAddress(tx, v.Reservations, stay); err != nil {
			return b, err
		}
		r.mac = addressMAC(v.Keys, stay.PropertyID, r.address)
		b.rooms = append(b.rooms, r)
	}
	return b, nil
}

// scheduleOf returns how many days before the arrival a property mails invitations and reminders, by days in its time zone (UTC if that is
// unknown). It does not set Off, which says that the invitations are switched off: the caller sets it.
func scheduleOf(tx *db.Tx, propertyID string) (mail.Schedule, error) {
	prop, err := property.Get(tx, propertyID)
	if err != nil {
		return mail.Schedule{}, err
	}
	settings, err := property.GetCheckInSettings(tx, propertyID)
	if err != nil {
		return mail.Schedule{}, err
	}
	zone, err := clock.Zone(prop.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	return mail.Schedule{InviteDays: settings.InviteDays, RemindDays: settings.RemindDays, Zone: zone}, nil
}

// bookerAddress returns the booker's address as the PMS sent it, in lower case, or "" if it sent none. It can be an agency's.
func bookerAddress(tx *db.Tx, reservations reservation.Service, stay *ent.Reservation) (string, error) {
	b, err := reservations.Booker(tx.Context(), stay)
	if err != nil || b.Email == nil {
		return "", err
	}
	return text.FoldAddress(*b.Email), nil
}

// addressMAC returns the keyed hash of a mail address, or nil for none.
func addressMAC(keys *keyring.Ring, propertyID, address string) []byte {
	if address == "" {
		return nil
	}
	return guest.AddressMAC(keys, propertyID, address)
}

// maxGroup limits the reservations of a group that are evaluated together. A reservation beyond it is evaluated with the first ones, and
// gets a mail of its own.
const maxGroup = 5000

// groupOf returns the PMS's id of a reservation's group, or "".
func groupOf(stay *ent.Reservation) string {
	if stay.PmsGroupID == nil {
		return ""
	}
	return *stay.PmsGroupID
}

// reservationsOf returns up to maxGroup reservations of a reservation's group, also canceled ones, whose stay has not ended, by arrival, or
// only the reservation if it has no group. The reservation itself is always included.
func reservationsOf(tx *db.Tx, stay *ent.Reservation) ([]*ent.Reservation, error) {
	if groupOf(stay) == "" {
		return []*ent.Reservation{stay}, nil
	}
	rows, err := tx.Reservation.Query().Where(entreservation.PropertyID(stay.PropertyID), entreservation.IntegrationID(stay.IntegrationID),
		entreservation.PmsGroupID(groupOf(stay)), entreservation.ToAtGT(tx.Now())).
		Order(entreservation.ByFromAt(), entreservation.ByPmsNumber(), entreservation.ByID()).Limit(maxGroup).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the group of a reservation: %w", err)
	}
	for _, row := range rows {
		if row.ID == stay.ID {
			return rows, nil
		}
	}
	return append(rows, stay), nil
}

// invitationsOf returns the rows of invitations by reservation id. Reservations without a row are missing.
func invitationsOf(tx *db.Tx, propertyID string, stays []*ent.Reservation) (map[string]*ent.Invitation, error) {
	rows, err := tx.Invitation.Query().Where(invitation.PropertyID(propertyID), invitation.ReservationIDIn(idsOf(stays)...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the invitations of a booking: %w", err)
	}
	out := make(map[string]*ent.Invitation, len(rows))
	for _, row := range rows {
		out[row.ReservationID] = row
	}
	return out, nil
}

// addInvitations stores the rows of invitations that are missing in rows, and adds them to it.
func addInvitations(tx *db.Tx, stays []*ent.Reservation, rows map[string]*ent.Invitation) error {
	missing := slices.DeleteFunc(slices.Clone(stays), func(s *ent.Reservation) bool { return rows[s.ID] != nil })
	for some := range slices.Chunk(missing, insertTogether) {
		added, err := tx.Invitation.MapCreateBulk(some, func(c *ent.InvitationCreate, i int) {
			stay := some[i]
			c.SetID(stay.ID).SetPropertyID(stay.PropertyID).SetReservationID(stay.ID).SetSeenAt(stay.CreatedAt).SetCreatedAt(tx.Now())
		}).Save(tx.Context())
		if err != nil {
			return fmt.Errorf("store invitations: %w", err)
		}
		for _, row := range added {
			rows[row.ReservationID] = row
		}
	}
	return nil
}

// insertTogether is how many rows one statement inserts. Each row has a dozen parameters, and SQLite takes 32766 in a statement.
const insertTogether = 1000

// finishedOf returns for each reservation whether every guest has filled in the form. The map lacks reservations without stored guests,
// which are not finished.
func finishedOf(tx *db.Tx, propertyID string, stays []*ent.Reservation) (map[string]bool, error) {
	guests, err := tx.Guest.Query().Where(entguest.PropertyID(propertyID), entguest.ReservationIDIn(idsOf(stays)...)).
		Select(entguest.FieldReservationID, entguest.FieldComplete).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the guests of a booking: %w", err)
	}
	finished := map[string]bool{}
	for _, g := range guests {
		former, seen := finished[g.ReservationID]
		finished[g.ReservationID] = g.Complete && (former || !seen)
	}
	return finished, nil
}

// idsOf returns the ids of reservations, in their order.
func idsOf(stays []*ent.Reservation) []string {
	ids := make([]string, len(stays))
	for i, stay := range stays {
		ids[i] = stay.ID
	}
	return ids
}

// facts returns the rooms of the booking as [mail.Decide] needs them.
func (b booking) facts(tx *db.Tx) ([]mail.Room, error) {
	stays := make([]*ent.Reservation, len(b.rooms))
	for i, r := range b.rooms {
		stays[i] = r.stay
	}
	finished, err := finishedOf(tx, b.propertyID(), stays)
	if err != nil {
		return nil, err
	}
	out := make([]mail.Room, len(b.rooms))
	for i, r := range b.rooms {
		out[i] = mail.Room{
			ID: r.stay.ID, Changed: r.stay.UpdatedAt, Address: r.address, Moved: r.row.AddressMAC != nil && !bytes.Equal(r.row.AddressMAC, r.mac),
			Stay: mail.Stay{State: r.stay.State, From: r.stay.FromAt, To: r.stay.ToAt, Email: r.address, Finished: finished[r.stay.ID], Reminded: r.row.RemindedAt != nil, Erased: r.stay.ErasedAt != nil},
		}
		if r.row.DueAt != nil {
			out[i].DueSince = *r.row.DueAt
		}
		if r.row.InvitedAt != nil {
			out[i].InvitedAt = *r.row.InvitedAt
		}
	}
	return out, nil
}
