package lock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"time"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// OfflineReason says why a bridge has no session.
type OfflineReason string

// The reasons.
const (
	NeverConnected OfflineReason = "neverConnected"
	Disconnected   OfflineReason = "disconnected" // the stream broke
	NoHeartbeat    OfflineReason = "noHeartbeat"
	TooSlow        OfflineReason = "tooSlow"
	OutOfOrder     OfflineReason = "outOfOrder"
	ShuttingDown   OfflineReason = "shuttingDown" // the node that had the session is shutting down
	NodeLost       OfflineReason = "nodeLost"     // the node that had the session sends no heartbeat
	Revoked        OfflineReason = "revoked"
	Reenrolled     OfflineReason = "enrolled" // the bridge was enrolled again, perhaps on another machine
)

// CreateBridge creates a bridge of the property and its first join code, which is shown once.
func CreateBridge(tx *db.Tx, keys *keyring.Ring, ca *Authority, propertyID, name string) (*ent.Bridge, string, error) {
	code, mac, err := newJoinCode(keys, ca)
	if err != nil {
		return nil, "", err
	}
	br, err := tx.Bridge.Create().SetID(id.New(id.Bridge)).SetPropertyID(propertyID).SetName(name).
		SetJoinMAC(mac).SetJoinExpiresAt(tx.Now().Add(joinLife)).SetCreatedAt(tx.Now()).Save(tx.Context())
	return br, code, err
}

// ReplaceJoinCode creates a join code with which a bridge, also a revoked one, can be enrolled again. The bridge's older code stops to
// work. Nothing else changes until the code is used.
func ReplaceJoinCode(tx *db.Tx, keys *keyring.Ring, ca *Authority, propertyID, bridgeID string) (*ent.Bridge, string, error) {
	br, err := GetBridge(tx.Context(), tx.Client, propertyID, bridgeID)
	if err != nil {
		return nil, "", err
	}
	code, mac, err := newJoinCode(keys, ca)
	if err != nil {
		return nil, "", err
	}
	br, err = tx.Bridge.UpdateOne(br).SetJoinMAC(mac).SetJoinExpiresAt(tx.Now().Add(joinLife)).Save(tx.Context())
	return br, code, err
}

// GetBridge loads a bridge of the property.
func GetBridge(ctx context.Context, c *ent.Client, propertyID, bridgeID string) (*ent.Bridge, error) {
	br, err := c.Bridge.Query().Where(entbridge.ID(bridgeID), entbridge.PropertyID(propertyID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.BridgeNotFound, "no bridge %s at this property", bridgeID)
	}
	return br, err
}

// ListBridges loads every bridge of the property, oldest first.
func ListBridges(ctx context.Context, c *ent.Client, propertyID string) ([]*ent.Bridge, error) {
	return c.Bridge.Query().Where(entbridge.PropertyID(propertyID)).Order(entbridge.ByID()).All(ctx)
}

// RevokeBridge revokes a bridge and ends its session. Its codes stay on its locks, because no bridge is left that could remove them.
func RevokeBridge(tx *db.Tx, propertyID, bridgeID string) (*ent.Bridge, error) {
	br, err := GetBridge(tx.Context(), tx.Client, propertyID, bridgeID)
	if err != nil || br.RevokedAt != nil {
		return br, err
	}
	return markOffline(tx, br, Revoked, tx.Bridge.UpdateOne(br).SetRevokedAt(tx.Now()).ClearJoinMAC().ClearJoinExpiresAt())
}

// markOffline stores a change after which a bridge's session must end, and ends the session. If the bridge had one, or was moving from
// a node that stopped to another, the bridge and its locks are recorded as lost.
func markOffline(tx *db.Tx, was *ent.Bridge, why OfflineReason, change *ent.BridgeUpdateOne) (*ent.Bridge, error) {
	if was.Online {
		change.SetLinkAt(tx.Now())
	}
	next, err := change.SetOnline(false).SetOfflineReason(string(why)).Save(tx.Context())
	if err != nil {
		return nil, err
	}
	notifyBridge(tx, was.ID, "")
	if !was.Online && was.OfflineReason != string(ShuttingDown) {
		return next, nil
	}
	return next, markLinksLost(tx, was.ID, string(why))
}

