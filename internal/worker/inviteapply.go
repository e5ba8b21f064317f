package worker

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
)

// propertyID returns the property of the booking, which has at least one room.
func (b booking) propertyID() string { return b.rooms[0].stay.PropertyID }

// apply stores a decision and orders its mails. It also ends links and sessions of canceled stays and those at a former address, and
// extends those of prolonged stays. If the booker's address is new, it mails the code again. It updates the notices about missing
// addresses. The number of its statements grows with the changed addresses, the mails and the notices, but not with the rooms.
func (v Invitations) apply(tx *db.Tx, b booking, d mail.Decision) error {
	rooms := map[string]room{}
	for _, r := range b.rooms {
		rooms[r.stay.ID] = r
	}
	if err := b.storeEvaluation(tx, d); err != nil {
		return err
	}
	if err := guest.EndLinksAndSessions(tx, b.propertyID(), d.Ended...); err != nil {
		return err
	}
	if err := b.prolong(tx); err != nil {
		return err
	}
	if err := endFormerAddresses(tx, rooms, d.Moved); err != nil {
		return err
	}
	for _, id := range d.Moved {
		if err := v.mailKeyAgain(tx, rooms[id]); err != nil {
			return err
		}
	}
	for _, r := range b.rooms {
		if r.row.AddressMAC != nil || r.mac == nil {
			continue
		}
		if err := v.mailKeyAgain(tx, r); err != nil { // the address has become known
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

// endFormerAddresses ends the access of the former addresses of the reservations moved, and has the present ones invited again. It ends
// nothing if no link was mailed to the former address, such as an agency's: a guest who gave another address may have a link from there.
func endFormerAddresses(tx *db.Tx, rooms map[string]room, moved []string) error {
	byAddress := map[string][]string{} // the reservations by the keyed hash of the present address
	for _, id := range moved {
		r := rooms[id]
		ends := reservation.IsMarkedMoved(r.row.AddressMAC)
		if !ends {
			var err error
			if ends, err = guest.HadLinkAt(tx, r.stay.PropertyID, id, r.row.AddressMAC); err != nil {
				return err
			}
		}
		if ends {
			byAddress[string(r.mac)] = append(byAddress[string(r.mac)], id)
		}
	}
	for _, ids := range byAddress {
		if err := guest.EndFormerAddress(tx, rooms[ids[0]].stay.PropertyID, rooms[ids[0]].mac, ids...); err != nil {
			return err
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return guest.ForgetInvitations(tx, rooms[moved[0]].stay.PropertyID, moved...)
}

// prolong extends the links and sessions of the reservations that changed since the last evaluation, if their stays end later now.
func (b booking) prolong(tx *db.Tx) error {
	changed := map[time.Time][]string{} // reservations by their end
	for _, r := range b.rooms {
		if !r.row.SeenAt.Equal(r.stay.UpdatedAt) {
			changed[r.stay.ToAt.UTC()] = append(changed[r.stay.ToAt.UTC()], r.stay.ID)
		}
	}
	for end, ids := range changed {
		if err := guest.Prolong(tx, b.propertyID(), end, ids...); err != nil {
			return err
		}
	}
	return nil
}

// storeEvaluation records which version of each reservation was evaluated, with which address, since when a due invitation waits for the
// rest of its group, and when the next evaluation is due.
func (b booking) storeEvaluation(tx *db.Tx, d mail.Decision) error {
	var all, seen, due, past []string
	waiting := map[string]bool{}
	for _, id := range d.Waiting {
		waiting[id] = true
	}
	addresses := map[string][]string{} // the reservations whose address is new, by its keyed hash; "": they have no address now
	for _, r := range b.rooms {
		all = append(all, r.stay.ID)
		if !r.row.SeenAt.Equal(r.stay.UpdatedAt) {
			seen = append(seen, r.stay.ID)
		}
		if !bytes.Equal(r.row.AddressMAC, r.mac) {
			addresses[string(r.mac)] = append(addresses[string(r.mac)], r.stay.ID)
		}
		switch isDue := r.row.DueAt != nil; {
		case waiting[r.stay.ID] && !isDue:
			due = append(due, r.stay.ID)
		case !waiting[r.stay.ID] && isDue:
			past = append(past, r.stay.ID)
		}
	}
	err := b.update(tx, all, func(u *ent.InvitationUpdate) {
		if d.Next.IsZero() {
			u.ClearNextAt()
		} else {
			u.SetNextAt(d.Next.UTC())
		}
	})
	for mac, ids := range addresses {
		err = errors.Join(err, b.update(tx, ids, func(u *ent.InvitationUpdate) {
			if mac == "" {
				u.ClearAddressMAC()
			} else {
				u.SetAddressMAC([]byte(mac))
			}
		}))
	}
	err = errors.Join(err, b.update(tx, due, func(u *ent.InvitationUpdate) { u.SetDueAt(tx.Now()) }),
		b.update(tx, past, func(u *ent.InvitationUpdate) { u.ClearDueAt() }), b.storeSeen(tx, seen))
	if err != nil {
		return fmt.Errorf("store the evaluation of a booking: %w", err)
	}
	return nil
}

// update changes the invitations of some reservations with one statement; set adds the changed columns. Without ids it does nothing.
func (b booking) update(tx *db.Tx, ids []string, set func(*ent.InvitationUpdate)) error {
	if len(ids) == 0 {
		return nil
	}
	u := tx.Invitation.Update().Where(invitation.PropertyID(b.propertyID()), invitation.IDIn(ids...))
	set(u)
	return u.Exec(tx.Context())
}

// order orders a mail to a booker, and records it with all rooms that it lists. The round counts the mails of a room and is part of the
// mail's OnceKey. So two evaluations of the same facts order one mail, and a repeated invitation is a new one.
func (v Invitations) order(tx *db.Tx, m mail.Listing, rooms map[string]room) error {
	first := rooms[m.Rooms[0]]
	mailID, err := mail.Order(tx, v.Keys, v.Jobs, mail.Mail{
		PropertyID: first.stay.PropertyID, Kind: m.Kind, ReservationID: first.stay.ID, To: m.To,
		OnceKey: fmt.Sprintf("%s/%s/%d", first.stay.ID, m.Kind, first.row.Round+1),
	})
	if err != nil {
		return err
	}
	u := tx.Invitation.Update().Where(invitation.PropertyID(first.stay.PropertyID), invitation.IDIn(m.Rooms...)).AddRound(1)
	if m.Kind == mail.Reminder {
		u.SetRemindedAt(tx.Now()).SetReminderID(mailID)
	} else {
		u.SetInvitedAt(tx.Now()).SetMailID(mailID).ClearRemindedAt().SetReminderID("")
	}
	if err := u.Exec(tx.Context()); err != nil {
		return fmt.Errorf("record a mail to a booker: %w", err)
	}
	return nil
}

// notifyAddresses notifies staff of each reservation in d.NoAddress: no address reaches its guest, because it is missing or an agency's. It
// closes the notices of the booking's other rooms.
func notifyAddresses(tx *db.Tx, b booking, d mail.Decision) error {
	missing := map[string]bool{}
	for _, id := range d.NoAddress {
		missing[id] = true
	}
	keys := make([]string, len(b.rooms))
	for i, r := range b.rooms {
		keys[i] = notice.NoGuestAddress.Key(r.stay.ID)
	}
	open, err := notice.OpenOf(tx, b.propertyID(), keys)
	if err != nil {
		return err
	}
	var resolved []string
	for _, r := range b.rooms {
		switch key := notice.NoGuestAddress.Key(r.stay.ID); {
		case open[key] && !missing[r.stay.ID]:
			resolved = append(resolved, key)
		case missing[r.stay.ID] && !open[key]:
			err := notice.Add(tx, notice.Notice{PropertyID: r.stay.PropertyID, Kind: notice.NoGuestAddress, Subject: r.stay.ID, OnceKey: key, Params: message.Params{"number": r.stay.PmsNumber}})
			if err != nil {
				return err
			}
		}
	}
	return notice.Resolve(tx, b.propertyID(), resolved...)
}
