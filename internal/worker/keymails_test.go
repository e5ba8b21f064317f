package worker

import (
	"slices"
	"strings"
	"testing"
	"time"

	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/smtptest"
)

// room adds a room with a lock.
func (p *post) room(id, name string) {
	p.Helper()
	dbtest.Insert(p, p.d, "spaces", dbtest.Values{"id": id, "property_id": "prp_one", "type": "Room", "name": name, "is_private": true, "is_active": true})
	dbtest.InsertOnce(p, p.d, "bridges", dbtest.Values{"id": "brg_one", "property_id": "prp_one", "online": true})
	write(p.T, p.d, func(tx *db.Tx) error {
		return tx.Lock.Create().SetID("lck_" + id).SetPropertyID("prp_one").SetName(name).SetBridgeID("brg_one").SetAddress(name).SetDoorID(id).
			SetCapabilities(slot.Capabilities{PINMin: 4, PINMax: 8, Slots: 10}).SetStatus(lock.Status{Online: true}).SetCreatedAt(tx.Now()).Exec(tx.Context())
	})
}

// rooms adds rooms without locks. ids has the id and the name of each.
func (p *post) rooms(ids ...string) {
	p.Helper()
	for one := range slices.Chunk(ids, 2) {
		dbtest.Insert(p, p.d, "spaces", dbtest.Values{"id": one[0], "property_id": "prp_one", "type": "Room", "name": one[1], "is_private": true, "is_active": true})
	}
}

// publish delivers all events to the subscriber.
func (p *post) publish() { p.publishAfter(0) }

// publishAfter delivers the events after the one with an id to the subscriber, and returns the id of the last one.
func (p *post) publishAfter(after int64) (last int64) {
	p.Helper()
	rows, err := p.d.View(p.Context()).Event.Query().Where(entevent.IDGT(after)).Order(entevent.ByID()).All(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	write(p.T, p.d, func(tx *db.Tx) error { return p.mails.Subscriber().Apply(tx, rows) })
	if len(rows) == 0 {
		return after
	}
	return rows[len(rows)-1].ID
}

func started(roomID string) func(reservation.Patch) {
	return func(patch reservation.Patch) {
		patch[reservation.State], patch[reservation.OwnSpaceID] = "started", roomID
	}
}

// A stay that begins by any way gets a mail with its code, and another one when the room changes.
func TestKeyIsMailed(t *testing.T) {
	eachPost(t, func(p *post) {
		p.room("spc_one", "Room 204")
		p.room("spc_two", "Room 305")
		stay := p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
		p.publish()
		p.publish()
		if all := p.deliver(); len(all) != 1 || all[0].State != string(mail.Waiting) || all[0].Kind != string(mail.Key) {
			p.Fatalf("before the lock confirms the code: %v", all)
		}
		p.clock.Advance(keyPatience)
		all := p.deliver()
		if len(all) != 1 || all[0].State != string(mail.InBox) {
			p.Fatalf("after the wait: %v", all)
		}
		text := p.text(all[0])
		code := p.pin(stay)
		if code == "" || !strings.Contains(text.Text, mail.Code{Digits: code}.Grouped()) || !strings.Contains(text.Text, "Room 204") || !strings.Contains(text.Text, "has not confirmed it") {
			p.Errorf("text: %s", text.Text)
		}
		p.book("1", "ana@example.com", -2*time.Hour, started("spc_two"))
		p.publish()
		p.clock.Advance(keyPatience)
		all = p.deliver()
		if len(all) != 2 || all[1].Kind != string(mail.KeyChanged) || !strings.Contains(p.text(all[1]).Text, "Room 305") {
			p.Errorf("after the move: %v", all)
		}
	})
}

// A guest who is moved to a room without a lock reads the new room and where the key is, once.
func TestMoveToARoomWithoutALock(t *testing.T) {
	eachPost(t, func(p *post) {
		p.room("spc_one", "Room 204")
		p.rooms("spc_two", "Room 305", "spc_three", "Room 306")
		p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
		last := p.publishAfter(0)
		p.clock.Advance(keyPatience)
		p.deliver()
		for i, move := range []struct{ roomID, room string }{{"spc_two", "Room 305"}, {"spc_two", "Room 305"}, {"spc_three", "Room 306"}} {
			p.change("1", "ana@example.com", -time.Hour, started(move.roomID))
			former := last
			last = p.publishAfter(former)
			p.publishAfter(former)
			p.clock.Advance(keyPatience)
			all := p.deliver()
			want := []int{2, 2, 3}[i]
			if len(all) != want || all[want-1].State != string(mail.InBox) || all[want-1].Kind != string(mail.KeyChanged) {
				p.Fatalf("%d. move: %d mails, want %d", i+1, len(all), want)
			}
			text := p.text(all[want-1]).Text
			if !strings.Contains(text, move.room) || !strings.Contains(text, "Your key waits at the desk.") || !strings.Contains(text, "/g/l/") || strings.Contains(text, " code:") || strings.Contains(text, "shows the code") {
				p.Errorf("%d. move: %s", i+1, text)
			}
		}
	})
}

// A code that cannot be mailed is a failed mail, of which staff are notified once. They can send it when the guest has an address.
func TestKeyWithoutAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		p.room("spc_one", "Room 204")
		p.book("1", "x.1@guest.booking.com", -time.Hour, started("spc_one"))
		p.publish()
		p.publish()
		p.clock.Advance(keyPatience)
		all := p.deliver()
		if len(all) != 1 || all[0].State != string(mail.Failed) || all[0].Failure != string(mail.FailedAddress) {
			p.Fatalf("mails: %v", all)
		}
		if notices := p.notices(); len(notices) != 1 || notices[0].Kind != "mailFailed" {
			p.Errorf("notices: %v", notices)
		}
		p.book("1", "ana@example.com", -time.Hour-keyPatience, started("spc_one"))
		write(p.T, p.d, func(tx *db.Tx) error { _, err := p.mails.Resend(tx, "prp_one", all[0].ID); return err })
		p.clock.Advance(keyPatience)
		if all := p.deliver(); len(all) != 2 || all[1].State != string(mail.InBox) || p.text(all[1]).To != "ana@example.com" {
			p.Errorf("after staff sent it again: %v", all)
		}
	})
}

