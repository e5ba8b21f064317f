package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// Who has not read a message for ten minutes gets one mail for all that wait. Staff also get a notice, which ends when they read.
func TestUnreadMessages(t *testing.T) {
	eachPost(t, func(p *post) {
		write(t, p.d, func(tx *db.Tx) error {
			staff := "desk@example.com"
			_, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{StaffEmail: &staff})
			return err
		})
		stay := p.book("1", "ana@example.com", time.Hour)
		k := conversation.Key{PropertyID: "prp_one", ReservationID: stay}
		write(t, p.d, func(tx *db.Tx) error {
			party, err := guest.LoadParty(tx, p.keys, "prp_one", stay)
			if err == nil {
				k.GuestID = party.Members[0].Row.ID
			}
			return err
		})
		send := func(from conversation.Side) {
			t.Helper()
			write(t, p.d, func(tx *db.Tx) error {
				_, err := conversation.Send(tx, p.keys, conversation.Message{Key: k, Sender: from, Text: "Where is the key?"})
				return err
			})
		}
		// mails runs the sweep twice and fails the test unless there are so many mails about messages.
		mails := func(toGuest, toStaff int) {
			t.Helper()
			for range 2 {
				if err := p.mails.Unread().Run(t.Context(), p.d); err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]int{}
			for _, row := range p.all() {
				got[row.Kind]++
			}
			if got[string(mail.Message)] != toGuest || got[string(mail.Staff)] != toStaff {
				t.Fatalf("mails %v, want %d to the guest and %d to staff", got, toGuest, toStaff)
			}
		}
		open := func() bool {
			t.Helper()
			is, err := notice.IsOpen(p.d.View(t.Context()), conversation.NoticeKey(k))
			if err != nil {
				t.Fatal(err)
			}
			return is
		}
		send(conversation.Guest)
		send(conversation.Guest)
		mails(0, 0)
		p.clock.Advance(unreadAfter + time.Second)
		mails(0, 1)
		if !open() {
			t.Error("staff have no notice")
		}
		send(conversation.Property) // who answers has read
		if open() {
			t.Error("staff have read, and the notice is open")
		}
		p.clock.Advance(unreadAfter + time.Second)
		mails(1, 1)
		send(conversation.Property)
		write(t, p.d, func(tx *db.Tx) error { return conversation.MarkRead(tx, k, conversation.Guest, 4) })
		p.clock.Advance(unreadAfter + time.Second)
		mails(1, 1)
		for _, row := range p.deliver() {
			if text := p.text(row); row.Kind == string(mail.Message) && (!strings.Contains(text.Subject, "You have a message from") || !strings.Contains(text.Text, "/g/l/") || strings.Contains(text.Text, "key")) {
				t.Errorf("%s\n%s", text.Subject, text.Text)
			}
		}
		// An answer reaches a guest who has left, until the links end.
		p.book("1", "ana@example.com", time.Hour, func(patch reservation.Patch) { patch[reservation.State] = "processed" })
		p.clock.Advance(3 * day)
		send(conversation.Property)
		p.clock.Advance(unreadAfter + time.Second)
		mails(2, 1)
		if rows := p.deliver(); rows[2].State != string(mail.InBox) {
			t.Errorf("the mail to a guest who has left is %s", rows[2].State)
		}
		p.clock.Advance(7 * day)
		send(conversation.Property)
		p.clock.Advance(unreadAfter + time.Second)
		mails(3, 1)
		if rows := p.deliver(); rows[3].State != string(mail.Canceled) {
			t.Errorf("the mail after the links ended is %s", rows[3].State)
		}
	})
}

// A conversation that fails stops no other, and the sweep ends.
func TestUnreadMessagesOfABrokenGuest(t *testing.T) {
	eachPost(t, func(p *post) {
		for _, number := range []string{"1", "2"} {
			stay := p.book(number, "ana@example.com", time.Hour)
			write(t, p.d, func(tx *db.Tx) error {
				party, err := guest.LoadParty(tx, p.keys, "prp_one", stay)
				if err != nil {
					return err
				}
				row := party.Members[0].Row
				if number == "1" {
					if err := tx.Guest.UpdateOne(row).SetPerson([]byte("broken")).Exec(tx.Context()); err != nil {
						return err
					}
				}
				k := conversation.Key{PropertyID: "prp_one", ReservationID: stay, GuestID: row.ID}
				_, err = conversation.Send(tx, p.keys, conversation.Message{Key: k, Sender: conversation.Guest, Text: "Where is the key?"})
				return err
			})
		}
		p.clock.Advance(unreadAfter + time.Second)
		for range 2 {
			if err := p.mails.Unread().Run(t.Context(), p.d); err == nil {
				t.Error("the broken conversation is not reported")
			}
		}
		var numbers []string
		for _, row := range p.notices() {
			if row.Kind == string(notice.MessageUnread) {
				numbers = append(numbers, fmt.Sprint(row.Parameters["number"]))
			}
		}
		if !slices.Equal(numbers, []string{"N2"}) {
			t.Errorf("staff have notices about %v", numbers)
		}
	})
}

