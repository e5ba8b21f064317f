package lock

import (
	"encoding/base64"
	"strings"
	"time"

	"latchkey.dev/internal/keyring"
)

// joinLife is how long a join code can be used.
const joinLife = time.Hour

// joinCode is what staff carry to a bridge: the secret, by which we know the bridge, and the fingerprint of our CA, by
// which the bridge knows us.
func joinCode(secret string, fingerprint [32]byte) string {
	return secret + "." + base64.RawURLEncoding.EncodeToString(fingerprint[:])
}

// cutJoinCode is the secret of a join code. The fingerprint is the bridge's to check.
func parseJoinCode(code string) (secret string, ok bool) {
	secret, print, ok := strings.Cut(strings.TrimSpace(code), ".")
	if !ok || !keyring.IsToken(secret, keyring.JoinCode) {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(print)
	return secret, err == nil && len(raw) == 32
}