// Enrolment is the answer to a bridge's join code, or to its old certificate.
type Enrolment struct {
	Bridge      *ent.Bridge
	Certificate []byte // X.509, DER
}

// EnrolmentRequest is a bridge's request to be enrolled.
type EnrolmentRequest struct {
	JoinCode           string
	CertificateRequest []byte // PKCS #10, DER
	HPKEKey            []byte // X25519
	Software           string
}

// errJoinCode does not say which of the causes applies, because the code is a secret.
var errJoinCode = fault.New(fault.Invalid, fault.JoinCodeInvalid, "the join code is not valid: mistyped, used, replaced, or older than an hour; ask for a new one")

// Enroll enrols the caller as the bridge that its join code was created for. The bridge's earlier certificate, session and event
// sequence become invalid. Its locks stay.
func Enroll(tx *db.Tx, keys *keyring.Ring, ca *Authority, a EnrolmentRequest) (*Enrolment, error) {
	csr, err := parseRequest(a.CertificateRequest)
	if err != nil {
		return nil, err
	}
	if err := checkHPKEKey(a.HPKEKey); err != nil {
		return nil, err
	}
	secret, ok := parseJoinCode(a.JoinCode)
	if !ok {
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
	next, err := markOffline(tx, br, Reenrolled, tx.Bridge.UpdateOne(br).
		ClearJoinMAC().ClearJoinExpiresAt().ClearRevokedAt().ClearPreviousKey().
		SetEnrolledAt(tx.Now()).SetHpkeKey(a.HPKEKey).SetCertificateKey(keyHash(csr.RawSubjectPublicKeyInfo)).
		SetCertificateExpiresAt(tx.Now().Add(certificateLife)).SetSoftware(a.Software).
		AddEpoch(1).SetEventSequence(0).SetBootID(""))
	return &Enrolment{Bridge: next, Certificate: der}, err
}

// RenewCertificate gives a bridge its next certificate, for the same key or a new one. The bridge must show its stored certificate. The
// old key stays valid until the bridge shows the new one, so that a lost answer does not lock the bridge out.
func RenewCertificate(tx *db.Tx, ca *Authority, who Identity, shown []byte, request []byte) (*Enrolment, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	br, err := AuthenticateBridge(tx.Context(), tx.Client, who, shown)
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
	br, err = update.Save(tx.Context())
	return &Enrolment{Bridge: br, Certificate: der}, err
}

// AuthenticateBridge loads the bridge of a certificate that [Authority.VerifyBridge] accepted. The bridge must be enrolled and not
// revoked, and shown, the [PublicKeyHash] of the certificate, must be its present or previous one.
func AuthenticateBridge(ctx context.Context, c *ent.Client, who Identity, shown []byte) (*ent.Bridge, error) {
	br, err := c.Bridge.Query().Where(entbridge.ID(who.BridgeID), entbridge.PropertyID(who.PropertyID)).Only(ctx)
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

// renewalDue reports whether a bridge should renew its certificate now: two thirds of its life are over.
func renewalDue(br *ent.Bridge, now time.Time) bool {
	return br.CertificateExpiresAt != nil && now.After(br.CertificateExpiresAt.Add(-certificateLife/3))
}

const joinMAC = "join"

func newJoinCode(keys *keyring.Ring, ca *Authority) (code string, mac []byte, err error) {
	secret := keyring.NewToken(keyring.JoinCode)
	return joinCode(secret, ca.Fingerprint()), keys.MAC(joinMAC, secret), nil
}

func keyHash(spki []byte) []byte {
	sum := sha256.Sum256(spki)
	return sum[:]
}

// RevokedSince lists the bridges that were revoked after a time.
func RevokedSince(ctx context.Context, c *ent.Client, since time.Time) ([]string, error) {
	return c.Bridge.Query().Where(entbridge.RevokedAtGT(since)).IDs(ctx)
}

// CurrentEpoch returns the present epoch of a bridge, and whether the bridge is revoked.
func CurrentEpoch(ctx context.Context, c *ent.Client, bridgeID string) (epoch int64, revoked bool, err error) {
	br, err := c.Bridge.Get(ctx, bridgeID)
	if err != nil {
		return 0, false, err
	}
	return br.Epoch, br.RevokedAt != nil, nil
}
