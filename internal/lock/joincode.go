package lock

import (
	"encoding/base64"
	"strings"
	"time"

	"latchkey.dev/internal/keyring"
)

// joinLife is how long a join code can be used.
const joinLife = time.Hour

// joinCode returns the code that staff enter at a bridge: the secret authenticates the bridge, and the fingerprint of the CA
// authenticates the server.
func joinCode(secret string, fingerprint [32]byte) string {
	return secret + "." + base64.RawURLEncoding.EncodeToString(fingerprint[:])
}

// parseJoinCode returns the secret of a join code. Only the bridge checks the fingerprint.
func parseJoinCode(code string) (secret string, ok bool) {
	secret, print, ok := strings.Cut(strings.TrimSpace(code), ".")
	if !ok || !keyring.IsToken(secret, keyring.JoinCode) {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(print)
	return secret, err == nil && len(raw) == 32
}
