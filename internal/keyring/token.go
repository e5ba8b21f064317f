package keyring

import (
	"crypto/rand"
	"encoding/base32"
	"hash/crc32"
	"strings"
)

// Kind is the purpose of a token, which is also its prefix. The prefix lets leak scanners find tokens, and lets each area of
// the API refuse tokens of another area without a lookup.
type Kind string

// Kinds of tokens.
const (
	ClientToken     Kind = "lkc_" // token of a partner's app
	AccessToken     Kind = "lka_" // token of an app at one property
	APIKey          Kind = "lkk_" // key of a property's own scripts
	OperatorToken   Kind = "lko_"
	StaffToken      Kind = "lkp_"
	JoinCode        Kind = "lkj_" // code that enrols a bridge
	PhoneLink       Kind = "lkg_" // link that adds a guest's phone to a reservation
	GuestLink       Kind = "lkl_" // link that is mailed or shown to a guest
	SessionToken    Kind = "lks_" // session token of a guest's device
	KioskToken      Kind = "lkt_" // token of a check-in tablet
	Receipt         Kind = "lkr_" // receipt of a guest's request to erase data
	PersonSession   Kind = "lkd_" // session token of a person of the staff, as on the dashboard
	PersonLink      Kind = "lki_" // link with which a person joins a property
	OperatorSession Kind = "lkw_" // session token of an operator on the operators' pages
)

// Kinds lists all kinds.
var Kinds = []Kind{ClientToken, AccessToken, APIKey, OperatorToken, StaffToken, JoinCode, PhoneLink, GuestLink, SessionToken, KioskToken, Receipt, PersonSession, PersonLink, OperatorSession}

const (
	prefixChars   = 4
	secretBytes   = 20 // a secret has 160 bits
	secretChars   = 32
	checksumChars = 6
	tokenChars    = prefixChars + secretChars + checksumChars
)

var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken generates a token of 42 characters: prefix, 160 bits in base32, and a checksum that detects mistyped or truncated
// tokens without a database query.
func NewToken(kind Kind) string {
	raw := make([]byte, secretBytes)
	rand.Read(raw)
	return formatToken(kind, raw)
}

// DeriveToken returns the token that belongs to some values: the same values give the same token, and it cannot be computed without
// the ring's key. A retried job uses it to send the same link again although only a hash of the link is stored.
func (r *Ring) DeriveToken(kind Kind, values ...string) string {
	return formatToken(kind, r.MAC("token/"+string(kind), values...)[:secretBytes])
}

// formatToken returns the token of a kind with the secret raw, of secretBytes bytes, and its checksum.
func formatToken(kind Kind, raw []byte) string {
	body := string(kind) + tokenEncoding.EncodeToString(raw)
	return body + checksum(body)
}

// checksum returns the upper 30 bits of CRC-32 (IEEE) over prefix and secret, in base32.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return tokenEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})[:checksumChars]
}

// ParseToken returns the kind of a token. It returns false if the token is incomplete or not one of Latchkey's. It checks only the form and
// the checksum: the token may be expired, revoked or invented.
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

// IsToken reports whether token is a complete token of that kind.
func IsToken(token string, kind Kind) bool {
	k, ok := ParseToken(token)
	return ok && k == kind
}

// Hint returns the part of a token that may be shown and logged: the prefix and four characters. It returns "" for anything else.
func Hint(token string) string {
	if _, ok := ParseToken(token); !ok {
		return ""
	}
	return token[:prefixChars+4]
}
