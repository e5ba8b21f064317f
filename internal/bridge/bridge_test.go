package bridge_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring/pinseal"
)

func TestJoinCodeIsValidOnceForAnHourAndNamesTheCA(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		br, code := s.code("attic")
		print := sha256.Sum256(s.ca.Certificate())
		if !strings.HasSuffix(code, "."+base64.RawURLEncoding.EncodeToString(print[:])) {
			t.Error("the code does not end with the CA's fingerprint")
		}
		secret, _, _ := strings.Cut(code, ".")
		other := "a"
		if code[4] == other[0] {
			other = "b"
		}
		for name, bad := range map[string]string{
			"empty": "", "no fingerprint": secret, "mistyped": "lkj_" + other + code[5:], "another's": "lkj_" + strings.Repeat("a", 38) + code[42:],
			"another CA": secret + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 32)),
		} {
			if _, err := s.apply(bad); !fault.Has(err, fault.JoinCodeInvalid) {
				t.Errorf("%s: %v, want it refused", name, err)
			}
		}
		if bytes.Contains(*br.JoinMAC, []byte(secret)) {
			t.Error("the row shows the code")
		}
		e, err := s.apply(code)
		s.must(err)
		if e.Bridge.ID != br.ID || e.Bridge.EnrolledAt == nil {
			t.Errorf("enrolled %s, want %s", e.Bridge.ID, br.ID)
		}
		if _, err := s.apply(code); !fault.Has(err, fault.JoinCodeInvalid) {
			t.Errorf("the code served twice: %v", err)
		}
		_, late := s.code("shed")
		s.clock.Advance(time.Hour)
		if _, err := s.apply(late); !fault.Has(err, fault.JoinCodeInvalid) {
			t.Errorf("the code served after an hour: %v", err)
		}
	})
}

func TestMistypedFingerprintKeepsTheBridgeThatWorks(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		var code string
		s.change(func(tx *db.Tx) (err error) {
			_, code, err = bridge.ReplaceJoinCode(tx, s.keys, s.ca, s.propertyID, s.bridge.ID)
			return err
		})
		secret, print, _ := strings.Cut(code, ".")
		wrong := "A"
		if print[:1] == wrong {
			wrong = "B"
		}
		if _, err := s.apply(secret + "." + wrong + print[1:]); !fault.Has(err, fault.JoinCodeInvalid) {
			t.Errorf("a mistyped fingerprint: %v, want it refused", err)
		}
		if _, err := s.advance(s.cert, bridge.Hello{}); err != nil {
			t.Errorf("the bridge that works was cut off: %v", err)
		}
		if _, err := s.apply(code); err != nil {
			t.Errorf("the right code was used up: %v", err)
		}
	})
}

func TestEnrolRefusesInvalidRequestsAndKeys(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		_, code := s.code("attic")
		_, public, err := pinseal.GenerateKey()
		s.must(err)
		broken := request(t)
		broken[len(broken)-1] ^= 1
		for name, a := range map[string]bridge.EnrolmentRequest{
			"no request":    {CertificateRequest: []byte("x"), HPKEKey: public},
			"bad signature": {CertificateRequest: broken, HPKEKey: public},
			"short key":     {CertificateRequest: request(t), HPKEKey: public[:31]},
		} {
			a.JoinCode = code
			err := s.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := bridge.Enrol(tx, s.keys, s.ca, a, noLocks)
				return err
			})
			if !fault.Has(err, fault.InvalidFields) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.apply(code); err != nil {
			t.Errorf("the code was used up by what was refused: %v", err)
		}
	})
}

func TestCertificateNamesPropertyAndBridgeAndExpires(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		want := "latchkey://property/" + s.propertyID + "/bridge/" + s.bridge.ID
		if got := s.cert.URIs[0].String(); got != want {
			t.Errorf("the certificate names %s, want %s", got, want)
		}
		for _, c := range []struct {
			name    string
			after   time.Duration
			expired bool
			bad     bool
		}{
			{"new", 0, false, false},
			{"on its last day", 30*24*time.Hour - time.Minute, false, false},
			{"ended", 30*24*time.Hour + time.Minute, true, false},
			{"ended 90 days ago", 120*24*time.Hour - time.Minute, true, false},
			{"ended longer ago", 120*24*time.Hour + time.Minute, true, true},
			{"not yet", -2 * time.Hour, false, true},
		} {
			who, expired, err := s.ca.Verify(s.cert, start.Add(c.after))
			if expired != c.expired || (err != nil) != c.bad {
				t.Errorf("%s: expired %v, error %v", c.name, expired, err)
			}
			if err == nil && (who.BridgeID != s.bridge.ID || who.PropertyID != s.propertyID) {
				t.Errorf("%s: names %v", c.name, who)
			}
		}
		server, err := s.ca.ServerCertificate(start)
		s.must(err)
		if _, _, err := s.ca.Verify(server.Leaf, start); err == nil {
			t.Error("the listener's certificate passed as a bridge's")
		}
	})
}

func TestCAIsCreatedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.change(func(tx *db.Tx) error {
			again, err := bridge.LoadOrCreateCA(tx, s.keys)
			if err == nil && again.Fingerprint() != s.ca.Fingerprint() {
				t.Error("another CA the second time")
			}
			return err
		})
	})
}

func TestRenewKeepsTheOldKeyUntilTheNewOneIsUsed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		renew := func(with []byte) (*bridge.Enrolment, error) {
			var e *bridge.Enrolment
			who, err := bridge.ParseIdentity(s.cert)
			s.must(err)
			err = s.db.Write(t.Context(), func(tx *db.Tx) (err error) {
				e, err = bridge.RenewCertificate(tx, s.ca, who, bridge.PublicKeyHash(s.cert), with)
				return err
			})
			return e, err
		}
		_, err := renew(request(t)) // its answer is lost
		s.must(err)
		e, err := renew(request(t))
		s.must(err)
		next := s.parse(e.Certificate)
		if _, err := s.advance(s.cert, bridge.Hello{Node: "nod_a"}); err != nil {
			t.Errorf("the old key is refused before the new one was seen: %v", err)
		}
		_, err = s.advance(next, bridge.Hello{Node: "nod_a"})
		s.must(err)
		if _, err := s.advance(s.cert, bridge.Hello{Node: "nod_a"}); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("the old key serves after the new one was seen: %v", err)
		}
	})
}