// More broken conversations than a batch do not stop a later one.
func TestUnreadMessagesAfterABrokenBatch(t *testing.T) {
	eachPost(t, func(p *post) {
		dbtest.Insert(p, p.d, "reservations", dbtest.Values{"id": "rsv_0", "property_id": "prp_one", "integration_id": "int_one", "pms_id": "0"})
		dbtest.Insert(p, p.d, "guests", dbtest.Values{"id": "gst_0", "property_id": "prp_one", "reservation_id": "rsv_0", "person": []byte("broken")})
		dbtest.Multiply(p, p.d, "guests", unreadBatch+1, map[string]string{"id": "'gst_' || n"})
		dbtest.Insert(p, p.d, "messages", dbtest.Values{
			"id": "msg_0", "property_id": "prp_one", "reservation_id": "rsv_0", "guest_id": "gst_0", "number": 1, "sender": "guest", "created_at": p.clock.Now(),
		})
		dbtest.Multiply(p, p.d, "messages", unreadBatch+1, map[string]string{"id": "'msg_' || n", "guest_id": "'gst_' || n"})
		p.clock.Advance(time.Second)
		k := conversation.Key{PropertyID: "prp_one", ReservationID: p.book("1", "ana@example.com", time.Hour)}
		write(t, p.d, func(tx *db.Tx) error {
			party, err := guest.LoadParty(tx, p.keys, k.PropertyID, k.ReservationID)
			if err != nil {
				return err
			}
			k.GuestID = party.Members[0].Row.ID
			_, err = conversation.Send(tx, p.keys, conversation.Message{Key: k, Sender: conversation.Guest, Text: "Where is the key?"})
			return err
		})
		p.clock.Advance(unreadAfter + time.Second)
		if err := p.mails.Unread().Run(t.Context(), p.d); err == nil || !strings.Contains(err.Error(), fmt.Sprint(unreadBatch+1)) {
			t.Errorf("the broken conversations are not counted: %v", err)
		}
		if is, err := notice.IsOpen(p.d.View(t.Context()), conversation.NoticeKey(k)); err != nil || !is {
			t.Errorf("staff have no notice about the later conversation: %v", err)
		}
	})
}

// Messages that were read after the sweep had found them are not announced: no later reading would end the notice.
func TestMessagesReadDuringTheSweep(t *testing.T) {
	eachPost(t, func(p *post) {
		stay := p.book("1", "ana@example.com", time.Hour)
		k := conversation.Key{PropertyID: "prp_one", ReservationID: stay}
		write(t, p.d, func(tx *db.Tx) error {
			party, err := guest.LoadParty(tx, p.keys, "prp_one", stay)
			if err != nil {
				return err
			}
			k.GuestID = party.Members[0].Row.ID
			_, err = conversation.Send(tx, p.keys, conversation.Message{Key: k, Sender: conversation.Guest, Text: "Where is the key?"})
			return err
		})
		p.clock.Advance(unreadAfter + time.Second)
		found, err := conversation.ListUnread(p.d.View(t.Context()), p.clock.Now(), conversation.UnreadMessages{}, unreadBatch)
		if err != nil || len(found) != 1 {
			t.Fatalf("%d conversations, %v", len(found), err)
		}
		write(t, p.d, func(tx *db.Tx) error { return conversation.MarkRead(tx, k, conversation.Property, 1) })
		write(t, p.d, func(tx *db.Tx) error { return p.mails.announceUnread(tx, found[0]) })
		if is, err := notice.IsOpen(p.d.View(t.Context()), conversation.NoticeKey(k)); err != nil || is {
			t.Errorf("a notice about messages that staff have read is open: %t, %v", is, err)
		}
	})
}

// A message is announced to staff who have read the notice of an earlier one, but not the conversation.
func TestUnreadMessageAfterAReadNotice(t *testing.T) {
	eachPost(t, func(p *post) {
		stay := p.book("1", "ana@example.com", time.Hour)
		k := conversation.Key{PropertyID: "prp_one", ReservationID: stay}
		write(t, p.d, func(tx *db.Tx) error {
			if _, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{StaffEmail: new("desk@example.com")}); err != nil {
				return err
			}
			party, err := guest.LoadParty(tx, p.keys, "prp_one", stay)
			if err == nil {
				k.GuestID = party.Members[0].Row.ID
			}
			return err
		})
		announce := func(what string, notices, mails int) {
			t.Helper()
			write(t, p.d, func(tx *db.Tx) error {
				_, err := conversation.Send(tx, p.keys, conversation.Message{Key: k, Sender: conversation.Guest, Text: "Where is the key?"})
				return err
			})
			p.clock.Advance(unreadAfter + time.Second)
			if err := p.mails.Unread().Run(t.Context(), p.d); err != nil {
				t.Fatal(err)
			}
			unread, err := notice.Unread(p.d.View(t.Context()), "prp_one", nil)
			if err != nil || unread != notices || len(p.all()) != mails {
				t.Errorf("%s: %d unread notices and %d mails, want %d and %d; %v", what, unread, len(p.all()), notices, mails, err)
			}
		}
		announce("the first", 1, 1)
		announce("while the notice is unread", 1, 1)
		write(t, p.d, func(tx *db.Tx) error { _, err := notice.MarkRead(tx, "prp_one"); return err })
		announce("after the notice was read", 1, 2)
		write(t, p.d, func(tx *db.Tx) error { return conversation.MarkRead(tx, k, conversation.Property, 3) })
		if n, _, err := notice.CountOpen(p.d.View(t.Context()), "prp_one"); err != nil || n != 0 {
			t.Errorf("%d problems are open after staff have read the messages, %v", n, err)
		}
	})
}
