package bridge_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	"go.uber.org/goleak"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// site is one property with an enrolled bridge.
type site struct {
	t          *testing.T
	db         *db.DB
	clock      *clock.Fixed
	keys       *keyring.Ring
	ca         *bridge.CA
	propertyID string
	bridge     *ent.Bridge
	cert       *x509.Certificate
}

// each runs f on every database, at a site whose bridge is enrolled.
func each(t *testing.T, f func(t *testing.T, s *site)) {
	t.Helper()
	c := clock.At(start)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c.Set(start)
		s := &site{t: t, db: d, clock: c, propertyID: "prp_one"}
		dbtest.Insert(t, d, "properties", dbtest.Values{"id": s.propertyID})
		s.keys = dbtest.Keys(t, d, s.propertyID)
		s.change(func(tx *db.Tx) (err error) {
			s.ca, err = bridge.LoadOrCreateCA(tx, s.keys)
			return err
		})
		_, code := s.code("cellar")
		e, err := s.apply(code)
		s.must(err)
		s.bridge, s.cert = e.Bridge, s.parse(e.Certificate)
		f(t, s)
	}, dbtest.Clock(c))
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) change(fn func(tx *db.Tx) error) {
	s.t.Helper()
	s.must(s.db.Write(s.t.Context(), fn))
}

func (s *site) code(name string) (*ent.Bridge, string) {
	s.t.Helper()
	var br *ent.Bridge
	var code string
	s.change(func(tx *db.Tx) (err error) {
		br, code, err = bridge.Create(tx, s.keys, s.ca, s.propertyID, name)
		return err
	})
	return br, code
}

func (s *site) apply(code string) (e *bridge.Enrolment, err error) {
	s.t.Helper()
	_, public, err := pinseal.GenerateKey()
	s.must(err)
	err = s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		e, err = bridge.Enrol(tx, s.keys, s.ca, bridge.EnrolmentRequest{JoinCode: code, CertificateRequest: request(s.t), HPKEKey: public, Software: "test"}, noLocks)
		return err
	})
	return e, err
}

func (s *site) parse(der []byte) *x509.Certificate {
	s.t.Helper()
	cert, err := x509.ParseCertificate(der)
	s.must(err)
	return cert
}

func request(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// noLocks records the loss of a bridge without locks.
func noLocks(*db.Tx, string, bridge.OfflineReason) error { return nil }

// advance begins a session.
func (s *site) advance(cert *x509.Certificate, hello bridge.Hello) (now *ent.Bridge, err error) {
	who, err := bridge.ParseIdentity(cert)
	s.must(err)
	err = s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		_, now, err = bridge.AdvanceEpoch(tx, who, bridge.PublicKeyHash(cert), hello)
		return err
	})
	return now, err
}
