package worker

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
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
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// booking is what decides about the invitations of a reservation, or of a group of them.
type booking struct {
	grouped  bool
	schedule mail.Schedule
	rooms    []room
}

// room is a reservation of a booking.
type room struct {
	stay    *ent.Reservation
	row     *ent.Invitation
	address string // the booker's, or ""
	mac     []byte // keyed hash of the address; nil without one
}

// loadBooking collects what decides about a booking that contains a reservation. It adds the rows of invitations that are missing.
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
	if err != nil {
		return b, err
	}
	for _, stay := range stays {
		r := room{stay: stay, row: rows[stay.ID]}
		if r.row == nil {
			if r.row, err = addInvitation(tx, stay); err != nil {
				return b, err
			}
		}
		if r.address, err = bookerAddress(tx, v.Reservations, stay); err != nil {
			return b, err
		}
		r.mac = addressMAC(v.Keys, stay.PropertyID, r.address)
		b.rooms = append(b.rooms, r)
	}
	return b, nil
}

func scheduleOf(tx *db.Tx, propertyID string) (mail.Schedule, error) {
	house, err := property.Get(tx, propertyID)
	if err != nil {
		return mail.Schedule{}, err
	}
	look, err := property.GetCheckInSettings(tx, propertyID)
	if err != nil {
		return mail.Schedule{}, err
	}
	zone, err := clock.Zone(house.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	return mail.Schedule{InviteDays: look.InviteDays, RemindDays: look.RemindDays, Zone: zone}, nil
}

// bookerAddress returns the booker's address in lower case, or "".
func bookerAddress(tx *db.Tx, reservations reservation.Service, stay *ent.Reservation) (string, error) {
	b, err := reservations.Booker(tx.Context(), stay)
	if err != nil || b.Email == nil {
		return "", err
	}
	return strings.ToLower(strings.TrimSpace(*b.Email)), nil
}

func addressMAC(keys *keyring.Ring, propertyID, address string) []byte {
	if address == "" {
		return nil
	}
	return guest.AddressMAC(keys, propertyID, address)
}

// maxGroup bounds the reservations of a group that are evaluated together.
const maxGroup = 500

func groupOf(stay *ent.Reservation) string {
	if stay.PmsGroupID == nil {
		return ""
	}
	return *stay.PmsGroupID
}

// reservationsOf returns the reservations of a reservation's group whose stay has not ended, by arrival, or the reservation alone. The
// reservation itself is always among them.
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

// invitationsOf returns the rows of invitations by reservation.
func invitationsOf(tx *db.Tx, propertyID string, stays []*ent.Reservation) (map[string]*ent.Invitation, error) {
	ids := make([]string, len(stays))
	for i, stay := range stays {
		ids[i] = stay.ID
	}
	rows, err := tx.Invitation.Query().Where(invitation.PropertyID(propertyID), invitation.ReservationIDIn(ids...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the invitations of a booking: %w", err)
	}
	out := make(map[string]*ent.Invitation, len(rows))
	for _, row := range rows {
		out[row.ReservationID] = row
	}
	return out, nil
}

func addInvitation(tx *db.Tx, stay *ent.Reservation) (*ent.Invitation, error) {
	row, err := tx.Invitation.Create().SetID(stay.ID).SetPropertyID(stay.PropertyID).SetReservationID(stay.ID).SetSeenAt(stay.CreatedAt).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store an invitation: %w", err)
	}
	return row, nil
}

// hasFinished reports whether every guest of a reservation has filled in the form.
func hasFinished(tx *db.Tx, stay *ent.Reservation) (bool, error) {
	guests, err := tx.Guest.Query().Where(entguest.PropertyID(stay.PropertyID), entguest.ReservationID(stay.ID)).Select(entguest.FieldComplete).All(tx.Context())
	if err != nil {
		return false, fmt.Errorf("load the guests of a reservation: %w", err)
	}
	for _, g := range guests {
		if !g.Complete {
			return false, nil
		}
	}
	return len(guests) > 0, nil
}

// facts returns the facts for the decision.
func (b booking) facts(tx *db.Tx) ([]mail.Room, error) {
	out := make([]mail.Room, len(b.rooms))
	for i, r := range b.rooms {
		finished, err := hasFinished(tx, r.stay)
		if err != nil {
			return nil, err
		}
		out[i] = mail.Room{
			ID: r.stay.ID, Changed: r.stay.UpdatedAt, Address: r.address, Moved: r.row.AddressMAC != nil && !bytes.Equal(r.row.AddressMAC, r.mac),
			Stay: mail.Stay{State: r.stay.State, From: r.stay.FromAt, To: r.stay.ToAt, Email: r.address, Finished: finished, Reminded: r.row.RemindedAt != nil},
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

// apply stores a decision and orders its mails.
func (v Invitations) apply(tx *db.Tx, b booking, d mail.Decision) error {
	rooms := map[string]room{}
	for _, r := range b.rooms {
		rooms[r.stay.ID] = r
		if err := r.storeEvaluation(tx, d); err != nil {
			return err
		}
	}
	for _, id := range d.Ended {
		if err := guest.EndLinksAndSessions(tx, rooms[id].stay.PropertyID, id); err != nil {
			return err
		}
	}
	for _, id := range d.Moved {
		if err := guest.EndFormerAddress(tx, rooms[id].stay.PropertyID, id, rooms[id].mac); err != nil {
			return err
		}
	}
	for _, m := range d.Mails {
		if err := v.order(tx, m, rooms); err != nil {
			return err
		}
	}
	return notifyAddresses(tx, b, d)
}

// storeEvaluation stores that a reservation was evaluated, and when it is evaluated again.
func (r room) storeEvaluation(tx *db.Tx, d mail.Decision) error {
	u := r.update(tx).SetSeenAt(r.stay.UpdatedAt)
	if r.mac == nil {
		u.ClearAddressMAC()
	} else {
		u.SetAddressMAC(r.mac)
	}
	if d.Next.IsZero() {
		u.ClearNextAt()
	} else {
		u.SetNextAt(d.Next.UTC())
	}
	switch waits := slices.Contains(d.Waiting, r.stay.ID); {
	case !waits:
		u.ClearDueAt()
	case r.row.DueAt == nil:
		u.SetDueAt(tx.Now())
	}
	if err := u.Exec(tx.Context()); err != nil {
		return fmt.Errorf("store the evaluation of an invitation: %w", err)
	}
	return nil
}

func (r room) update(tx *db.Tx) *ent.InvitationUpdate {
	return tx.Invitation.Update().Where(invitation.PropertyID(r.row.PropertyID), invitation.ID(r.row.ID))
}

// order orders a mail, and records it for the rooms that it lists. The round makes the key of a repeated invitation a new one, and two
// evaluations of the same facts order one mail.
func (v Invitations) order(tx *db.Tx, m mail.Listing, rooms map[string]room) error {
	first := rooms[m.Rooms[0]]
	mailID, err := mail.Order(tx, v.Keys, v.Jobs, mail.Mail{
		PropertyID: first.stay.PropertyID, Kind: m.Kind, ReservationID: first.stay.ID, To: m.To,
		OnceKey: fmt.Sprintf("%s/%s/%d", first.stay.ID, m.Kind, first.row.Round+1),
	})
	if err != nil {
		return err
	}
	for _, id := range m.Rooms {
		u := rooms[id].update(tx).AddRound(1)
		if m.Kind == mail.Reminder {
			u.SetRemindedAt(tx.Now()).SetReminderID(mailID)
		} else {
			u.SetInvitedAt(tx.Now()).SetMailID(mailID).ClearRemindedAt().SetReminderID("")
		}
		if err := u.Exec(tx.Context()); err != nil {
			return fmt.Errorf("record a mail to a booker: %w", err)
		}
	}
	return nil
}

// notifyAddresses notifies staff of each reservation without an address that reaches the guest, and closes the notices of the others.
func notifyAddresses(tx *db.Tx, b booking, d mail.Decision) error {
	for _, r := range b.rooms {
		key := r.stay.ID + "/noGuestAddress"
		if !slices.Contains(d.NoAddress, r.stay.ID) {
			if err := notice.Settle(tx, key); err != nil {
				return err
			}
			continue
		}
		err := notice.Add(tx, notice.Notice{PropertyID: r.stay.PropertyID, Kind: "noGuestAddress", Subject: r.stay.ID, OnceKey: key, Params: message.Params{"number": r.stay.PmsNumber}})
		if err != nil {
			return err
		}
	}
	return nil
}
