package mobilekey_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/keystatus"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/smartkey"
	"latchkey.dev/internal/test/dbtest"
)

// TestReportedOpeningsAreRecorded: a bridge reports, late, openings with a phone's key. The key identifies the phone, and its
// present tokens record the opened door.
func TestReportedOpeningsAreRecorded(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		l := d.link()
		look, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, l)
		d.must(err)
		row, err := d.enrol(l, d.statement(d.phone(), look.Challenge, smartkey.Enrol))
		d.must(err)
		d.bridge("brg_here")
		dbtest.Insert(t, d.db, "grants", dbtest.Values{"id": "grt_1", "property_id": propertyID, "reservation_id": row.ReservationID})
		holds := func(id string, number int64, ends time.Time, locks ...string) {
			d.change(func(tx *db.Tx) error {
				return tx.KeyStatus.Create().SetID(id).SetPropertyID(propertyID).SetNumber(number).SetPhoneID(row.ID).SetGrantID("grt_1").SetKeyGeneration(1).
					SetLockIds(locks).SetSince(start).SetEndsAt(ends).Exec(tx.Context())
			})
		}
		d.change(func(tx *db.Tx) error {
			return tx.Lock.Create().SetID("lck_1").SetPropertyID(propertyID).SetBridgeID("brg_here").SetAddress("front").SetName("front").SetKind("lock").
				SetCapabilities(slot.Capabilities{}).SetStatus(lock.Status{}).SetCreatedAt(start).Exec(tx.Context())
		})
		holds("kst_now", 1, start.Add(time.Hour), "lck_1")
		holds("kst_over", 2, start, "lck_1")
		holds("kst_elsewhere", 3, start.Add(time.Hour), "lck_2")
		tell := func(h lock.LockEvent) lock.LockEvent {
			batch := []lock.LockEvent{h}
			d.change(func(tx *db.Tx) error {
				if err := mobilekey.AttributeToPhones(tx, propertyID, batch); err != nil {
					return err
				}
				return mobilekey.RecordOpenings(tx, propertyID, "brg_here", batch)
			})
			return batch[0]
		}
		opened := func() (out []string) {
			for _, s := range d.db.View(t.Context()).KeyStatus.Query().AllX(t.Context()) {
				if slices.Contains(s.OpenedIds, "lck_1") && slices.Contains(s.CheckedIds, "lck_1") {
					out = append(out, s.ID)
				}
			}
			return out
		}
		for _, h := range []lock.LockEvent{
			{Address: "front", Kind: "denied", Phone: row.KeyID}, {Address: "front", Kind: "opened", Phone: "0011223344556677"},
			{Address: "front", Kind: "opened"}, {Address: "back", Kind: "opened", Phone: row.KeyID},
		} {
			got := tell(h)
			if known := h.Phone == row.KeyID; (got.Actor == "phone:"+row.ID) != known || !known && got.Actor != "" {
				t.Errorf("%+v is of %q", h, got.Actor)
			}
			if n := opened(); len(n) != 0 {
				t.Errorf("after %+v: %v", h, n)
			}
		}
		for range 2 {
			tell(lock.LockEvent{Address: "front", Kind: "opened", Phone: row.KeyID})
		}
		if got := opened(); !slices.Equal(got, []string{"kst_now"}) {
			t.Errorf("noted on %v", got)
		}
	})
}

// TestLateReportsCountForTheGrantOfTheirTime: a phone lost its access and got another grant later, while a bridge was offline. An
// opening under the former grant proves nothing about the present token.
func TestLateReportsCountForTheGrantOfTheirTime(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		l := d.link()
		look, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, l)
		d.must(err)
		row, err := d.enrol(l, d.statement(d.phone(), look.Challenge, smartkey.Enrol))
		d.must(err)
		d.bridge("brg_here")
		again := start.Add(48 * time.Hour)
		d.clock.Set(again.Add(time.Hour))
		d.change(func(tx *db.Tx) error {
			for id, began := range map[string]time.Time{"grt_1": start, "grt_2": again} {
				err := tx.Grant.Create().SetID(id).SetPropertyID(propertyID).SetReservationID(row.ReservationID).SetPlacedAt(start).SetNotBefore(start).SetNotAfter(start.Add(96 * time.Hour)).
					SetCreatedAt(began).Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			err := tx.Lock.Create().SetID("lck_1").SetPropertyID(propertyID).SetBridgeID("brg_here").SetAddress("front").SetName("front").SetKind("lock").
				SetCapabilities(slot.Capabilities{}).SetStatus(lock.Status{}).SetCreatedAt(start).Exec(tx.Context())
			if err != nil {
				return err
			}
			return tx.KeyStatus.Create().SetID("kst_now").SetPropertyID(propertyID).SetNumber(1).SetPhoneID(row.ID).SetGrantID("grt_2").SetKeyGeneration(1).
				SetLockIds([]string{"lck_1"}).SetSince(again).SetEndsAt(again.Add(24 * time.Hour)).Exec(tx.Context())
		})
		for _, tc := range []struct {
			at    time.Time
			grant string
			noted int
		}{
			{start.Add(-time.Minute), "grt_1", 0}, // by a clock that is behind
			{start.Add(time.Hour), "grt_1", 0},
			{again, "grt_2", 1},
		} {
			batch := []lock.LockEvent{{Address: "front", Kind: "opened", Phone: row.KeyID, OccurredAt: tc.at}}
			d.change(func(tx *db.Tx) error {
				if err := mobilekey.AttributeToPhones(tx, propertyID, batch); err != nil {
					return err
				}
				return mobilekey.RecordOpenings(tx, propertyID, "brg_here", batch)
			})
			held := d.db.View(t.Context()).KeyStatus.GetX(t.Context(), "kst_now")
			if batch[0].GrantID != tc.grant || len(held.OpenedIds) != tc.noted {
				t.Errorf("of %v: the access is %q, noted on what is held now: %v", tc.at, batch[0].GrantID, held.OpenedIds)
			}
		}
	})
}

