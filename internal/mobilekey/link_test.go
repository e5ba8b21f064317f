package mobilekey_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/smartkey"
	"latchkey.dev/internal/test/dbtest"
)

// link creates a link for the reservation.
func (d *fixture) link() string {
	d.t.Helper()
	var l mobilekey.Link
	d.change(func(tx *db.Tx) (err error) {
		l, err = mobilekey.CreateLink(tx, d.keys, mobilekey.LinkSpec{PropertyID: propertyID, ReservationID: "rsv_1", Lifetime: time.Hour})
		return err
	})
	return l.Secret
}

func (d *fixture) statement(p *smartkey.Phone, challenge []byte, why smartkey.Purpose) []byte {
	d.t.Helper()
	raw, err := p.SignPossession(smartkey.PossessionSpec{Property: propertyID, Purpose: why, Challenge: challenge}, d.clock.Now())
	d.must(err)
	return raw
}

func (d *fixture) enrol(link string, raw []byte) (row *ent.Phone, err error) {
	err = d.db.Write(d.t.Context(), func(tx *db.Tx) (err error) {
		row, _, err = mobilekey.Enrol(tx, d.keys, link, raw, "")
		return err
	})
	return row, err
}

func (d *fixture) phone() *smartkey.Phone {
	d.t.Helper()
	p, err := smartkey.NewPhone(rand.Reader)
	d.must(err)
	return p
}

// stored creates a reservation without access.
func stored(tx *db.Tx) error {
	return tx.Reservation.Create().SetID("rsv_1").SetPropertyID(propertyID).SetIntegrationID("int_1").SetPmsID("S").SetPmsNumber("1").
		SetBooker([]byte("sealed")).SetState("confirmed").SetFromAt(start).SetToAt(start.Add(48 * time.Hour)).
		SetUpdatedAt(start).SetCreatedAt(start).Exec(tx.Context())
}

func withStay(t *testing.T, f func(t *testing.T, d *fixture)) {
	each(t, func(t *testing.T, d *fixture) {
		d.change(func(tx *db.Tx) error {
			return tx.Property.UpdateOneID(propertyID).SetName("House").SetTimeZone("Europe/Lisbon").Exec(tx.Context())
		})
		dbtest.Insert(t, d.db, "integrations", dbtest.Values{"id": "int_1", "property_id": propertyID})
		d.change(stored)
		f(t, d)
	})
}

func TestLinkEnrolsOnePhone(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		link := d.link()
		look, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, link)
		d.must(err)
		var wait sync.WaitGroup
		won := make(chan error, 8)
		for range cap(won) {
			raw := d.statement(d.phone(), look.Challenge, smartkey.Enrol)
			wait.Go(func() {
				_, err := d.enrol(link, raw)
				won <- err
			})
		}
		wait.Wait()
		close(won)
		enrolled := 0
		for err := range won {
			if err == nil {
				enrolled++
			} else if !fault.Has(err, fault.LinkInvalid) {
				t.Errorf("a second phone: %v", err)
			}
		}
		if enrolled != 1 {
			t.Errorf("%d phones enrolled with one link", enrolled)
		}
	})
}

// A phone stores whose it is, because its session is deleted a day after it expires.
func TestPhoneBelongsToTheGuestOfItsLink(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		for _, guestID := range []string{"", "gst_companion"} {
			var link mobilekey.Link
			d.change(func(tx *db.Tx) (err error) {
				link, err = mobilekey.CreateLink(tx, d.keys, mobilekey.LinkSpec{PropertyID: propertyID, ReservationID: "rsv_1", GuestID: guestID})
				return err
			})
			look, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, link.Secret)
			d.must(err)
			row, err := d.enrol(link.Secret, d.statement(d.phone(), look.Challenge, smartkey.Enrol))
			d.must(err)
			if row.GuestID == nil || *row.GuestID != guestID {
				t.Errorf("the phone of %q belongs to %v", guestID, row.GuestID)
			}
		}
	})
}

