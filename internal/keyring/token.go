package keyring

import (
	"crypto/rand"
	"encoding/base32"
	"hash/crc32"
	"strings"
)

// Kind is what a token is for, its prefix in writing. The prefix lets leak scanners
// find tokens and lets each area of the API refuse another's at sight.
type Kind string

// Kinds of tokens.
const (
	ClientToken   Kind = "lkc_" // a partner's app
	AccessToken   Kind = "lka_" // an app at a property
	APIKey        Kind = "lkk_" // a property's own scripts
	OperatorToken Kind = "lko_"
	StaffToken    Kind = "lkp_"
	JoinCode      Kind = "lkj_" // a bridge's enrolment
	PhoneLink     Kind = "lkg_" // a guest's phone joins a stay
)

// Kinds are all kinds there are.
var Kinds = []Kind{ClientToken, AccessToken, APIKey, OperatorToken, StaffToken, JoinCode, PhoneLink}

const (
	prefixChars   = 4
	secretBytes   = 20 // 160 bits
	secretChars   = 32
	checksumChars = 6
	tokenChars    = prefixChars + secretChars + checksumChars
)

var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken draws a token: prefix, 160 bits in base32, and a checksum that tells a
// mistyped or cut token from a wrong one without asking the database. 42 characters.
func NewToken(kind Kind) string {
	raw := make([]byte, secretBytes)
	rand.Read(raw)
	body := string(kind) + tokenEncoding.EncodeToString(raw)
	return body + checksum(body)
}

// checksum is the upper 30 bits of CRC-32 (IEEE) over prefix and secret, in base32.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return tokenEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})[:checksumChars]
}

// ParseToken tells a token's kind. false: it is no token of ours, or not whole.
func ParseToken(token string) (Kind, bool) {
	if len(token) != tokenChars {
		return "", false
	}
	body, sum := token[:tokenChars-checksumChars], token[tokenChars-checksumChars:]
	if _, err := tokenEncoding.DecodeString(body[prefixChars:]); err != nil || checksum(body) != sum {
		return "", false
	}
	for _, k := range Kinds {
		if strings.HasPrefix(body, string(k)) {
			return k, true
		}
	}
	return "", false
}

// IsToken reports whether token is a whole token of that kind.
func IsToken(token string, kind Kind) bool {
	k, ok := ParseToken(token)
	return ok && k == kind
}

// Hint is the part of a token that may be shown and logged: prefix and four characters.
func Hint(token string) string {
	if _, ok := ParseToken(token); !ok {
		return ""
	}
	return token[:prefixChars+4]
}
