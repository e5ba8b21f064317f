package phone_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"latchkey.dev/ent"
	entissuerkey "latchkey.dev/ent/issuerkey"
	entkeyset "latchkey.dev/ent/keyset"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/db/dbtest"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/phone"
	"latchkey.dev/internal/smartkey"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

const house = "prp_one"

// desk is one property with a stay, and a clock to turn.
type desk struct {
	t     *testing.T
	db    *db.DB
	keys  *keyring.Ring
	clock *clock.Fixed
}

func each(t *testing.T, f func(t *testing.T, d *desk)) {
	t.Helper()
	c := clock.At(start)
	dbtest.Each(t, func(t *testing.T, base *db.DB) {
		c.Set(start)
		d := &desk{t: t, db: base, clock: c}
		kek, err := keyring.NewKEK()
		d.must(err)
		d.keys, err = keyring.Open(t.Context(), keyring.Source{Keys: keyring.KEKs{kek}}, db.KeyStore{DB: base})
		d.must(err)
		d.must(d.keys.EnsureKey(t.Context(), house))
		d.change(func(tx *db.Tx) error { return phone.Ensure(tx, d.keys, house) })
		f(t, d)
	}, dbtest.Clock(c))
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) change(fn func(tx *db.Tx) error) {
	d.t.Helper()
	d.must(d.db.Write(d.t.Context(), fn))
}

func (d *desk) pass(by time.Duration) { d.clock.Set(d.clock.Now().Add(by)) }

// reconcile does what the sweep does.
func (d *desk) reconcile() (told bool) {
	d.t.Helper()
	d.change(func(tx *db.Tx) (err error) {
		told, err = phone.Reconcile(tx, d.keys, house)
		return err
	})
	return told
}

// verifier is a bridge as far as it follows keys and lists.
type verifier struct {
	d    *desk
	keys smartkey.KeySet
	list smartkey.List
}

func (d *desk) verifier() *verifier {
	d.t.Helper()
	p, err := phone.Since(d.t.Context(), d.db.Read(), house, 0, 0)
	d.must(err)
	if len(p.KeySets) != 1 {
		d.t.Fatalf("a verifier without a key set is told %d", len(p.KeySets))
	}
	v := &verifier{d: d}
	v.keys, err = smartkey.PinKeySet(p.KeySets[0], house)
	d.must(err)
	v.list, err = v.keys.OpenList(p.List)
	d.must(err)
	return v
}

// follow takes all that was published since.
func (v *verifier) follow() {
	v.d.t.Helper()
	p, err := phone.Since(v.d.t.Context(), v.d.db.Read(), house, v.keys.Version(), v.list.Number())
	v.d.must(err)
	for _, raw := range p.KeySets {
		v.keys, err = v.keys.Advance(raw)
		v.d.must(err)
	}
	if len(p.List) > 0 {
		v.list, err = v.keys.AdvanceList(v.list, p.List)
		v.d.must(err)
	}
}

func (v *verifier) current() string {
	k, err := v.keys.Current()
	v.d.must(err)
	return k.Key.KeyID().String()
}

func TestAnIssuerKeyIsReplacedStepByStep(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		present, away := d.verifier(), d.verifier()
		first := present.current()
		d.change(func(tx *db.Tx) error {
			_, err := phone.Rotate(tx, d.keys, house, false)
			return err
		})
		if err := d.db.Write(t.Context(), func(tx *db.Tx) error { _, err := phone.Rotate(tx, d.keys, house, false); return err }); !fault.Has(err, fault.InUse) {
			t.Errorf("a second replacement meanwhile: %v", err)
		}
		present.follow()
		if n := len(present.keys.Keys()); n != 2 || present.current() != first {
			t.Fatalf("announced: %d keys, %s signs", n, present.current())
		}
		if d.reconcile() {
			t.Error("the next step comes at once")
		}
		d.pass(11 * time.Minute)
		d.reconcile()
		present.follow()
		second := present.current()
		if n := len(present.keys.Keys()); n != 2 || second == first {
			t.Fatalf("in use: %d keys, %s signs", n, second)
		}
		d.pass(23 * time.Hour)
		d.reconcile()
		present.follow()
		if n := len(present.keys.Keys()); n != 2 {
			t.Fatalf("the old key has left while its tokens serve: %d keys", n)
		}
		d.pass(2 * time.Hour)
		d.reconcile()
		present.follow()
		if n := len(present.keys.Keys()); n != 1 || present.current() != second {
			t.Fatalf("at the end: %d keys, %s signs", n, present.current())
		}
		away.follow()
		if away.current() != second || away.list.Number() != present.list.Number() {
			t.Errorf("a verifier that was away: %s signs, list %d", away.current(), away.list.Number())
		}
		left := d.db.Read().IssuerKey.Query().Where(entissuerkey.PropertyID(house), entissuerkey.SealedNotNil()).AllX(t.Context())
		if len(left) != 1 || left[0].KeyID != second {
			t.Errorf("%d private keys are kept", len(left))
		}
		if n := d.db.Read().KeySet.Query().Where(entkeyset.PropertyID(house)).CountX(t.Context()); n != 4 {
			t.Errorf("%d key sets are kept", n)
		}
	})
}

func TestAStolenKeyIsReplacedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		v := d.verifier()
		first := v.current()
		for range 12 { // more than is told at once
			d.change(func(tx *db.Tx) error {
				_, err := phone.Rotate(tx, d.keys, house, true)
				return err
			})
		}
		p, err := phone.Since(t.Context(), d.db.Read(), house, v.keys.Version(), v.list.Number())
		d.must(err)
		if len(p.KeySets) != 8 || p.Version != 13 {
			t.Errorf("%d key sets at once, up to %d", len(p.KeySets), p.Version)
		}
		for _, raw := range p.KeySets {
			v.keys, err = v.keys.Advance(raw)
			d.must(err)
		}
		v.follow()
		if n := len(v.keys.Keys()); n != 1 || v.current() == first || v.keys.Version() != 13 {
			t.Errorf("%d keys, version %d", n, v.keys.Version())
		}
	})
}

func TestListsStayYoung(t *testing.T) {
	each(t, func(t *testing.T, d *desk) {
		v := d.verifier()
		if v.list.Number() == 0 || v.list.Size() < 1024 {
			t.Fatalf("the first list: number %d, %d indexes", v.list.Number(), v.list.Size())
		}
		if d.reconcile() {
			t.Error("a list is made anew although nothing changed")
		}
		before := v.list.Number()
		for range 5 {
			d.pass(61 * time.Minute)
			due, _, err := phone.Inspect(d.db.View(t.Context()), house)
			d.must(err)
			if !due || !d.reconcile() {
				t.Error("an old list is not made anew")
			}
		}
		v.follow()
		if v.list.Number() != before+5 || !v.list.IssuedAt().Equal(d.clock.Now()) {
			t.Errorf("list %d of %v", v.list.Number(), v.list.IssuedAt())
		}
	})
}

// link makes a reservation and a link for it.
func (d *desk) link() string {
	d.t.Helper()
	var l phone.Link
	d.change(func(tx *db.Tx) (err error) {
		l, err = phone.CreateLink(tx, d.keys, house, "rsv_1", time.Hour)
		return err
	})
	return l.Secret
}

func (d *desk) statement(p *smartkey.Phone, challenge []byte, why smartkey.Purpose) []byte {
	d.t.Helper()
	raw, err := p.Possess(smartkey.Question{Property: house, Purpose: why, Challenge: challenge}, d.clock.Now())
	d.must(err)
	return raw
}

func (d *desk) enrol(link string, raw []byte) (row *ent.Phone, err error) {
	err = d.db.Write(d.t.Context(), func(tx *db.Tx) (err error) {
		row, _, err = phone.Enrol(tx, d.keys, link, raw, "")
		return err
	})
	return row, err
}

func (d *desk) phone() *smartkey.Phone {
	d.t.Helper()
	p, err := smartkey.NewPhone(rand.Reader)
	d.must(err)
	return p
}

