package worker

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/invitation"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
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

// invitee is what decides about the invitation of a reservation.
type invitee struct {
	stay     *ent.Reservation
	enabled  bool // staff switched the invitations of its integration on
	schedule mail.Schedule
	email    string
	mac      []byte // keyed hash of the address; nil without one
	finished bool
}

// load collects what decides about a reservation.
func (v Invitations) load(tx *db.Tx, propertyID string, stay *ent.Reservation) (e invitee, err error) {
	e.stay = stay
	ctx := tx.Context()
	e.enabled, err = tx.Integration.Query().Where(integration.PropertyID(propertyID), integration.ID(stay.IntegrationID), integration.InvitationsAtNotNil()).Exist(ctx)
	if err != nil || !e.enabled {
		return e, err
	}
	if e.schedule, err = scheduleOf(tx, propertyID); err != nil {
		return e, err
	}
	if e.email, err = bookerAddress(tx, v.Reservations, stay); err != nil {
		return e, err
	}
	e.mac = addressMAC(v.Keys, propertyID, e.email)
	guests, err := tx.Guest.Query().Where(entguest.PropertyID(propertyID), entguest.ReservationID(stay.ID)).Select(entguest.FieldComplete).All(ctx)
	e.finished = len(guests) > 0
	for _, g := range guests {
		e.finished = e.finished && g.Complete
	}
	return e, err
}

func scheduleOf(tx *db.Tx, propertyID string) (mail.Schedule, error) {
	house, err := property.Get(tx, propertyID)
	if err != nil {
		return mail.Schedule{}, err
	}
	look, err := mail.LookOf(tx, propertyID)
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

// stayOf returns the facts for the decision. A booker with a new address was not invited yet.
func (e invitee) stayOf(row *ent.Invitation) mail.Stay {
	s := mail.Stay{State: e.stay.State, From: e.stay.FromAt, To: e.stay.ToAt, Email: e.email, Finished: e.finished, Reminded: row.RemindedAt != nil}
	if !e.enabled {
		s.State = "" // nothing is due
	}
	if row.InvitedAt != nil && bytes.Equal(row.AddressMAC, e.mac) {
		s.InvitedAt = *row.InvitedAt
	}
	return s
}

// order orders the mail that is due to the booker of a reservation, once for all reservations of the group with the same booker.
func (v Invitations) order(tx *db.Tx, e invitee, row *ent.Invitation, due mail.Due) error {
	noAddress := e.stay.ID + "/noGuestAddress"
	switch due {
	case mail.DueNothing:
		return nil
	case mail.DueNoAddress:
		if err := v.revokeFormer(tx, e, row); err != nil {
			return err
		}
		return notice.Add(tx, notice.Notice{PropertyID: e.stay.PropertyID, Kind: "noGuestAddress", Subject: e.stay.ID, OnceKey: noAddress, Params: message.Params{"number": e.stay.PmsNumber}})
	}
	if err := notice.Settle(tx, noAddress); err != nil {
		return err
	}
	if err := v.revokeFormer(tx, e, row); err != nil {
		return err
	}
	group, err := sameBooking(tx, v.Reservations, e.stay, e.email)
	if err != nil {
		return err
	}
	kind, mark := mail.Invitation, func(u *ent.InvitationUpdate) { u.SetInvitedAt(tx.Now()).SetAddressMAC(e.mac).ClearRemindedAt() }
	if due == mail.DueReminder {
		kind, mark = mail.Reminder, func(u *ent.InvitationUpdate) { u.SetRemindedAt(tx.Now()) }
	}
	sent, err := v.markAll(tx, e, group, due, mark)
	if err != nil || sent {
		return err
	}
	_, err = mail.Order(tx, v.Keys, v.Jobs, mail.Mail{
		PropertyID: e.stay.PropertyID, Kind: kind, ReservationID: e.stay.ID, To: e.email,
		OnceKey: e.stay.ID + "/" + string(kind) + "/" + hex.EncodeToString(e.mac[:8]),
	})
	return err
}

// markAll records the mail for each reservation of the group, and reports whether another of them caused the same mail before.
func (v Invitations) markAll(tx *db.Tx, e invitee, group []*ent.Reservation, due mail.Due, mark func(*ent.InvitationUpdate)) (sent bool, err error) {
	ids := make([]string, len(group))
	for i, g := range group {
		ids[i] = g.ID
	}
	before := tx.Invitation.Query().Where(invitation.PropertyID(e.stay.PropertyID), invitation.ReservationIDIn(ids...), invitation.ReservationIDNEQ(e.stay.ID), invitation.AddressMAC(e.mac))
	if due == mail.DueReminder {
		before.Where(invitation.RemindedAtNotNil())
	} else {
		before.Where(invitation.InvitedAtNotNil())
	}
	if sent, err = before.Exist(tx.Context()); err != nil {
		return false, fmt.Errorf("find the invitations of a group: %w", err)
	}
	update := tx.Invitation.Update().Where(invitation.PropertyID(e.stay.PropertyID), invitation.ReservationIDIn(ids...))
	mark(update)
	if err := update.Exec(tx.Context()); err != nil {
		return false, fmt.Errorf("record an invitation: %w", err)
	}
	return sent, nil
}

// revokeFormer revokes the links that went to a former address and that no device uses.
func (v Invitations) revokeFormer(tx *db.Tx, e invitee, row *ent.Invitation) error {
	if row.InvitedAt == nil || bytes.Equal(row.AddressMAC, e.mac) {
		return nil
	}
	update := tx.GuestLink.Update().SetRevokedAt(tx.Now()).Where(guestlink.PropertyID(row.PropertyID), guestlink.ReservationID(row.ReservationID),
		guestlink.AddressMAC(row.AddressMAC), guestlink.BoundAtIsNil(), guestlink.RevokedAtIsNil())
	if err := update.Exec(tx.Context()); err != nil {
		return fmt.Errorf("revoke the links of a former address: %w", err)
	}
	return nil
}

// maxGroup bounds the reservations in one mail.
const maxGroup = 50

// sameBooking returns the confirmed reservations of a reservation's group with the same booker's address, by arrival. It contains the
// reservation itself.
func sameBooking(tx *db.Tx, reservations reservation.Service, stay *ent.Reservation, address string) ([]*ent.Reservation, error) {
	if stay.PmsGroupID == nil || *stay.PmsGroupID == "" {
		return []*ent.Reservation{stay}, nil
	}
	rows, err := tx.Reservation.Query().Where(entreservation.PropertyID(stay.PropertyID), entreservation.IntegrationID(stay.IntegrationID),
		entreservation.PmsGroupID(*stay.PmsGroupID), entreservation.State(string(access.Confirmed)), entreservation.ToAtGT(tx.Now())).
		Order(entreservation.ByFromAt(), entreservation.ByPmsNumber(), entreservation.ByID()).Limit(maxGroup).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the group of a reservation: %w", err)
	}
	group := []*ent.Reservation{}
	found := false
	for _, row := range rows {
		other, err := bookerAddress(tx, reservations, row)
		if err != nil {
			return nil, err
		}
		if row.ID == stay.ID || other == address {
			group = append(group, row)
			found = found || row.ID == stay.ID
		}
	}
	if !found {
		group = append(group, stay)
	}
	return group, nil
}
