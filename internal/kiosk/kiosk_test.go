package kiosk_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/kiosk"
	"latchkey.dev/internal/test/dbtest"
)

const hotel, hostel = "prp_hotel", "prp_hostel"

type fixture struct {
	t     *testing.T
	db    *db.DB
	keys  *keyring.Ring
	clock *clock.Fixed
}

func each(t *testing.T, f func(t *testing.T, h *fixture)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			c := clock.At(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))
			d := dbtest.Open(t, engine, dbtest.Clock(c))
			h := &fixture{t, d, dbtest.Keys(t, d), c}
			for _, p := range []string{hotel, hostel} {
				h.must(h.write(func(tx *db.Tx) error {
					return tx.Property.Create().SetID(p).SetName(p).SetTimeZone("Europe/Lisbon").Exec(tx.Context())
				}))
			}
			f(t, h)
		})
	}
}

func (h *fixture) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) write(f func(tx *db.Tx) error) error { return h.db.Write(h.t.Context(), f) }

func (h *fixture) create(name string) (row *kiosk.Row, code kiosk.Code) {
	h.t.Helper()
	h.must(h.write(func(tx *db.Tx) (err error) { row, code, err = kiosk.Create(tx, h.keys, hotel, name); return err }))
	return row, code
}

func newKey(t *testing.T) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

func (h *fixture) enrol(code string, public []byte) (token string, err error) {
	err = h.write(func(tx *db.Tx) (err error) { token, _, err = kiosk.Enrol(tx, h.keys, code, public); return err })
	return token, err
}

func sign(t *testing.T, key *ecdsa.PrivateKey, challenge string) []byte {
	t.Helper()
	digest := sha256.Sum256([]byte(challenge))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out
}

func TestEnrolment(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		row, code := h.create("Lobby")
		_, public := newKey(t)
		other, err := rsa.GenerateKey(rand.Reader, 1024)
		h.must(err)
		wrong, err := x509.MarshalPKIXPublicKey(&other.PublicKey)
		h.must(err)
		for _, key := range [][]byte{nil, make([]byte, 91), wrong} {
			if _, err := h.enrol(code.Text, key); !fault.Has(err, fault.InvalidFields) {
				t.Errorf("a key of %d bytes: %v", len(key), err)
			}
		}
		token, err := h.enrol(" "+strings.ToLower(strings.ReplaceAll(code.Text, "-", " ")), public)
		h.must(err)
		if a, err := kiosk.Authenticate(h.db.View(t.Context()), h.keys, token); err != nil || a.ID != row.ID || a.PropertyID != hotel {
			t.Errorf("the tablet is %+v, %v", a, err)
		}
		if _, err := h.enrol(code.Text, public); !fault.Has(err, fault.KioskCodeInvalid) {
			t.Errorf("the code again: %v", err)
		}
		_, late := h.create("Cellar")
		h.clock.Advance(time.Hour)
		if _, err := h.enrol(late.Text, public); !fault.Has(err, fault.KioskCodeInvalid) {
			t.Errorf("an expired code: %v", err)
		}
		for _, property := range []string{hotel, hostel} {
			err := h.write(func(tx *db.Tx) error { _, _, err := kiosk.Reset(tx, h.keys, property, row.ID); return err })
			if property == hostel != fault.Has(err, fault.KioskNotFound) {
				t.Errorf("reset by %s: %v", property, err)
			}
		}
		if _, err := kiosk.Authenticate(h.db.View(t.Context()), h.keys, token); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("the token after a reset: %v", err)
		}
		if err := h.write(func(tx *db.Tx) error { return kiosk.Delete(tx, hostel, row.ID) }); !fault.Has(err, fault.KioskNotFound) {
			t.Errorf("deleted by another property: %v", err)
		}
		h.must(h.write(func(tx *db.Tx) error { return kiosk.Delete(tx, hotel, row.ID) }))
	})
}

// A copied token is of no use: only the tablet's key signs, and each challenge works once, on its own kiosk, for 15 minutes.
func TestProof(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		row, code := h.create("Lobby")
		other, otherCode := h.create("Cellar")
		key, public := newKey(t)
		thief, _ := newKey(t)
		for _, c := range []string{code.Text, otherCode.Text} {
			_, err := h.enrol(c, public)
			h.must(err)
		}
		use := func(kioskID, challenge string, signature []byte) error {
			return h.write(func(tx *db.Tx) error { return kiosk.UseProof(tx, h.keys, hotel, kioskID, challenge, signature) })
		}
		old := kiosk.NewChallenge(h.keys, row.ID, h.clock.Now())
		h.clock.Advance(time.Second)
		fresh := kiosk.NewChallenge(h.keys, row.ID, h.clock.Now())
		signature := sign(t, key, fresh)
		refused := map[string]error{
			"by another key":     use(row.ID, fresh, sign(t, thief, fresh)),
			"of another text":    use(row.ID, fresh, sign(t, key, old)),
			"for another kiosk":  use(other.ID, fresh, signature),
			"no challenge":       use(row.ID, "", sign(t, key, "")),
			"a forged challenge": use(row.ID, "B"+fresh[1:], sign(t, key, "B"+fresh[1:])),
			"a short signature":  use(row.ID, fresh, signature[:63]),
		}
		h.must(use(row.ID, fresh, signature))
		refused["a replay"] = use(row.ID, fresh, signature)
		refused["an older challenge"] = use(row.ID, old, sign(t, key, old))
		stale := kiosk.NewChallenge(h.keys, other.ID, h.clock.Now())
		h.clock.Advance(15 * time.Minute)
		refused["after 15 minutes"] = use(other.ID, stale, sign(t, key, stale))
		future := kiosk.NewChallenge(h.keys, other.ID, h.clock.Now().Add(time.Minute+time.Second))
		refused["from the future"] = use(other.ID, future, sign(t, key, future))
		for what, err := range refused {
			if !fault.Has(err, fault.ProofInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// The clocks of two nodes may differ by a minute, either way. A clock that was far ahead for a while does not close the tablet until
// that time comes, and replays stay refused.
func TestProofWithWrongClocks(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		row, code := h.create("Lobby")
		key, public := newKey(t)
		_, err := h.enrol(code.Text, public)
		h.must(err)
		use := func(challenge string) error {
			return h.write(func(tx *db.Tx) error {
				return kiosk.UseProof(tx, h.keys, hotel, row.ID, challenge, sign(t, key, challenge))
			})
		}
		refused := func(what, challenge string) {
			t.Helper()
			if err := use(challenge); !fault.Has(err, fault.ProofInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
		byFastNode := kiosk.NewChallenge(h.keys, row.ID, h.clock.Now().Add(time.Minute))
		h.must(use(byFastNode))
		refused("a replay", byFastNode)
		h.clock.Advance(time.Minute + time.Second)
		refused("a replay later", byFastNode)
		h.must(use(kiosk.NewChallenge(h.keys, row.ID, h.clock.Now())))

		h.clock.Advance(1000 * time.Hour)
		wrong := kiosk.NewChallenge(h.keys, row.ID, h.clock.Now())
		h.must(use(wrong))
		h.clock.Advance(-1000 * time.Hour)
		refused("a challenge of the wrong clock", wrong)
		right := kiosk.NewChallenge(h.keys, row.ID, h.clock.Now())
		h.must(use(right))
		refused("its replay", right)
	})
}