func TestEnrolmentRefusals(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		link, other := d.link(), d.link()
		look := func(l string) []byte {
			v, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, l)
			d.must(err)
			return v.Challenge
		}
		p := d.phone()
		good := look(link)
		for name, tc := range map[string]struct {
			link   string
			raw    []byte
			reason fault.Reason
		}{
			"another link's challenge": {link, d.statement(p, look(other), smartkey.Enrol), fault.SmartKeyRefused},
			"a challenge of one's own": {link, d.statement(p, make([]byte, 32), smartkey.Enrol), fault.SmartKeyRefused},
			"for another purpose":      {link, d.statement(p, good, smartkey.Renew), fault.SmartKeyRefused},
			"no possession":            {link, []byte("no"), fault.SmartKeyRefused},
			"no link":                  {keyring.NewToken(keyring.PhoneLink), d.statement(p, good, smartkey.Enrol), fault.LinkInvalid},
			"another token":            {keyring.NewToken(keyring.StaffToken), d.statement(p, good, smartkey.Enrol), fault.LinkInvalid},
		} {
			if _, err := d.enrol(tc.link, tc.raw); !fault.Has(err, tc.reason) {
				t.Errorf("%s: %v; want %s", name, err, tc.reason)
			}
		}
		d.pass(5 * time.Minute)
		if _, err := d.enrol(link, d.statement(p, good, smartkey.Enrol)); !fault.Has(err, fault.SmartKeyRefused) {
			t.Errorf("a challenge of five minutes ago: %v", err)
		}
		fresh := look(link)
		d.pass(56 * time.Minute)
		if _, err := d.enrol(link, d.statement(p, fresh, smartkey.Enrol)); !fault.Has(err, fault.LinkInvalid) {
			t.Errorf("an expired link: %v", err)
		}
	})
}

func TestChallengeCanBeAnsweredOnce(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		link := d.link()
		look, err := mobilekey.DescribeLink(d.db.View(t.Context()), d.keys, link)
		d.must(err)
		p := d.phone()
		row, err := d.enrol(link, d.statement(p, look.Challenge, smartkey.Enrol))
		d.must(err)
		renew := func(p *smartkey.Phone, challenge []byte) error {
			raw := d.statement(p, challenge, smartkey.Renew)
			return d.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := mobilekey.Renew(tx, d.keys, row.ID, raw)
				return err
			})
		}
		ask := func() []byte {
			d.pass(time.Second)
			_, c, err := mobilekey.NewRenewalChallenge(d.db.View(t.Context()), d.keys, row.ID)
			d.must(err)
			return c
		}
		if err := renew(d.phone(), ask()); !fault.Has(err, fault.SmartKeyRefused) {
			t.Errorf("with another key: %v", err)
		}
		// The stay has no access: the phone gets the reason, and the challenge stays unused.
		if err := renew(p, ask()); !fault.Has(err, fault.Reason(access.NotCheckedIn)) {
			t.Errorf("without access: %v", err)
		}
		for name, set := range map[string]func(*ent.ReservationUpdate) *ent.ReservationUpdate{
			"checked out": func(u *ent.ReservationUpdate) *ent.ReservationUpdate { return u.SetState("processed") },
			"cancelled":   func(u *ent.ReservationUpdate) *ent.ReservationUpdate { return u.SetState("canceled") },
			"past its end": func(u *ent.ReservationUpdate) *ent.ReservationUpdate {
				return u.SetState("started").SetToAt(start.Add(-time.Hour))
			},
			"confirmed again": func(u *ent.ReservationUpdate) *ent.ReservationUpdate {
				return u.SetState("confirmed").SetToAt(start.Add(time.Hour))
			},
		} {
			d.change(func(tx *db.Tx) error { return set(tx.Reservation.Update()).Exec(tx.Context()) })
			want := fault.StayEnded
			if name == "confirmed again" {
				want = fault.Reason(access.NotCheckedIn)
			}
			if err := renew(p, ask()); !fault.Has(err, want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		used := ask()
		d.change(func(tx *db.Tx) error { // as after a successful renewal
			return tx.Phone.UpdateOneID(row.ID).SetChallengeAt(d.clock.Now().UnixMicro()).Exec(tx.Context())
		})
		if err := renew(p, used); !fault.Has(err, fault.SmartKeyRefused) {
			t.Errorf("a challenge that was answered: %v", err)
		}
		d.change(func(tx *db.Tx) error {
			_, err := mobilekey.Revoke(tx, d.keys, propertyID, row.ID)
			return err
		})
		if err := renew(p, ask()); !fault.Has(err, fault.SmartKeyRefused) {
			t.Errorf("a revoked phone: %v", err)
		}
	})
}

func TestLinksOfAStayAreLimited(t *testing.T) {
	withStay(t, func(t *testing.T, d *fixture) {
		var err error
		n := 0
		for ; err == nil && n < 100; n++ {
			err = d.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := mobilekey.CreateLink(tx, d.keys, mobilekey.LinkSpec{PropertyID: propertyID, ReservationID: "rsv_1"})
				return err
			})
		}
		if !fault.Has(err, fault.InUse) || n != 21 {
			t.Errorf("after %d links: %v", n, err)
		}
		d.pass(48*time.Hour + time.Minute)
		d.change(func(tx *db.Tx) error { return mobilekey.Sweep(tx, 100) })
		if left := d.db.View(t.Context()).PhoneLink.Query().CountX(t.Context()); left != 0 {
			t.Errorf("%d expired links remain", left)
		}
	})
}
