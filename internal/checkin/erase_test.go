package checkin_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// The answers of a canceled stay are kept for 30 days after the latest cancelation, whatever the state was before.
func TestEraseCanceled(t *testing.T) {
	type step struct {
		after time.Duration // since the step before
		state string        // the PMS sends it; empty: nothing changes
		erase int           // what the sweep erases then
	}
	const wait = checkin.CanceledRetention
	for name, steps := range map[string][]step{
		"canceled":                           {{time.Hour, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}, {0, "", 0}},
		"started, then canceled":             {{time.Hour, "started", 0}, {time.Hour, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}},
		"processed, then canceled":           {{time.Hour, "started", 0}, {time.Hour, "processed", 0}, {time.Hour, "canceled", 0}, {wait, "", 1}},
		"taken back":                         {{time.Hour, "canceled", 0}, {time.Hour, "confirmed", 0}, {wait, "", 0}},
		"canceled again at the end":          {{time.Hour, "canceled", 0}, {wait, "confirmed", 0}, {0, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}},
		"canceled, and sent again unchanged": {{time.Hour, "canceled", 0}, {wait - time.Second, "canceled", 0}, {time.Second, "", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.begin()
				for i, s := range steps {
					x.clock.Advance(s.after)
					if s.state != "" {
						x.push(reservation.Patch{reservation.State: s.state, reservation.ToDate: fmt.Sprintf("2027-11-%02d", 10+i)})
						x.sweep()
					}
					x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
						n, err := checkin.EraseCanceled(tx, tx.Now().Add(-wait), 10)
						if n != s.erase {
							x.Errorf("step %d: erased %d, want %d", i, n, s.erase)
						}
						return err
					}))
				}
			})
		})
	}
}

// The answers of a stay that was checked in or processed before it was canceled are erased too.
func TestEraseCanceledAfterCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		x.clock.Advance(checkin.CanceledRetention + time.Hour)
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			n, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
			if n != 1 {
				x.Errorf("erased %d guests, want 1", n)
			}
			return err
		}))
	})
}

// Nothing that the guest or the check-in left at a canceled stay is kept longer. A mail that also lists a room that is not canceled is.
func TestEraseCanceledLeavesNothing(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		reserved := x.d.View(x.Context()).Reservation.GetX(x.Context(), x.key.ReservationID)
		mailOf := func(id string, more dbtest.Values) {
			values := dbtest.Values{"id": id, "property_id": x.key.PropertyID, "reservation_id": x.key.ReservationID, "created_at": x.clock.Now()}
			maps.Copy(values, more)
			dbtest.Insert(x, x.d, "mails", values)
		}
		mailOf("mai_own", nil)
		mailOf("mai_group", nil)
		dbtest.Insert(x, x.d, "reservations", dbtest.Values{"id": "rsv_other", "property_id": x.key.PropertyID, "integration_id": reserved.IntegrationID,
			"pms_id": "other", "updated_at": x.clock.Now()})
		dbtest.Insert(x, x.d, "invitations", dbtest.Values{"property_id": x.key.PropertyID, "reservation_id": "rsv_other", "mail_id": "mai_group", "seen_at": x.clock.Now()})
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		x.clock.Advance(checkin.CanceledRetention)
		mailOf("mai_late", nil)
		erase := func() (n int) {
			x.must(x.d.Write(x.Context(), func(tx *db.Tx) (err error) {
				n, err = checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
				return err
			}))
			return n
		}
		if first, second := erase(), erase(); first == 0 || second != 0 {
			x.Errorf("the sweeps erased %d, then %d", first, second)
		}
		view, ctx := x.d.View(x.Context()), x.Context()
		if n := view.Guest.Query().CountX(ctx) + view.Stay.Query().CountX(ctx) + view.Disclosure.Query().CountX(ctx); n != 0 {
			x.Errorf("%d rows of the guest are left", n)
		}
		mails := view.Mail.Query().IDsX(ctx)
		slices.Sort(mails)
		if want := []string{"mai_group", "mai_late"}; !slices.Equal(mails, want) {
			x.Errorf("mails %v are left, want %v", mails, want)
		}
		x.push(reservation.Patch{reservation.State: "confirmed", reservation.ToDate: "2027-11-10"})
		x.sweep()
		_, err := x.service.Evaluate(x.Context(), x.key) // the stay begins again
		x.must(err)
	})
}

// The law wants the official forms of guests who had arrived: their stay is erased after the forms are in the guest register.
func TestEraseCanceledWaitsForTheRegister(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		for _, state := range []string{"started", "canceled"} {
			x.push(reservation.Patch{reservation.State: state})
			x.sweep()
		}
		x.clock.Advance(checkin.CanceledRetention)
		erase := func() (n int) {
			x.must(x.d.Write(x.Context(), func(tx *db.Tx) (err error) {
				n, err = checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
				return err
			}))
			return n
		}
		change := func(set func(u *ent.GuestUpdate)) {
			x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
				u := tx.Guest.Update().Where(entguest.PropertyID(x.key.PropertyID), entguest.ReservationID(x.key.ReservationID))
				set(u)
				return u.Exec(tx.Context())
			}))
		}
		change(func(u *ent.GuestUpdate) { u.SetLaw("AT") })
		if n := erase(); n != 0 {
			x.Errorf("erased %d stays with an open official form", n)
		}
		change(func(u *ent.GuestUpdate) { u.SetEraseAt(x.clock.Now().AddDate(7, 0, 0)) })
		if n := erase(); n != 1 {
			x.Errorf("erased %d stays whose forms are in the register, want 1", n)
		}
	})
}

// The notice of unread messages ends with the messages: no person can read them any more.
func TestEraseCanceledEndsTheNoticeOfUnreadMessages(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		guestID := x.d.View(x.Context()).Guest.Query().FirstIDX(x.Context())
		unread := conversation.NoticeKey(conversation.Key{GuestID: guestID})
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			return notice.Add(tx, notice.Notice{PropertyID: x.key.PropertyID, Kind: notice.MessageUnread, Subject: x.key.ReservationID, OnceKey: unread, Params: message.Params{"number": "8790"}})
		}))
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		x.clock.Advance(checkin.CanceledRetention)
		for _, erase := range []bool{false, true} {
			if erase {
				x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
					_, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
					return err
				}))
			}
			if open, err := notice.IsOpen(x.d.View(x.Context()), unread); err != nil || open == erase {
				x.Errorf("erased: %t, and the notice is open: %t, %v", erase, open, err)
			}
		}
	})
}

// What the guests of a canceled stay call their phones is erased with the rest that they left.
func TestEraseCanceledErasesTheNamesOfPhones(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		dbtest.Insert(x, x.d, "phones", dbtest.Values{"id": "phn_1", "property_id": propertyID, "reservation_id": x.key.ReservationID, "label": []byte("sealed")})
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		for _, step := range []struct {
			after time.Duration
			named bool
		}{{checkin.CanceledRetention - time.Second, true}, {time.Second, false}} {
			x.clock.Advance(step.after)
			x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
				_, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
				return err
			}))
			if named := len(x.d.View(x.Context()).Phone.GetX(x.Context(), "phn_1").Label) > 0; named != step.named {
				t.Errorf("after %s the phone has a name: %t", step.after, named)
			}
		}
	})
}
