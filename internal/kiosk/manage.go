package kiosk

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"latchkey.dev/ent"
	entkiosk "latchkey.dev/ent/kiosk"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

const (
	// codeLife is how long a code can enrol a tablet.
	codeLife = time.Hour
	// maxKiosks limits the kiosks of a property.
	maxKiosks = 100
	// seenInterval is the shortest time between two updates of a tablet's last call.
	seenInterval = 30 * time.Second
	// offlineAfter is the time without a call after which a tablet counts as offline: it calls at least once a minute.
	offlineAfter = 3 * time.Minute
)

var (
	errNotFound = fault.New(fault.NotFound, fault.KioskNotFound, "this property has no such kiosk: list the kiosks to find it")
	errCode     = fault.New(fault.Invalid, fault.KioskCodeInvalid, "the code is not valid: it is mistyped, used, replaced or older than an hour; reset the kiosk to get a new one")
)

// Row is a kiosk as stored.
type Row = ent.Kiosk

// Code is a one-time code that enrols a kiosk's tablet.
type Code struct {
	Text    string
	Expires time.Time
}

// Create creates a kiosk and the code that enrols its tablet. It refuses a blank or used name, and a kiosk beyond maxKiosks.
func Create(tx *db.Tx, keys *keyring.Ring, propertyID, name string) (*ent.Kiosk, Code, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return nil, Code{}, fault.Fields(fault.Field{Path: "name", Reason: fault.Required, Message: "must not be blank"})
	}
	all, err := List(tx, propertyID)
	if err != nil {
		return nil, Code{}, err
	}
	if len(all) >= maxKiosks {
		return nil, Code{}, fault.New(fault.Precondition, fault.TooMany, "this property has %d kiosks already; delete one first", maxKiosks)
	}
	for _, k := range all {
		if k.Name == name {
			return nil, Code{}, fault.New(fault.Exists, fault.AlreadyExists, "another kiosk has this name: choose another one")
		}
	}
	code := newCode(tx.Now())
	row, err := tx.Kiosk.Create().SetID(id.New(id.Kiosk)).SetPropertyID(propertyID).SetName(name).SetDoor(newDoor()).
		SetCodeMAC(codeMAC(keys, code.Text)).SetCodeExpiresAt(code.Expires).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, Code{}, fmt.Errorf("store a kiosk: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Kiosks, row.ID)
	return row, code, nil
}

// List returns the kiosks of a property in the order of their names.
func List(view *db.Tx, propertyID string) ([]*ent.Kiosk, error) {
	all, err := view.Kiosk.Query().Where(entkiosk.PropertyID(propertyID)).Order(entkiosk.ByName()).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list kiosks: %w", err)
	}
	return all, nil
}

// Get returns one kiosk, or errNotFound.
func Get(view *db.Tx, propertyID, kioskID string) (*ent.Kiosk, error) {
	row, err := view.Kiosk.Query().Where(entkiosk.PropertyID(propertyID), entkiosk.ID(kioskID)).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("load a kiosk: %w", err)
	}
	return row, nil
}

// FindDoor returns the kiosk, of any property, with a door: the random last part of the address in its QR code. Guests who scan that code
// check in on their phones. An unknown door is the error fault.DoorNotFound.
func FindDoor(view *db.Tx, door string) (*ent.Kiosk, error) {
	row, err := view.Kiosk.Query().Where(entkiosk.Door(door)).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.DoorNotFound, "this QR code is not in use; ask the desk")
	}
	if err != nil {
		return nil, fmt.Errorf("find a kiosk by its QR code: %w", err)
	}
	return row, nil
}

