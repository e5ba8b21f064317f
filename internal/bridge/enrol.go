package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

// Enrolment is the answer to a bridge that shows its join code or renews its certificate.
type Enrolment struct {
	Bridge      *ent.Bridge
	Certificate []byte // Certificate is X.509 in DER
}

// EnrolmentRequest is a bridge's request to exchange its join code for a certificate.
type EnrolmentRequest struct {
	JoinCode           string
	CertificateRequest []byte // CertificateRequest is PKCS #10 in DER
	HPKEKey            []byte // HPKEKey is an X25519 public key
	Software           string
}

// errJoinCode does not name the exact cause, because a join code is a secret and must not be guessable step by step.
var errJoinCode = fault.New(fault.Invalid, fault.JoinCodeInvalid, "the join code is not valid: mistyped, used, replaced, or older than an hour; ask for a new one")

// Enrol makes the caller, who shows a join code, the bridge that the code was created for, and returns its certificate. The code cannot be
// used again. The bridge's previous certificate and session become invalid, its event sequence starts again, and it is no longer revoked.
// Its locks stay. lost is called if the bridge had a session or was moving to another node. It returns the fault JoinCodeInvalid for every
// code that cannot be used, whatever the reason.
func Enrol(tx *db.Tx, keys *keyring.Ring, ca *CA, a EnrolmentRequest, lost OnLinkLost) (*Enrolment, error) {
	csr, err := parseRequest(a.CertificateRequest)
	if err != nil {
		return nil, err
	}
	if err := checkHPKEKey(a.HPKEKey); err != nil {
		return nil, err
	}
	// The fingerprint is compared before the code is used up. Otherwise a mistyped fingerprint, which only the bridge would notice, would end
	// the enrolment of the bridge that works.
	secret, fingerprint, ok := parseJoinCode(a.JoinCode)
	if !ok || fingerprint != ca.Fingerprint() {
		return nil, errJoinCode
	}
	br, err := tx.Bridge.Query().Where(entbridge.JoinMAC(keys.MAC(joinMAC, secret))).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errJoinCode
	}
	if err != nil {
		return nil, err
	}
	if br.JoinExpiresAt == nil || !tx.Now().Before(*br.JoinExpiresAt) {
		return nil, errJoinCode
	}
	der, err := ca.bridgeCertificate(br.PropertyID, br.ID, csr.PublicKey, tx.Now())
	if err != nil {
		return nil, err
	}
	next, err := markOffline(tx, br, Reenrolled, lost, tx.Bridge.UpdateOne(br).
		ClearJoinMAC().ClearJoinExpiresAt().ClearRevokedAt().ClearPreviousKey().
		SetEnrolledAt(tx.Now()).SetHpkeKey(a.HPKEKey).SetCertificateKey(keyHash(csr.RawSubjectPublicKeyInfo)).
		SetCertificateExpiresAt(tx.Now().Add(certificateLife)).SetSoftware(a.Software).
		AddEpoch(1).SetEventSequence(0).SetBootID(""))
	return &Enrolment{Bridge: next, Certificate: der}, err
}

// RenewCertificate issues the next certificate of the bridge that who names. request is a PKCS #10 request for the same key or a new one,
// shown the hash of the key in the caller's present certificate. The old key stays valid until the bridge uses the new one, so that a lost
// answer does not lock the bridge out. It fails for a revoked bridge and an unknown key. The error is then errNotAuthenticated.
func RenewCertificate(tx *db.Tx, ca *CA, who Identity, shown []byte, request []byte) (*Enrolment, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	br, err := authenticate(tx, who, shown)
	if err != nil {
		return nil, err
	}
	der, err := ca.bridgeCertificate(br.PropertyID, br.ID, csr.PublicKey, tx.Now())
	if err != nil {
		return nil, err
	}
	update := tx.Bridge.UpdateOne(br).SetCertificateExpiresAt(tx.Now().Add(certificateLife))
	if next := keyHash(csr.RawSubjectPublicKeyInfo); !bytes.Equal(next, shown) {
		update.SetPreviousKey(shown).SetCertificateKey(next)
	}
	watch.Notify(tx, br.PropertyID, watch.Bridges, br.ID)
	br, err = update.Save(tx.Context())
	return &Enrolment{Bridge: br, Certificate: der}, err
}

