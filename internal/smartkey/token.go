package smartkey

import (
	"crypto/sha256"
	"slices"
	"time"
)

// Token is a parsed SmartKey whose issuer was verified.
type Token struct {
	Property    string // Property is the claim iss: the id of the property that issued the token
	Subject     string // Subject is the claim sub: random, one per reservation
	Audience    string // Audience is the claim aud: the id of a bridge or a property
	IssuedAt    time.Time
	NotBefore   time.Time // NotBefore is inclusive
	Expires     time.Time // Expires is exclusive
	ID          [16]byte  // ID is the claim cti
	Phone       PublicKey // Phone is the claim cnf: the key whose holder may use the token
	Doors       []Door    // Doors are in ascending order
	Operations  []Operation
	Generation  uint64 // Generation is that of the issuer at the issue; a door with a higher Floor refuses the token
	StatusIndex uint32 // StatusIndex is the token's index in the status list StatusURI
	StatusURI   string
	IssuerKey   KeyID  // IssuerKey is the id of the key that signed the token
	Raw         []byte // Raw is the signed token
}

// tokenClaims are the claims of a token, with the labels that cbor.go lists. Times are in seconds since 1970.
type tokenClaims struct {
	Issuer     string       `cbor:"1,keyasint"`
	Subject    string       `cbor:"2,keyasint"`
	Audience   string       `cbor:"3,keyasint"`
	Expires    uint64       `cbor:"4,keyasint"`
	NotBefore  uint64       `cbor:"5,keyasint"`
	IssuedAt   uint64       `cbor:"6,keyasint"`
	ID         [16]byte     `cbor:"7,keyasint"`
	Confirm    confirmation `cbor:"8,keyasint"`
	Status     statusClaim  `cbor:"65535,keyasint"`
	Doors      []Door       `cbor:"-65537,keyasint"`
	Operations []Operation  `cbor:"-65538,keyasint"`
	Generation uint64       `cbor:"-65539,keyasint"`
}

// confirmation is the value of cnf (RFC 8747, section 3.2).
type confirmation struct {
	Key coseKey `cbor:"1,keyasint"`
}

// statusClaim refers to one bit of a status list.
type statusClaim struct {
	List statusReference `cbor:"status_list"`
}

// statusReference names the index of a token in the status list with a URI.
type statusReference struct {
	Index uint64 `cbor:"idx"`
	URI   string `cbor:"uri"`
}

// Hash returns the SHA-256 of the whole token, by which a proof refers to it.
func (t Token) Hash() [32]byte { return sha256.Sum256(t.Raw) }

// CoversDoor reports whether the token names the door. It does not check whether the token is valid.
func (t Token) CoversDoor(d Door) bool { return slices.Contains(t.Doors, d) }

// CoversOperation reports whether the token names the operation. It does not check whether the token is valid.
func (t Token) CoversOperation(o Operation) bool { return slices.Contains(t.Operations, o) }

// RenewAfter returns when a phone should ask for the next token: after half of the token's life, counted from the later of its start and
// its issue.
func (t Token) RenewAfter() time.Time {
	begin := t.NotBefore
	if t.IssuedAt.After(begin) {
		begin = t.IssuedAt
	}
	return begin.Add(t.Expires.Sub(begin) / 2)
}

// OpenToken parses a token and verifies that this property's issuer signed it: format, algorithm, key, validity of the key,
// and signature. It does not decide whether the token opens a door now; Verify does.
func (s KeySet) OpenToken(raw []byte) (Token, error) {
	doc, err := readSign1(raw, typeToken, MaxTokenSize)
	if err != nil {
		return Token{}, err
	}
	claims, ok := decodeExact[tokenClaims](doc.Payload)
	if !ok {
		return Token{}, refuse(Malformed, "not the claims of a token in deterministic encoding")
	}
	token, err := claims.check()
	if err != nil {
		return Token{}, err
	}
	if token.Property != s.property {
		return Token{}, refuse(UnknownIssuer, "the token is of another property")
	}
	if err := s.verifyIssuer(doc, token.IssuedAt, token.Expires); err != nil {
		return Token{}, err
	}
	token.IssuerKey = doc.KeyID
	token.Raw = slices.Clone(raw)
	return token, nil
}