// TestCommandsHaveTheGrantOfTheStay: the command is stored with the grant of the phone's stay, so that its result appears in the
// story of that stay, whenever it is reported.
func TestCommandsHaveTheGrantOfTheStay(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		l := d.link()
		look, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, l)
		d.must(err)
		row, err := d.enrol(l, d.statement(d.phone(), look.Challenge, smartkey.Enrol))
		d.must(err)
		d.bridge("brg_here")
		d.change(func(tx *db.Tx) error {
			if err := tx.Bridge.UpdateOneID("brg_here").SetOnline(true).Exec(tx.Context()); err != nil {
				return err
			}
			err := tx.Grant.Create().SetID("grt_1").SetPropertyID(propertyID).SetReservationID(row.ReservationID).SetPlacedAt(start).SetNotBefore(start).
				SetNotAfter(start.Add(time.Hour)).SetCreatedAt(start).Exec(tx.Context())
			if err != nil {
				return err
			}
			return tx.Lock.Create().SetID("lck_1").SetPropertyID(propertyID).SetBridgeID("brg_here").SetAddress("front").SetName("front").SetKind("lock").
				SetCapabilities(slot.Capabilities{RemoteUnlock: true}).SetStatus(lock.Status{Online: true}).SetCreatedAt(start).Exec(tx.Context())
		})
		for phoneID, want := range map[string]string{row.ID: "grt_1", "phn_gone": "", "": ""} {
			b := mobilekey.Bearer{Token: smartkey.Token{Property: propertyID}, PhoneID: phoneID}
			var order lock.UnlockCommand
			d.change(func(tx *db.Tx) (err error) {
				order, err = b.StoreCommand(tx, lock.Node{}, d.db.View(t.Context()).Lock.GetX(t.Context(), "lck_1"), smartkey.Proof{Operation: smartkey.Unlock}, []byte("p"), time.Now().Add(lock.MaxDeadline))
				return err
			})
			if got := d.db.View(t.Context()).Act.GetX(t.Context(), order.CommandID).GrantID; got != want {
				t.Errorf("phone %q: the access is %q, want %q", phoneID, got, want)
			}
		}
	})
}

// TestOutdatedTokensAreNotRelayed: a change of the stay counts from its commit, although the bridges have no new status list yet.
func TestOutdatedTokensAreNotRelayed(t *testing.T) {
	const index = 7
	for what, change := range map[string]func(tx *db.Tx, phoneID string) error{
		"": func(*db.Tx, string) error { return nil },
		"checked out": func(tx *db.Tx, _ string) error {
			return tx.Grant.UpdateOneID("grt_1").SetEndedAt(tx.Now()).Exec(tx.Context())
		},
		"moved": func(tx *db.Tx, _ string) error {
			return tx.Grant.UpdateOneID("grt_1").AddKeyGeneration(1).Exec(tx.Context())
		},
		"phone revoked": func(tx *db.Tx, phoneID string) error {
			return tx.Phone.UpdateOneID(phoneID).SetRevokedAt(tx.Now()).Exec(tx.Context())
		},
		"revoked, and not on the bridges": func(tx *db.Tx, _ string) error {
			return tx.KeyStatus.Update().Where(keystatus.Number(index)).SetRevokedAt(tx.Now()).Exec(tx.Context())
		},
	} {
		withStay(t, func(t *testing.T, d *fixture) {
			l := d.link()
			look, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, l)
			d.must(err)
			row, err := d.enrol(l, d.statement(d.phone(), look.Challenge, smartkey.Enrol))
			d.must(err)
			d.bridge("brg_here")
			d.change(func(tx *db.Tx) error {
				return errors.Join(
					tx.Bridge.UpdateOneID("brg_here").SetOnline(true).Exec(tx.Context()),
					tx.Grant.Create().SetID("grt_1").SetPropertyID(propertyID).SetReservationID(row.ReservationID).SetPlacedAt(start).SetNotBefore(start).
						SetNotAfter(start.Add(time.Hour)).SetKeyGeneration(1).SetCreatedAt(start).Exec(tx.Context()),
					tx.Lock.Create().SetID("lck_1").SetPropertyID(propertyID).SetBridgeID("brg_here").SetAddress("front").SetName("front").SetKind("lock").
						SetCapabilities(slot.Capabilities{RemoteUnlock: true}).SetStatus(lock.Status{Online: true}).SetCreatedAt(start).Exec(tx.Context()),
					tx.KeyStatus.Create().SetID("kst_1").SetPropertyID(propertyID).SetNumber(index).SetPhoneID(row.ID).SetGrantID("grt_1").SetKeyGeneration(1).
						SetLockIds(nil).SetSince(start).SetEndsAt(start.Add(time.Hour)).Exec(tx.Context()))
			})
			d.change(func(tx *db.Tx) error { return change(tx, row.ID) })
			b := mobilekey.Bearer{Token: smartkey.Token{Property: propertyID, StatusIndex: index}, PhoneID: row.ID}
			err = d.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := b.StoreCommand(tx, lock.Node{}, d.db.View(t.Context()).Lock.GetX(t.Context(), "lck_1"), smartkey.Proof{Operation: smartkey.Unlock}, []byte("p"), time.Now().Add(lock.MaxDeadline))
				return err
			})
			if what == "" {
				d.must(err)
			} else if !fault.Has(err, fault.SmartKeyRefused) || !strings.Contains(err.Error(), "revoked: the stay") {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}