// stored makes a reservation without access.
func stored(tx *db.Tx) error {
	return tx.Reservation.Create().SetID("rsv_1").SetPropertyID(house).SetIntegrationID("int_1").SetPmsID("S").SetPmsNumber("1").
		SetBookerLastName("Lovelace").SetState("confirmed").SetFromAt(start).SetToAt(start.Add(48 * time.Hour)).
		SetUpdatedAt(start).SetCreatedAt(start).Exec(tx.Context())
}

func withStay(t *testing.T, f func(t *testing.T, d *desk)) {
	each(t, func(t *testing.T, d *desk) {
		d.change(func(tx *db.Tx) error {
			_, err := tx.Property.Create().SetID(house).SetName("House").SetTimeZone("Europe/Lisbon").SetCreatedAt(start).Save(tx.Context())
			return err
		})
		d.change(stored)
		f(t, d)
	})
}

func TestALinkServesOnePhone(t *testing.T) {
	withStay(t, func(t *testing.T, d *desk) {
		link := d.link()
		look, err := phone.LookAt(d.db.View(t.Context()), d.keys, link)
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
		joined := 0
		for err := range won {
			if err == nil {
				joined++
			} else if !fault.Has(err, fault.LinkInvalid) {
				t.Errorf("a phone that came late: %v", err)
			}
		}
		if joined != 1 {
			t.Errorf("%d phones joined over one link", joined)
		}
	})
}

func TestWhatEnrolsNobody(t *testing.T) {
	withStay(t, func(t *testing.T, d *desk) {
		link, other := d.link(), d.link()
		look := func(l string) []byte {
			v, err := phone.LookAt(d.db.View(t.Context()), d.keys, l)
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
			t.Errorf("a link that is over: %v", err)
		}
	})
}

func TestAChallengeServesOnce(t *testing.T) {
	withStay(t, func(t *testing.T, d *desk) {
		link := d.link()
		look, err := phone.LookAt(d.db.View(t.Context()), d.keys, link)
		d.must(err)
		p := d.phone()
		row, err := d.enrol(link, d.statement(p, look.Challenge, smartkey.Enrol))
		d.must(err)
		renew := func(p *smartkey.Phone, challenge []byte) error {
			raw := d.statement(p, challenge, smartkey.Renew)
			return d.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := phone.Renew(tx, d.keys, row.ID, raw)
				return err
			})
		}
		ask := func() []byte {
			d.pass(time.Second)
			_, c, err := phone.Question(d.db.View(t.Context()), d.keys, row.ID)
			d.must(err)
			return c
		}
		if err := renew(d.phone(), ask()); !fault.Has(err, fault.SmartKeyRefused) {
			t.Errorf("with another key: %v", err)
		}
		// The stay has no access: that is told, and nothing is used up.
		if err := renew(p, ask()); !fault.Has(err, fault.NotCheckedIn) {
			t.Errorf("without access: %v", err)
		}
		used := ask()
		d.change(func(tx *db.Tx) error { // as a renewal that went well leaves it
			return tx.Phone.UpdateOneID(row.ID).SetChallengeAt(d.clock.Now().UnixMicro()).Exec(tx.Context())
		})
		if err := renew(p, used); !fault.Has(err, fault.SmartKeyRefused) {
			t.Errorf("a challenge that was answered: %v", err)
		}
		d.change(func(tx *db.Tx) error {
			_, err := phone.Revoke(tx, d.keys, house, row.ID)
			return err
		})
		if err := renew(p, ask()); !fault.Has(err, fault.SmartKeyRefused) {
			t.Errorf("a phone that was shut out: %v", err)
		}
	})
}

func TestLinksOfAStayAreBounded(t *testing.T) {
	withStay(t, func(t *testing.T, d *desk) {
		var err error
		n := 0
		for ; err == nil && n < 100; n++ {
			err = d.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := phone.CreateLink(tx, d.keys, house, "rsv_1", 0)
				return err
			})
		}
		if !fault.Has(err, fault.InUse) || n != 21 {
			t.Errorf("after %d links: %v", n, err)
		}
		d.pass(48*time.Hour + time.Minute)
		d.change(func(tx *db.Tx) error { return phone.Sweep(tx, 100) })
		if left := d.db.Read().PhoneLink.Query().CountX(t.Context()); left != 0 {
			t.Errorf("%d links are kept for ever", left)
		}
	})
}