// ClaimedProperty returns the property that a token claims, without any verification. Use it only to find the key set.
func ClaimedProperty(raw []byte) (string, error) {
	doc, err := readSign1(raw, typeToken, MaxTokenSize)
	if err != nil {
		return "", err
	}
	claims, ok := decodeExact[tokenClaims](doc.Payload)
	if !ok || !isName(claims.Issuer) {
		return "", refuse(Malformed, "not the claims of a token in deterministic encoding")
	}
	return claims.Issuer, nil
}

// check returns the claims as a Token. It returns an error if a claim has an invalid form, or if the times do not fit together. It does not
// compare them with a clock.
func (c tokenClaims) check() (Token, error) {
	phone, err := c.Confirm.Key.public()
	if err != nil {
		return Token{}, err
	}
	switch {
	case !isName(c.Issuer) || !isName(c.Subject) || !isName(c.Audience):
		return Token{}, refuse(Malformed, "iss, sub and aud are 1 to 64 visible ASCII characters")
	case !inRange(c.Expires, c.IssuedAt, c.Generation):
		return Token{}, refuse(Malformed, "a number exceeds 53 bits")
	case c.NotBefore >= c.Expires:
		return Token{}, refuse(Malformed, "the window ends before it begins")
	case c.Expires > c.IssuedAt+uint64(MaxLife/time.Second):
		return Token{}, refuse(Malformed, "a token lives for at most 24 hours")
	case c.NotBefore+uint64(MaxBackdate/time.Second) < c.IssuedAt:
		return Token{}, refuse(Malformed, "the window begins long before the issue")
	case !ascending(c.Doors, MaxDoors, compareDoors):
		return Token{}, refuse(Malformed, "doors are 1 to 128, ascending, none twice")
	case !ascending(c.Operations, MaxOperations, compareOperations) || c.Operations[0] == 0:
		return Token{}, refuse(Malformed, "operations are 1 to 8, ascending, none twice")
	case c.Operations[len(c.Operations)-1] > maxOperation:
		return Token{}, refuse(Malformed, "an operation is a number from 1 to 255")
	case c.Status.List.Index >= MaxStatusIndexes || !isURI(c.Status.List.URI):
		return Token{}, refuse(Malformed, "the status reference exceeds its limits")
	}
	return Token{
		Property: c.Issuer, Subject: c.Subject, Audience: c.Audience,
		IssuedAt: fromSeconds(c.IssuedAt), NotBefore: fromSeconds(c.NotBefore), Expires: fromSeconds(c.Expires),
		ID: c.ID, Phone: phone, Doors: c.Doors, Operations: c.Operations, Generation: c.Generation,
		StatusIndex: uint32(c.Status.List.Index), StatusURI: c.Status.List.URI,
	}, nil
}

// maxOperation is the highest number of an operation. It leaves room for future operations: a verifier accepts tokens that contain them,
// and serves the operations it knows.
const maxOperation = 255

// ascending reports whether list has 1 to limit members in strictly ascending order.
func ascending[T any](list []T, limit int, compare func(a, b T) int) bool {
	if len(list) == 0 || len(list) > limit {
		return false
	}
	for i := 1; i < len(list); i++ {
		if compare(list[i-1], list[i]) >= 0 {
			return false
		}
	}
	return true
}

// compareDoors orders door ids by their bytes.
func compareDoors(a, b Door) int { return slices.Compare(a[:], b[:]) }

// compareOperations orders operations by their numbers.
func compareOperations(a, b Operation) int { return int(a) - int(b) }
