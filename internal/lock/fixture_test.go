package lock_test

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
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
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
	caps       slot.Capabilities
	epoch      int64
}

// each runs f on every database, at a site whose bridge is enrolled and drives nothing yet.
func each(t *testing.T, f func(t *testing.T, s *site)) {
	t.Helper()
	c := clock.At(start)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c.Set(start)
		s := &site{t: t, db: d, clock: c, propertyID: "prp_one", caps: slot.Capabilities{
			PINMin: 4, PINMax: 8, Slots: 3, ReadBack: true, RemoteUnlock: true, Readable: slot.ReadableMasked, Schedule: slot.ScheduleNone,
		}}
		dbtest.Insert(t, d, "properties", dbtest.Values{"id": s.propertyID})
		s.keys = dbtest.Keys(t, d, s.propertyID)
		s.change(func(tx *db.Tx) (err error) {
			s.ca, err = bridge.LoadOrCreateCA(tx, s.keys)
			return err
		})
		s.bridge, s.cert = s.enrol("cellar")
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

func (s *site) enrol(name string) (*ent.Bridge, *x509.Certificate) {
	s.t.Helper()
	_, code := s.code(name)
	e, err := s.apply(code)
	s.must(err)
	return e.Bridge, s.parse(e.Certificate)
}

func (s *site) apply(code string) (e *bridge.Enrolment, err error) {
	s.t.Helper()
	_, public, err := pinseal.GenerateKey()
	s.must(err)
	err = s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		e, err = bridge.Enrol(tx, s.keys, s.ca, bridge.EnrolmentRequest{JoinCode: code, CertificateRequest: request(s.t), HPKEKey: public, Software: "test"}, lock.MarkLinksLost)
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

// connect opens a session in which the bridge names these locks and knows nothing of their slots.
func (s *site) connect(addresses ...string) *lock.Session {
	s.t.Helper()
	var reports []lock.LockReport
	for _, a := range addresses {
		reports = append(reports, lock.LockReport{
			Address: a, Capabilities: &s.caps, Status: &lock.Status{Online: true}, Digest: slot.LockDigest(nil),
		})
	}
	return s.mustGreet(reports...)
}

// mustGreet opens a session of the bridge with these reports.
func (s *site) mustGreet(reports ...lock.LockReport) *lock.Session {
	s.t.Helper()
	open, err := s.greet(s.cert, bridge.Hello{Node: "nod_a", BootID: "boot", Clock: s.clock.Now()}, reports...)
	s.must(err)
	s.epoch = open.Epoch
	return open
}

func (s *site) greet(cert *x509.Certificate, hello bridge.Hello, reports ...lock.LockReport) (open *lock.Session, err error) {
	who, err := bridge.ParseIdentity(cert)
	s.must(err)
	err = s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		open, err = lock.OpenSession(tx, who, bridge.PublicKeyHash(cert), hello, reports)
		return err
	})
	return open, err
}

// door connects one lock and returns it.
func (s *site) door() *ent.Lock {
	s.t.Helper()
	open := s.connect("front")
	lk, err := lock.Get(s.db.View(s.t.Context()), s.propertyID, open.Locks[0].ID)
	s.must(err)
	return lk
}

func (s *site) put(lk *ent.Lock, grant, pin string) (row *ent.Slot, err error) {
	err = s.db.Write(s.t.Context(), func(tx *db.Tx) error {
		row, err = lock.AssignSlot(tx, s.keys, lk, s.placeOf(grant, pin))
		return err
	})
	return row, err
}

func (s *site) placeOf(grant, pin string) lock.DesiredCode {
	return lock.DesiredCode{GrantID: grant, DoorID: "spc_1", PIN: pin, NotBefore: s.clock.Now(), NotAfter: s.clock.Now().Add(48 * time.Hour)}
}

func (s *site) mustPut(lk *ent.Lock, grant, pin string) *ent.Slot {
	s.t.Helper()
	row, err := s.put(lk, grant, pin)
	s.must(err)
	return row
}

func (s *site) clear(lk *ent.Lock, row *ent.Slot) *ent.Slot {
	s.t.Helper()
	s.change(func(tx *db.Tx) (err error) {
		row, err = lock.ClearSlot(tx, lk, row)
		return err
	})
	return row
}

// report has the bridge see a slot as wanted, with this evidence.
func (s *site) report(row *ent.Slot, evidence slot.Evidence) []lock.EvidenceChange {
	s.t.Helper()
	return s.reportAs(row, slot.Observed{Generation: uint64(row.Generation), Present: row.Present, Evidence: evidence, At: s.clock.Now()})
}

func (s *site) reportAs(row *ent.Slot, o slot.Observed) (learned []lock.EvidenceChange) {
	s.t.Helper()
	s.change(func(tx *db.Tx) (err error) {
		learned, err = lock.ApplyObservations(tx, s.keys, s.bridge.ID, s.epoch, "front", []lock.Observation{{Number: row.Number, Observed: o}})
		return err
	})
	return learned
}

func (s *site) row(id string) *ent.Slot {
	s.t.Helper()
	row, err := s.db.View(s.t.Context()).Slot.Get(s.t.Context(), id)
	s.must(err)
	return row
}

func (s *site) evidence(id string, want slot.Evidence) {
	s.t.Helper()
	if got := s.row(id).Evidence; got != string(want) {
		s.t.Errorf("evidence is %q, want %q", got, want)
	}
}
