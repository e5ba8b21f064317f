package staff

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"

	"latchkey.dev/internal/db"
)

// The flags of authenticator data.
const (
	userPresent  = 1 << 0
	userVerified = 1 << 2
	backupable   = 1 << 3
	backedUp     = 1 << 4
	hasKey       = 1 << 6
)

const publicURL = "https://checkin.example.com"

// authenticator is one passkey in software, with the browser around it.
type authenticator struct {
	key          *ecdsa.PrivateKey
	id, user     []byte
	count        uint32
	flags        byte
	origin, rpID string
}

func newAuthenticator() *authenticator {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return &authenticator{key: key, id: []byte(rand.Text()), flags: userPresent | userVerified, origin: publicURL, rpID: "checkin.example.com"}
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// data returns the authenticator data and the client data of a ceremony.
func (a *authenticator) data(kind, challenge string, extra []byte) (data, client []byte) {
	hash := sha256.Sum256([]byte(a.rpID))
	flags := a.flags
	if extra != nil {
		flags |= hasKey
	}
	data = binary.BigEndian.AppendUint32(append(hash[:], flags), a.count)
	client, _ = json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	return append(data, extra...), client
}

// optionsOf returns what the test needs of the options of a ceremony.
func optionsOf(c Ceremony) (o struct {
	Challenge string
	User      struct{ ID string }
}) {
	if err := json.Unmarshal([]byte(c.Options), &o); err != nil {
		panic(err)
	}
	return o
}

// create makes the passkey that a registration asks for.
func (a *authenticator) create(c Ceremony) Answer {
	o := optionsOf(c)
	a.user, _ = base64.RawURLEncoding.DecodeString(o.User.ID)
	public, err := a.key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	attested := append(make([]byte, 16), 0, byte(len(a.id)))
	attested = append(attested, a.id...)
	attested = append(attested, 0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32)
	attested = append(append(append(attested, public[1:33]...), 0x22, 0x58, 32), public[33:]...)
	data, client := a.data("webauthn.create", o.Challenge, attested)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	return a.answer(c, map[string]any{"clientDataJSON": encoded(client), "attestationObject": encoded(append(object, data...)), "transports": []string{"internal"}})
}

// sign answers a sign-in or a confirmation.
func (a *authenticator) sign(c Ceremony) Answer {
	data, client := a.data("webauthn.get", optionsOf(c).Challenge, nil)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(slices.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		panic(err)
	}
	return a.answer(c, map[string]any{"clientDataJSON": encoded(client), "authenticatorData": encoded(data), "signature": encoded(signature), "userHandle": encoded(a.user)})
}

func (a *authenticator) answer(c Ceremony, response map[string]any) Answer {
	raw, err := json.Marshal(map[string]any{"id": encoded(a.id), "rawId": encoded(a.id), "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response})
	if err != nil {
		panic(err)
	}
	return Answer{c.State, string(raw)}
}

// addPasskey adds the passkey of an authenticator to the account of a session.
func (x *fixture) addPasskey(s Session, a *authenticator) (made NewPasskey, err error) {
	x.Helper()
	begun, err := x.BeginPasskey(x.Context(), s.PersonID, s.ID)
	x.must(err)
	return x.finishPasskey(s, a.create(begun))
}

func (x *fixture) finishPasskey(s Session, a Answer) (made NewPasskey, err error) {
	err = x.write(func(tx *db.Tx) error {
		made, err = x.AddPasskey(tx, s.PersonID, s.ID, a, "My phone")
		return err
	})
	return made, err
}

func (x *fixture) passkeySignIn(a *authenticator) (Session, error) {
	x.Helper()
	begun, err := x.BeginPasskeySignIn(x.Context())
	x.must(err)
	return x.PasskeySignIn(x.Context(), a.sign(begun), "laptop", traced)
}

// eachWithPasskey runs a test on every database, with a person who has a passkey.
func eachWithPasskey(t *testing.T, f func(x *fixture, s Session, a *authenticator)) {
	t.Helper()
	each(t, func(x *fixture) {
		x.PublicURL = func() string { return publicURL }
		x.Failed = NewFailures(x.DB, x.Keys, nil)
		s, a := x.owner("ada@example.com", hotel), newAuthenticator()
		made, err := x.addPasskey(s, a)
		x.must(err)
		if len(made.RecoveryCodes) != recoveryCodes {
			x.Errorf("%d recovery codes with the first passkey", len(made.RecoveryCodes))
		}
		f(x, made.Session, a)
	})
}
