package smartkey

import (
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"
)

// Issuer mints a property's tokens. It is immutable.
type Issuer struct {
	signer    crypto.Signer
	keys      KeySet
	statusURI string
	random    io.Reader
}

// NewIssuer returns the issuer of a key set. It fails unless signer is the private half of the set's current key, which may be in an HSM,
// and statusURI is valid. random generates token ids; it must be safe for concurrent use if the issuer is used concurrently.
func NewIssuer(signer crypto.Signer, keys KeySet, statusURI string, random io.Reader) (Issuer, error) {
	current, err := keys.Current()
	if err != nil {
		return Issuer{}, err
	}
	own, err := PublicKeyOf(signer.Public())
	if err != nil {
		return Issuer{}, err
	}
	if own != current.Key {
		return Issuer{}, errors.New("smartkey: the signer is not the current key of the key set")
	}
	if !isURI(statusURI) {
		return Issuer{}, errors.New("smartkey: the status list's URI is 1 to 256 visible ASCII characters")
	}
	return Issuer{signer: signer, keys: keys, statusURI: statusURI, random: random}, nil
}

// String names only the property, so that no log shows the signer.
func (i Issuer) String() string { return "issuer of " + i.keys.property }

// GoString returns String, so that %#v does not show the signer.
func (i Issuer) GoString() string { return i.String() }

// LogValue implements slog.LogValuer: it names only the property.
func (i Issuer) LogValue() slog.Value { return slog.StringValue(i.String()) }

// Grant is what a token lets a phone do. It does not identify the guest: Subject is random, one per reservation, from NewSubject.
type Grant struct {
	Subject     string
	Audience    string // Audience is the id of a bridge, or of a property if the doors belong to several bridges
	Doors       []Door // Doors are 1 to MaxDoors in any order, none twice
	Operations  []Operation
	Start, End  time.Time
	Generation  uint64 // Generation is that of the issuer now; a door with a higher Floor refuses the token
	StatusIndex uint32 // StatusIndex is an index in the status list; its revocation revokes all tokens with it
	Phone       PublicKey
}

// Reasons why a grant yields no token.
var (
	ErrGrantOver  = errors.New("smartkey: the grant is over")
	ErrGrantEarly = errors.New("smartkey: the grant begins after the longest life of a token")
	ErrKeyOver    = errors.New("smartkey: the issuer key does not serve at this time; rotate the key set")
)

// Mint issues a token at now. The token starts with the grant, or five minutes before now if the grant began earlier. It ends with the
// grant, with the issuer key or after 24 hours, whichever is first. It returns [ErrKeyOver] if the issuer key is not valid at now,
// [ErrGrantOver] after the grant, [ErrGrantEarly] if the grant begins after the token must end, and another error if the grant exceeds a
// limit of the format.
func (i Issuer) Mint(g Grant, now time.Time) (Token, error) {
	issued := fromSeconds(toSeconds(now))
	current, err := i.keys.Current()
	if err != nil {
		return Token{}, err
	}
	if issued.Before(current.NotBefore) || !issued.Before(current.NotAfter) {
		return Token{}, ErrKeyOver
	}
	begin, end, err := window(g, issued, current.NotAfter)
	if err != nil {
		return Token{}, err
	}
	claims := tokenClaims{
		Issuer: i.keys.property, Subject: g.Subject, Audience: g.Audience,
		Expires: toSeconds(end), NotBefore: toSeconds(begin), IssuedAt: toSeconds(issued),
		Confirm: confirmation{Key: g.Phone.cose()},
		Status:  statusClaim{List: statusReference{Index: uint64(g.StatusIndex), URI: i.statusURI}},
		Doors:   slices.Clone(g.Doors), Operations: slices.Clone(g.Operations), Generation: g.Generation,
	}
	slices.SortFunc(claims.Doors, compareDoors)
	slices.Sort(claims.Operations)
	if _, err := io.ReadFull(i.random, claims.ID[:]); err != nil {
		return Token{}, fmt.Errorf("smartkey: generate a token id: %w", err)
	}
	token, err := claims.check()
	if err != nil {
		return Token{}, err
	}
	if token.Raw, err = sign1(i.signer, typeToken, claims); err != nil {
		return Token{}, err
	}
	if len(token.Raw) > MaxTokenSize {
		return Token{}, fmt.Errorf("smartkey: a token of %d bytes; at most %d: name fewer doors", len(token.Raw), MaxTokenSize)
	}
	token.IssuerKey = current.Key.KeyID()
	return token, nil
}

// window returns the validity of a token: within the grant, from at most MaxBackdate before its issue to at most MaxLife after it, and not
// after keyEnd, the end of the issuer key. If nothing is left, it returns [ErrGrantOver] if the end is not after the issue, else
// [ErrGrantEarly].
func window(g Grant, issued, keyEnd time.Time) (begin, end time.Time, err error) {
	begin, end = issued.Add(-MaxBackdate), issued.Add(MaxLife)
	if start := ceilSecond(g.Start); start.After(begin) {
		begin = start
	}
	for _, limit := range []time.Time{fromSeconds(toSeconds(g.End)), keyEnd} {
		if limit.Before(end) {
			end = limit
		}
	}
	switch {
	case !issued.Before(end):
		return begin, end, ErrGrantOver
	case !begin.Before(end):
		return begin, end, ErrGrantEarly
	}
	return begin, end, nil
}

// ceilSecond rounds up to a second, so that a token never begins before its grant.
func ceilSecond(t time.Time) time.Time {
	if s := fromSeconds(toSeconds(t)); s.Before(t) {
		return s.Add(time.Second)
	}
	return fromSeconds(toSeconds(t))
}

// NewSubject generates the random subject of a reservation: 16 bytes in base64url.
func NewSubject(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("smartkey: generate a subject: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
