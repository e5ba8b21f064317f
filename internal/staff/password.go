package staff

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/sync/semaphore"
	"golang.org/x/text/unicode/norm"

	"latchkey.dev/internal/fault"
)

// Limits of a password. A password is checked against no list, because the server may have no internet.
const (
	minPasswordRunes = 12
	maxPasswordBytes = 256
)

// hashParams cost about 30 ms.
var hashParams = &argon2id.Params{Memory: hashMemory, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// dummyHash is compared with the password if an address is unknown, so that the call takes as long as with a known one. Its salt and key are
// zero bytes, so that no process hashes a password at its start.
var dummyHash = fmt.Sprintf("$argon2id$v=19$m=%d,t=2,p=1$%s$%s", hashMemory, strings.Repeat("A", 22), strings.Repeat("A", 43))

// hashing bounds how many passwords are hashed at a time, because each needs memory and callers need no credential.
var hashing = semaphore.NewWeighted(4)

// passwordProblem returns why the length of a password is refused, or nil. path names the field in the error.
func passwordProblem(path, password string) *fault.Field {
	switch {
	case utf8.RuneCountInString(normalize(password)) < minPasswordRunes:
		return &fault.Field{Path: path, Reason: fault.TooShort, Message: fmt.Sprintf("must have at least %d characters", minPasswordRunes)}
	case len(password) > maxPasswordBytes:
		return &fault.Field{Path: path, Reason: fault.TooLong, Message: fmt.Sprintf("must have at most %d bytes", maxPasswordBytes)}
	}
	return nil
}

// normalize returns the Unicode form (NFKC) in which passwords are compared, because keyboards encode the same characters in different
// ways.
func normalize(password string) string { return norm.NFKC.String(password) }

// hashPassword returns the hash of a password, in PHC format with salt and parameters. It waits while too many are hashed (see hashing),
// but not after ctx ends. It does not check the length.
func hashPassword(ctx context.Context, password string) (string, error) {
	if err := hashing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer hashing.Release(1)
	hash, err := argon2id.CreateHash(normalize(password), hashParams)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

// matchesPassword compares a password with a hash. It waits as hashPassword does. An empty hash matches nothing and costs the same time.
func matchesPassword(ctx context.Context, password, hash string) (bool, error) {
	if err := hashing.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer hashing.Release(1)
	known := hash != ""
	if !known {
		hash = dummyHash
	}
	same, err := argon2id.ComparePasswordAndHash(normalize(password), hash)
	if err != nil {
		return false, fmt.Errorf("compare a password: %w", err)
	}
	return same && known, nil
}
