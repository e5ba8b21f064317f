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

// ceremony is an exchange of several steps with a browser or the identity provider, such as a sign-in with a passkey. Its challenge is
// valid only for this kind, subject and session. The subject is the id of the person who is signed in, or the secret of an invitation in an
// identityInvitation. subject and sessionID are otherwise empty.
type ceremony struct {
	kind               string
	subject, sessionID string
}

// The kinds of ceremonies.
const (
	passkeyRegistration = "passkeyRegistration"
	passkeySignIn       = "passkeySignIn"
	passkeyConfirmation = "passkeyConfirmation"
	identitySignIn      = "identitySignIn"
	identityFresh       = "identityFresh"
	identityLink        = "identityLink"
	identityInvitation  = "identityInvitation"
)

const (
	stateNonce = 16             // random bytes of a state
	stateBytes = stateNonce + 8 // bytes of a state: the random ones, and the Unix time of its end in seconds
)

// newState returns the state of a new ceremony: random bytes and the end of the ceremony, which is now plus life. Nothing is stored when a
// ceremony begins, so callers without a credential cannot fill a table.
func newState(now time.Time, life time.Duration) string {
	raw := make([]byte, stateNonce, stateBytes)
	_, _ = rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(raw, uint64(now.Add(life).Unix())))
}

// challengeOf returns the challenge that belongs to a state: a keyed hash over the ceremony, the person, the session and the state. No
// authenticator was shown the challenge of a state that a caller made up, or that was made for another ceremony, person or session.
func (c ceremony) challengeOf(keys *keyring.Ring, state string) []byte {
	return keys.MAC("ceremony", c.kind, c.subject, c.sessionID, state)
}

// stateEnd returns when a state from newState ends. ok is false if the text is no state, if the state has ended, and if it ends later than
// now plus life. It does not check who made the state: only the challenge of [ceremony.challengeOf] proves that.
func stateEnd(state string, now time.Time, life time.Duration) (end time.Time, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(raw) != stateBytes {
		return time.Time{}, false
	}
	end = time.Unix(int64(binary.BigEndian.Uint64(raw[stateNonce:])), 0).UTC()
	return end, end.After(now) && !end.After(now.Add(life))
}

// useState stores that a state was used, so that it works once. For a state that was used before it returns errUsed. end, from [stateEnd],
// is when the row may be deleted.
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