// A guest who walked in without an address gets the code by mail when the PMS adds the address, once.
func TestKeyIsMailedWhenTheAddressIsAdded(t *testing.T) {
	eachPost(t, func(p *post) {
		p.room("spc_one", "Room 204")
		p.invite()
		p.change("1", "", -time.Hour, started("spc_one"))
		p.invite()
		p.publish()
		p.clock.Advance(keyPatience)
		if all := p.deliver(); len(all) != 1 || all[0].Failure != string(mail.FailedAddress) {
			p.Fatalf("without an address: %v", all)
		}
		for _, number := range []string{"N1", "N1-changed"} {
			p.change("1", "ana@example.com", -time.Hour, started("spc_one"), func(patch reservation.Patch) { patch[reservation.Number] = number })
			p.invite()
			p.clock.Advance(keyPatience)
			if all := p.deliver(); len(all) != 2 || all[1].Kind != string(mail.Key) || all[1].State != string(mail.InBox) || p.text(all[1]).To != "ana@example.com" {
				p.Errorf("%s: %v", number, all)
			}
		}
	})
}

// Pages promise a mail only if one can arrive.
func TestAddressOfGuest(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "Ana@example.com", 5*day)
		want := func(what, want string) {
			party, _, err := guest.ViewParty(p.d.View(p.Context()), p.mails.Keys, "prp_one", p.only())
			if err != nil {
				p.Fatal(err)
			}
			if got, err := p.mails.Address(p.d.View(p.Context()), party); err != nil || got != want {
				p.Errorf("%s: %q, %v; want %q", what, got, err, want)
			}
		}
		want("invited", "ana@example.com")
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		s.Answer(refuse(550, "no such user"), nil)
		p.invite()
		p.deliver()
		want("bounced", "")
		p.change("1", "bea@example.com", 5*day)
		want("changed", "bea@example.com")
		p.change("1", "x.1@guest.booking.com", 5*day)
		want("an agency's", "")
		p.change("1", "bea@example.com", 5*day)
		p.switchOff()
		want("switched off", "")
	})
}

// Without invitations, only a guest who checked in here gets a mail.
func TestKeyIsMailedOnlyWithLeave(t *testing.T) {
	eachPost(t, func(p *post) {
		p.switchOff()
		p.room("spc_one", "Room 204")
		stay := p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
		p.publish()
		if n := len(p.all()); n != 0 {
			p.Errorf("%d mails to a guest who asked for none", n)
		}
		dbtest.Insert(p, p.d, "stays", dbtest.Values{"id": "sty_one", "property_id": "prp_one", "reservation_id": stay, "began_at": p.clock.Now()})
		p.publish()
		if n := len(p.all()); n != 1 {
			p.Errorf("%d mails to a guest who checked in here, want 1", n)
		}
	})
}

// pin returns the PIN of a stay.
func (p *post) pin(reservationID string) string {
	p.Helper()
	pins, err := access.RevealPINs(access.Reconciler{Tx: p.d.View(p.Context()), Keys: p.keys}, "prp_one", reservationID)
	if err != nil {
		p.Fatal(err)
	}
	return pins.PIN
}

// The app of a guest in house follows a stay that the PMS prolongs, also if no guest is invited.
func TestSessionOfAProlongedStay(t *testing.T) {
	eachPost(t, func(p *post) {
		p.switchOff()
		p.room("spc_one", "Room 204")
		stay := p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
		p.publish()
		dbtest.Insert(p, p.d, "guest_sessions", dbtest.Values{
			"id": "ses_one", "property_id": "prp_one", "reservation_id": stay, "origin": guest.OriginMail, "mac": []byte("one"), "expires_at": p.clock.Now().Add(9 * day),
		})
		end := p.clock.Now().Add(30 * day).Truncate(time.Second)
		p.book("1", "ana@example.com", -time.Hour, started("spc_one"), func(patch reservation.Patch) { patch[reservation.To] = end.Format(time.RFC3339) })
		p.publish()
		if s, err := p.d.View(p.Context()).GuestSession.Get(p.Context(), "ses_one"); err != nil || !s.ExpiresAt.Equal(end.Add(7*day)) {
			p.Errorf("the session ends at %v, want seven days after %s; %v", s, end, err)
		}
	})
}