// Reset ends the credential of a kiosk's tablet and creates a new code, with which a tablet is enrolled. It returns the kiosk after that,
// or errNotFound. It resolves the notice that the tablet is offline. The caller ends the guests' sessions at the tablet.
func Reset(tx *db.Tx, keys *keyring.Ring, propertyID, kioskID string) (*ent.Kiosk, Code, error) {
	if _, err := Get(tx, propertyID, kioskID); err != nil {
		return nil, Code{}, err
	}
	code := newCode(tx.Now())
	err := tx.Kiosk.Update().Where(entkiosk.PropertyID(propertyID), entkiosk.ID(kioskID)).
		SetCodeMAC(codeMAC(keys, code.Text)).SetCodeExpiresAt(code.Expires).
		ClearMAC().ClearPublicKey().ClearEnrolledAt().ClearSeenAt().ClearProvedAt().Exec(tx.Context())
	if err != nil {
		return nil, Code{}, fmt.Errorf("reset a kiosk: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Kiosks, kioskID)
	if err := notice.Resolve(tx, propertyID, offlineKey(kioskID)); err != nil {
		return nil, Code{}, err
	}
	row, err := Get(tx, propertyID, kioskID)
	return row, code, err
}

// Delete deletes a kiosk, or returns errNotFound. The credential of its tablet ends, and the notice that it is offline is resolved. The
// caller ends the guests' sessions at the tablet.
func Delete(tx *db.Tx, propertyID, kioskID string) error {
	n, err := tx.Kiosk.Delete().Where(entkiosk.PropertyID(propertyID), entkiosk.ID(kioskID)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete a kiosk: %w", err)
	}
	if n == 0 {
		return errNotFound
	}
	watch.Notify(tx, propertyID, watch.Kiosks, kioskID)
	return notice.Resolve(tx, propertyID, offlineKey(kioskID))
}

// Enrol exchanges a code for the tablet's token and ends the code. publicKey is the tablet's key, P-256, as SubjectPublicKeyInfo in DER.
// For a code that is unknown, used or expired it returns errCode, and for another kind of key the fault of the field publicKey. row is the
// kiosk before the enrolment.
func Enrol(tx *db.Tx, keys *keyring.Ring, code string, publicKey []byte) (token string, row *ent.Kiosk, err error) {
	if _, err := parseKey(publicKey); err != nil {
		return "", nil, fault.Fields(fault.Field{Path: "publicKey", Reason: fault.BadFormat, Message: "must be a P-256 key as SubjectPublicKeyInfo in DER"})
	}
	row, err = tx.Kiosk.Query().Where(entkiosk.CodeMAC(codeMAC(keys, code))).Only(tx.Context())
	if ent.IsNotFound(err) {
		return "", nil, errCode
	}
	if err != nil {
		return "", nil, fmt.Errorf("find a kiosk by its code: %w", err)
	}
	if row.CodeExpiresAt == nil || !tx.Now().Before(*row.CodeExpiresAt) {
		return "", nil, errCode
	}
	token = keyring.NewToken(keyring.KioskToken)
	err = tx.Kiosk.Update().Where(entkiosk.PropertyID(row.PropertyID), entkiosk.ID(row.ID)).ClearCodeMAC().ClearCodeExpiresAt().
		SetMAC(tokenMAC(keys, token)).SetPublicKey(publicKey).SetEnrolledAt(tx.Now()).SetSeenAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return "", nil, fmt.Errorf("enrol a kiosk: %w", err)
	}
	watch.Notify(tx, row.PropertyID, watch.Kiosks, row.ID)
	return token, row, nil
}

// parseKey decodes a public key, which must be of P-256.
func parseKey(der []byte) (*ecdsa.PublicKey, error) {
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("read the key of a kiosk: %w", err)
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("the key of a kiosk is not of P-256")
	}
	return key, nil
}

// NeedsSeen reports whether a tablet's call should be stored: there is no stored last call, or it is older than seenInterval.
func NeedsSeen(row *ent.Kiosk, now time.Time) bool {
	return row.SeenAt == nil || now.Sub(*row.SeenAt) >= seenInterval
}

// MarkSeen stores that a tablet called, and resolves the notice that it is offline.
func MarkSeen(tx *db.Tx, row *ent.Kiosk) error {
	err := tx.Kiosk.Update().Where(entkiosk.PropertyID(row.PropertyID), entkiosk.ID(row.ID)).SetSeenAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the last call of a kiosk: %w", err)
	}
	if StateOf(row, tx.Now()) == "offline" {
		watch.Notify(tx, row.PropertyID, watch.Kiosks, row.ID)
	}
	return notice.Resolve(tx, row.PropertyID, offlineKey(row.ID))
}

// StateOf returns the health of a kiosk: notEnrolled, offline if its tablet has not called for offlineAfter, or online.
func StateOf(row *ent.Kiosk, now time.Time) string {
	switch {
	case row.EnrolledAt == nil:
		return "notEnrolled"
	case row.SeenAt == nil, now.Sub(*row.SeenAt) >= offlineAfter:
		return "offline"
	}
	return "online"
}

// codeLetters are letters and digits that people do not confuse.
const codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

var codeEncoding = base32.NewEncoding(codeLetters).WithPadding(base32.NoPadding)

// newCode generates a code of 60 bits, such as "ABCD-EFGH-JKLM", that expires codeLife after now.
func newCode(now time.Time) Code {
	var raw [8]byte
	_, _ = rand.Read(raw[:])
	text := codeEncoding.EncodeToString(raw[:])
	return Code{text[:4] + "-" + text[4:8] + "-" + text[8:12], now.Add(codeLife)}
}

// codeMAC returns the keyed hash of a code. Spaces, dashes and case do not count.
func codeMAC(keys *keyring.Ring, code string) []byte {
	return keys.MAC("kioskCode", strings.NewReplacer(" ", "", "-", "").Replace(strings.ToUpper(code)))
}

// newDoor generates the random last part of the address in a kiosk's QR code.
func newDoor() string {
	var raw [10]byte
	_, _ = rand.Read(raw[:])
	return strings.ToLower(codeEncoding.EncodeToString(raw[:]))
}
