package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

const (
	unreadEvery = time.Minute
	unreadAfter = 10 * time.Minute // how long a message may be unread before a mail announces it
	unreadBatch = 200
)

// Unread mails the guest, or the property's staff, about messages that they have not read for unreadAfter. Staff also get a notice. Only
// one process of an installation may run it: see [Lease]. A run tries each conversation once, so those that fail do not stop the others.
func (m Mails) Unread() Sweep {
	return Sweep{Name: "unread messages", Every: unreadEvery, Run: func(ctx context.Context, d *db.DB) error {
		before, last := d.View(ctx).Now().Add(-unreadAfter), conversation.UnreadMessages{}
		failed, first := 0, error(nil) // only the first failure is logged: with a lost key, each conversation fails
		for ctx.Err() == nil {
			unread, err := conversation.ListUnread(d.View(ctx), before, last, unreadBatch)
			if err != nil {
				return errors.Join(first, err)
			}
			for _, w := range unread {
				err := d.Write(ctx, func(tx *db.Tx) error { return m.announceUnread(tx, w) })
				if err == nil {
					continue
				}
				if failed++; first == nil {
					first = fmt.Errorf("mail the unread messages of %s: %w", w.GuestID, err)
				}
			}
			if len(unread) < unreadBatch {
				break
			}
			last = unread[len(unread)-1]
		}
		if first != nil && ctx.Err() == nil {
			return fmt.Errorf("%d conversations failed, the first: %w", failed, first)
		}
		return ctx.Err()
	}}
}

// announceUnread marks the messages in w, of one side of a conversation, as mailed, and orders one mail about them. Staff also get a
// notice. A companion without an address gets no mail, and neither does a removed guest. It does nothing if the messages were read
// meanwhile.
func (m Mails) announceUnread(tx *db.Tx, w conversation.UnreadMessages) error {
	if unread, err := conversation.MarkMailed(tx, w); err != nil || !unread {
		return err
	}
	if w.Sender == conversation.Guest {
		return m.notifyStaffUnread(tx, w)
	}
	order := mail.Mail{
		PropertyID: w.PropertyID, Kind: mail.Message, ReservationID: w.ReservationID, OnceKey: fmt.Sprintf("%s/%s/%d", w.GuestID, mail.Message, w.Number),
	}
	who, err := guest.Get(tx, w.PropertyID, w.GuestID)
	if fault.Has(err, fault.GuestNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if who.Role != guest.Main {
		if order.To, err = guest.CompanionAddress(tx, m.Keys, who); err != nil || order.To == "" {
			return err
		}
		order.GuestID = w.GuestID
	}
	_, err = mail.Order(tx, m.Keys, m.Jobs, order)
	return err
}

// notifyStaffUnread adds a notice about a guest's unread messages, and mails it to staff. It does neither while such a notice is open and
// unread.
func (m Mails) notifyStaffUnread(tx *db.Tx, w conversation.UnreadMessages) error {
	who, err := guest.Introduce(tx, m.Keys, w.PropertyID, w.GuestID)
	if fault.Has(err, fault.GuestNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	n := notice.Notice{
		PropertyID: w.PropertyID, Kind: notice.MessageUnread, Subject: w.ReservationID, OnceKey: conversation.NoticeKey(w.Key),
		Params: message.Params{"number": who.Reservation.PmsNumber},
	}
	if err := notice.SupersedeRead(tx, n.PropertyID, n.OnceKey); err != nil {
		return err
	}
	open, err := notice.IsOpen(tx, n.OnceKey)
	if err != nil || open {
		return err
	}
	if err := notice.Add(tx, n); err != nil {
		return err
	}
	_, err = mail.Order(tx, m.Keys, m.Jobs, mail.Mail{PropertyID: w.PropertyID, Kind: mail.Staff, ReservationID: w.ReservationID, Params: mail.StaffParams(n.Kind.Message(n.Params))})
	return err
}
