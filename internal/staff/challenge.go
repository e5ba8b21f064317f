package staff

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// ceremony is what a challenge is for. A person and a session belong to it only where the caller is signed in.
type ceremony struct {
	kind                string
	personID, sessionID string
}

// The kinds of ceremonies.
const (
	passkeyRegistration = "passkeyRegistration"
	passkeySignIn       = "passkeySignIn"
	passkeyConfirmation = "passkeyConfirmation"
	identitySignIn      = "identitySignIn"
	identityLink        = "identityLink"
	identityInvitation  = "identityInvitation"
)

const (
	stateNonce = 16
	stateBytes = stateNonce + 8 // the nonce, and the second when the challenge ends
)

// newState returns the state of a new ceremony: random bytes and its end, after a time. Nothing is stored before the ceremony succeeds, so a caller
// without a credential fills no table.
func newState(now time.Time, life time.Duration) string {
	raw := make([]byte, stateNonce, stateBytes)
	_, _ = rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(raw, uint64(now.Add(life).Unix())))
}

// challengeOf returns the challenge that belongs to a state. Only this installation can compute it, so a state that a caller made up, or that
// was made for another ceremony, person or session, has a challenge that no authenticator was shown.
func (c ceremony) challengeOf(keys *keyring.Ring, state string) []byte {
	return keys.MAC("ceremony", c.kind, c.personID, c.sessionID, state)
}

// stateEnd returns when a state ends, at most a time from now. ok is false for what is no state, and for a state that has ended.
func stateEnd(state string, now time.Time, life time.Duration) (end time.Time, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(raw) != stateBytes {
		return time.Time{}, false
	}
	end = time.Unix(int64(binary.BigEndian.Uint64(raw[stateNonce:])), 0).UTC()
	return end, end.After(now) && !end.After(now.Add(life))
}

// useState stores that the challenge of a state was answered. It answers a second time with errUsed.
func useState(tx *db.Tx, keys *keyring.Ring, state string, end time.Time, errUsed error) error {
	err := tx.UsedChallenge.Create().SetID(hex.EncodeToString(keys.MAC("usedChallenge", state))).SetEndsAt(end).Exec(tx.Context())
	if ent.IsConstraintError(err) {
		return errUsed
	}
	if err != nil {
		return fmt.Errorf("store a used challenge: %w", err)
	}
	return nil
}
