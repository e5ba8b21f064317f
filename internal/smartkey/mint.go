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

// Issuer mints a property's tokens. It is made by NewIssuer and does not change.
type Issuer struct {
	signer    crypto.Signer
	keys      KeySet
	statusURI string
	random    io.Reader
}

// NewIssuer takes the private part of the key set's current key, which may live
// in an HSM, the URI of the property's status list, and the generator that
// draws token ids. The generator must be safe for concurrent use if the issuer
// is used so.
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

// String names the property and never the key.
func (i Issuer) String() string { return "issuer of " + i.keys.property }

// GoString is String.
func (i Issuer) GoString() string { return i.String() }

// LogValue is String.
func (i Issuer) LogValue() slog.Value { return slog.StringValue(i.String()) }

// Grant is what a phone may do, as the server knows it. Nothing of it says who
// the guest is: Subject is NewSubject's, one per stay.
type Grant struct {
	Subject     string
	Audience    string // a bridge's id, or a site's when doors of several bridges are meant
	Doors       []Door // in any order
	Operations  []Operation
	Start, End  time.Time
	Generation  uint64
	StatusIndex uint32
	Phone       PublicKey
}

// Why a grant yields no token.
var (
	ErrGrantOver  = errors.New("smartkey: the grant is over")
	ErrGrantEarly = errors.New("smartkey: the grant begins after the longest life of a token")
	ErrKeyOver    = errors.New("smartkey: the issuer key does not serve at this time; rotate the key set")
)

// Mint issues a token at now. It starts with the grant, or five minutes ago if the grant has begun. It ends with the grant,
// with the issuer key or after 24 hours, whichever is first.
func (i Issuer) Mint(g Grant, now time.Time) (Token, error) {
	issued := at(seconds(now))
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
		Expires: seconds(end), NotBefore: seconds(begin), IssuedAt: seconds(issued),
		Confirm: confirmation{Key: g.Phone.cose()},
		Status:  statusClaim{List: statusReference{Index: uint64(g.StatusIndex), URI: i.statusURI}},
		Doors:   slices.Clone(g.Doors), Operations: slices.Clone(g.Operations), Generation: g.Generation,
	}
	slices.SortFunc(claims.Doors, compareDoors)
	slices.Sort(claims.Operations)
	if _, err := io.ReadFull(i.random, claims.ID[:]); err != nil {
		return Token{}, fmt.Errorf("smartkey: draw a token id: %w", err)
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

// window is the token's: within the grant, within the issuer key's time, at most MaxLife from its issue.
func window(g Grant, issued, keyEnd time.Time) (begin, end time.Time, err error) {
	begin, end = issued.Add(-MaxBackdate), issued.Add(MaxLife)
	if start := ceilSecond(g.Start); start.After(begin) {
		begin = start
	}
	for _, limit := range []time.Time{at(seconds(g.End)), keyEnd} {
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

// ceilSecond rounds up, so that a token never begins before its grant.
func ceilSecond(t time.Time) time.Time {
	if s := at(seconds(t)); s.Before(t) {
		return s.Add(time.Second)
	}
	return at(seconds(t))
}

// NewSubject draws the random subject of a stay: 16 bytes in base64url.
func NewSubject(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("smartkey: draw a subject: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