// authenticate loads the bridge of a certificate that [CA.Verify] accepted. shown is the [PublicKeyHash] of the certificate. authenticate
// returns errNotAuthenticated if the bridge does not exist, is revoked or not enrolled, or if shown is neither its current nor its previous
// key.
func authenticate(tx *db.Tx, who Identity, shown []byte) (*ent.Bridge, error) {
	br, err := tx.Bridge.Query().Where(entbridge.ID(who.BridgeID), entbridge.PropertyID(who.PropertyID)).Only(tx.Context())
	switch {
	case ent.IsNotFound(err):
		return nil, errNotAuthenticated
	case err != nil:
		return nil, err
	case br.RevokedAt != nil || br.EnrolledAt == nil:
		return nil, errNotAuthenticated
	case bytes.Equal(shown, br.CertificateKey), len(br.PreviousKey) > 0 && bytes.Equal(shown, br.PreviousKey):
		return br, nil
	}
	return nil, errNotAuthenticated
}

var errNotAuthenticated = fault.New(fault.Denied, fault.InvalidCredentials, "this bridge is revoked, or was enrolled again with another key; enrol it with a new join code")

// RenewalDue reports whether two thirds of the lifetime of a bridge's newest certificate have passed; false if it never had one.
func RenewalDue(br *ent.Bridge, now time.Time) bool {
	return br.CertificateExpiresAt != nil && now.After(br.CertificateExpiresAt.Add(-certificateLife/3))
}

// joinMAC is the purpose of the MAC by which join codes are stored.
const joinMAC = "join"

// newJoinCode generates a join code. mac is stored in place of the code, to find the bridge when the code is used. err is always nil.
func newJoinCode(keys *keyring.Ring, ca *CA) (code string, mac []byte, err error) {
	secret := keyring.NewToken(keyring.JoinCode)
	return joinCode(secret, ca.Fingerprint()), keys.MAC(joinMAC, secret), nil
}

// keyHash returns the SHA-256 hash of a public key, spki, in its X.509 encoding. The bridge's row stores it.
func keyHash(spki []byte) []byte {
	sum := sha256.Sum256(spki)
	return sum[:]
}

// joinLife is how long a join code is valid.
const joinLife = time.Hour

// joinCode builds the code that staff type in at a bridge. It contains a secret that authenticates the bridge and the CA fingerprint that
// authenticates the server.
func joinCode(secret string, fingerprint [32]byte) string {
	return secret + "." + base64.RawURLEncoding.EncodeToString(fingerprint[:])
}

// parseJoinCode returns the secret and the CA fingerprint in a join code, without a check of either; ok is false if the code is malformed.
func parseJoinCode(code string) (secret string, fingerprint [32]byte, ok bool) {
	secret, print, ok := strings.Cut(strings.TrimSpace(code), ".")
	if !ok || !keyring.IsToken(secret, keyring.JoinCode) {
		return "", fingerprint, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(print)
	if err != nil || len(raw) != len(fingerprint) {
		return "", fingerprint, false
	}
	return secret, [32]byte(raw), true
}

// EnrolmentID returns an id that changes with each enrolment of a bridge, or "" if it was never enrolled. A bridge that was enrolled again
// may have lost its stored data.
func EnrolmentID(br *ent.Bridge) string {
	if br.EnrolledAt == nil {
		return ""
	}
	return br.ID + "/" + strconv.FormatInt(br.EnrolledAt.UnixMicro(), 36)
}
