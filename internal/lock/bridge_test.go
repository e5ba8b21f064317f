package lock_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
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

func TestEnrollRefusesInvalidRequestsAndKeys(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		_, code := s.code("attic")
		_, public, err := pinseal.GenerateKey()
		s.must(err)
		broken := request(t)
		broken[len(broken)-1] ^= 1
		for name, a := range map[string]lock.EnrolmentRequest{
			"no request":    {CertificateRequest: []byte("x"), HPKEKey: public},
			"bad signature": {CertificateRequest: broken, HPKEKey: public},
			"short key":     {CertificateRequest: request(t), HPKEKey: public[:31]},
		} {
			a.JoinCode = code
			err := s.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := lock.Enroll(tx, s.keys, s.ca, a)
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
		want := "latchkey://property/" + s.house + "/bridge/" + s.bridge.ID
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
			who, expired, err := s.ca.VerifyBridge(s.cert, start.Add(c.after))
			if expired != c.expired || (err != nil) != c.bad {
				t.Errorf("%s: expired %v, error %v", c.name, expired, err)
			}
			if err == nil && (who.BridgeID != s.bridge.ID || who.PropertyID != s.house) {
				t.Errorf("%s: names %v", c.name, who)
			}
		}
		server, err := s.ca.ServerCertificate(start)
		s.must(err)
		if _, _, err := s.ca.VerifyBridge(server.Leaf, start); err == nil {
			t.Error("the listener's certificate passed as a bridge's")
		}
	})
}

func TestAuthorityIsCreatedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.change(func(tx *db.Tx) error {
			again, err := lock.LoadOrCreateAuthority(tx, s.keys)
			if err == nil && again.Fingerprint() != s.ca.Fingerprint() {
				t.Error("another CA the second time")
			}
			return err
		})
	})
}

func TestRenewKeepsTheOldKeyUntilTheNewOneIsUsed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		renew := func(with []byte) (*lock.Enrolment, error) {
			var e *lock.Enrolment
			who, err := lock.ParseIdentity(s.cert)
			s.must(err)
			err = s.db.Write(t.Context(), func(tx *db.Tx) (err error) {
				e, err = lock.RenewCertificate(tx, s.ca, who, lock.PublicKeyHash(s.cert), with)
				return err
			})
			return e, err
		}
		_, err := renew(request(t)) // its answer is lost
		s.must(err)
		e, err := renew(request(t))
		s.must(err)
		next := s.parse(e.Certificate)
		if _, err := s.greet(s.cert, lock.Hello{Node: "nod_a"}); err != nil {
			t.Errorf("the old key is refused before the new one was seen: %v", err)
		}
		_, err = s.greet(next, lock.Hello{Node: "nod_a"})
		s.must(err)
		if _, err := s.greet(s.cert, lock.Hello{Node: "nod_a"}); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("the old key serves after the new one was seen: %v", err)
		}
	})
}

func TestRevokedBridgeIsRefusedUntilEnrolledAgain(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		open := s.connect("front")
		var woken []string
		ctx := lock.WithWaker(t.Context(), func(bridgeID, lockID string) { woken = append(woken, bridgeID+"/"+lockID) })
		s.must(s.db.Write(ctx, func(tx *db.Tx) error {
			_, err := lock.RevokeBridge(tx, s.house, s.bridge.ID)
			return err
		}))
		if len(woken) != 1 || woken[0] != s.bridge.ID+"/" {
			t.Errorf("woken: %v", woken)
		}
		if _, err := s.greet(s.cert, lock.Hello{}); !fault.Has(err, fault.InvalidCredentials) {
			t.Errorf("a revoked bridge got in: %v", err)
		}
		err := s.db.Write(t.Context(), func(tx *db.Tx) error {
			_, err := lock.ApplyReports(tx, s.bridge.ID, open.Epoch, nil)
			return err
		})
		if err == nil {
			t.Error("a revoked bridge's session still has effect")
		}
		var code string
		s.change(func(tx *db.Tx) (err error) {
			_, code, err = lock.ReplaceJoinCode(tx, s.keys, s.ca, s.house, s.bridge.ID)
			return err
		})
		e, err := s.apply(code)
		s.must(err)
		if _, err := s.greet(s.cert, lock.Hello{}); err == nil {
			t.Error("the stolen key got in after the bridge was enrolled again")
		}
		s.cert = s.parse(e.Certificate)
		if again := s.connect("front"); again.Epoch <= open.Epoch || again.Locks[0].ID != open.Locks[0].ID {
			t.Errorf("epoch %d after %d, lock %s after %s", again.Epoch, open.Epoch, again.Locks[0].ID, open.Locks[0].ID)
		}
	})
}

// A bridge that is revoked or enrolled again is lost with its locks. The time that it has been offline does not start again.
func TestMarkingABridgeOfflineRecordsOneLoss(t *testing.T) {
	for name, take := range map[string]func(s *site){
		"revoked": func(s *site) {
			s.change(func(tx *db.Tx) error { _, err := lock.RevokeBridge(tx, s.house, s.bridge.ID); return err })
		},
		"enrolled again": func(s *site) {
			var code string
			s.change(func(tx *db.Tx) (err error) {
				_, code, err = lock.ReplaceJoinCode(tx, s.keys, s.ca, s.house, s.bridge.ID)
				return err
			})
			_, err := s.apply(code)
			s.must(err)
		},
	} {
		for how, asked := range map[string]bool{"while it was online": false, "while it was asked to leave": true} {
			t.Run(name+" "+how, func(t *testing.T) {
				each(t, func(t *testing.T, s *site) {
					lk := s.door()
					s.change(func(tx *db.Tx) error { return tx.Lock.UpdateOneID(lk.ID).SetDoorID("spc_1").Exec(tx.Context()) })
					since := func(what string, want time.Time) {
						t.Helper()
						br, err := lock.GetBridge(t.Context(), s.db.Read(), s.house, s.bridge.ID)
						s.must(err)
						if br.Online || br.LinkAt == nil || !br.LinkAt.Equal(want) {
							t.Errorf("%s: online %v, since %v, want %v", what, br.Online, br.LinkAt, want)
						}
						if locks, bridges := len(s.events("lock.offline")), len(s.events("bridge.offline")); locks != 1 || bridges != 1 {
							t.Errorf("%s: recorded the loss of %d locks and %d bridges", what, locks, bridges)
						}
					}
					s.clock.Advance(time.Minute)
					at := s.clock.Now()
					if asked {
						s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, lock.ShuttingDown) })
						s.clock.Advance(time.Second)
					}
					take(s)
					since("at first", at)
					s.clock.Advance(time.Hour)
					take(s)
					since("once more", at)
				})
			})
		}
	}
}
