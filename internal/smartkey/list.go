package smartkey

import (
	"bytes"
	"compress/zlib"
	"crypto"
	"fmt"
	"io"
	"slices"
	"time"
)

// List is a verified status list: which tokens are revoked, and the lowest generation that each door accepts. The zero value means
// that there is no list.
type List struct {
	uri      string
	number   uint64
	issuedAt time.Time
	expires  time.Time
	bits     []byte
	floors   []Floor
	signer   KeyID
	raw      []byte
}

// Floor is the lowest generation of tokens that a door accepts.
type Floor struct {
	_          struct{} `cbor:",toarray"`
	Door       Door
	Generation uint64
}

// listClaims are the claims of a Status List Token in CWT form, with a number and the floors in addition.
type listClaims struct {
	Issuer   string     `cbor:"1,keyasint"`
	Subject  string     `cbor:"2,keyasint"`
	Expires  uint64     `cbor:"4,keyasint"`
	IssuedAt uint64     `cbor:"6,keyasint"`
	Status   statusBits `cbor:"65533,keyasint"`
	Number   uint64     `cbor:"-65540,keyasint"`
	Floors   []Floor    `cbor:"-65541,keyasint"`
}

// statusBits has the bits of a status list, Bits for each index, as a zlib stream.
type statusBits struct {
	Compressed []byte `cbor:"lst"`
	Bits       uint64 `cbor:"bits"`
}

// ListSpec is a status list to sign.
type ListSpec struct {
	Property string
	URI      string // URI identifies the list; tokens name it
	Number   uint64 // Number must be greater than every earlier number, which SignList cannot check
	IssuedAt time.Time
	Expires  time.Time // Expires is normally IssuedAt + DefaultMaxListAge
	Size     int       // Size is the number of indexes, rounded up to a multiple of 8
	Revoked  []uint32  // Revoked has the indexes of the revoked tokens, in any order
	Floors   []Floor   // Floors are in any order, each door once; a door without one accepts every generation
}

// SignList signs a status list. signer must be the current key of the property's key set; SignList does not check which key it is. It fails
// if the size is not 1 to MaxStatusIndexes, if a revoked index is not below it, or if the list breaks another limit of the format.
func SignList(signer crypto.Signer, spec ListSpec) ([]byte, error) {
	if spec.Size < 1 || spec.Size > MaxStatusIndexes {
		return nil, fmt.Errorf("smartkey: a status list has 1 to %d indexes", MaxStatusIndexes)
	}
	bits := make([]byte, (spec.Size+7)/8)
	for _, index := range spec.Revoked {
		if int(index) >= spec.Size {
			return nil, fmt.Errorf("smartkey: revoked index %d is outside a list of %d", index, spec.Size)
		}
		bits[index/8] |= 1 << (index % 8)
	}
	compressed, err := compress(bits)
	if err != nil {
		return nil, err
	}
	claims := listClaims{
		Issuer: spec.Property, Subject: spec.URI, Number: spec.Number,
		IssuedAt: toSeconds(spec.IssuedAt), Expires: toSeconds(spec.Expires),
		Status: statusBits{Compressed: compressed, Bits: 1}, Floors: slices.Clone(spec.Floors),
	}
	slices.SortFunc(claims.Floors, compareFloors)
	if _, err := claims.check(); err != nil {
		return nil, err
	}
	raw, err := sign1(signer, typeList, claims)
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxListSize {
		return nil, fmt.Errorf("smartkey: a status list of %d bytes; at most %d", len(raw), MaxListSize)
	}
	return raw, nil
}

// OpenList parses a status list and verifies that this property's issuer signed it, with a key of this set that was valid at the time of
// issue. It does not check whether the list has expired. A verifier that already has a list calls AdvanceList.
func (s KeySet) OpenList(raw []byte) (List, error) {
	doc, err := readSign1(raw, typeList, MaxListSize)
	if err != nil {
		return List{}, err
	}
	claims, ok := decodeExact[listClaims](doc.Payload)
	if !ok {
		return List{}, refuse(Malformed, "not the claims of a status list in deterministic encoding")
	}
	if claims.Issuer != s.property {
		return List{}, refuse(UnknownIssuer, "the status list is of another property")
	}
	if !inRange(claims.IssuedAt) {
		return List{}, refuse(Malformed, "a number exceeds 53 bits")
	}
	// The signature is verified before decompression, so that only the issuer can cause that work.
	issued := fromSeconds(claims.IssuedAt)
	if err := s.verifyIssuer(doc, issued, issued); err != nil {
		return List{}, err
	}
	list, err := claims.check()
	if err != nil {
		return List{}, err
	}
	list.signer = doc.KeyID
	list.raw = bytes.Clone(raw)
	return list, nil
}

// AdvanceList verifies a newer list, whose number must be greater than that of the current list, and returns it. If the signer of the
// current list was removed from the key set, or there is no current list, any number is accepted. With an error, AdvanceList returns the
// current list.
func (s KeySet) AdvanceList(current List, raw []byte) (List, error) {
	next, err := s.OpenList(raw)
	switch {
	case err != nil:
		return current, err
	case s.hasSigner(current) && next.number <= current.number:
		return current, refuse(NotNewer, "the verifier holds a status list of this or a greater number")
	}
	return next, nil
}

// hasSigner reports whether the key set contains the list's signer.
func (s KeySet) hasSigner(l List) bool {
	_, ok := s.find(l.signer)
	return ok
}

// check validates the claims of a status list, and returns the list, without signer and document. It does not check the issuer.
func (c listClaims) check() (List, error) {
	switch {
	case !isURI(c.Subject):
		return List{}, refuse(Malformed, "a status list needs a URI of 1 to 256 visible ASCII characters")
	case c.Number == 0 || !inRange(c.Number, c.Expires) || c.IssuedAt >= c.Expires:
		return List{}, refuse(Malformed, "a status list has a number from 1 and ends after its issue")
	case c.Status.Bits != 1:
		return List{}, refuse(Malformed, "a status list has one bit per index")
	case len(c.Floors) > 0 && !ascending(c.Floors, MaxFloors, compareFloors):
		return List{}, refuse(Malformed, "floors are at most 1024, ascending by door, none twice")
	}
	for _, f := range c.Floors {
		if !inRange(f.Generation) {
			return List{}, refuse(Malformed, "a number exceeds 53 bits")
		}
	}
	bits, err := decompress(c.Status.Compressed)
	if err != nil {
		return List{}, err
	}
	return List{
		uri: c.Subject, number: c.Number,
		issuedAt: fromSeconds(c.IssuedAt), expires: fromSeconds(c.Expires), bits: bits, floors: c.Floors,
	}, nil
}

// Number returns the number of the list, which grows with each list; 0 means that there is no list.
func (l List) Number() uint64 { return l.number }

// URI returns the list's identifier, which tokens name.
func (l List) URI() string { return l.uri }

// IssuedAt returns when the list was signed, to the second; zero if there is no list.
func (l List) IssuedAt() time.Time { return l.issuedAt }

// Expires returns the end of the list's validity. It applies to every door.
func (l List) Expires() time.Time { return l.expires }

// Size returns the number of indexes in the list.
func (l List) Size() int { return len(l.bits) * 8 }

// Raw returns the document, to be stored and opened again.
func (l List) Raw() []byte { return bytes.Clone(l.raw) }

// Revoked reports whether the tokens with an index are revoked. For an index beyond the end of the list, both results are false.
func (l List) Revoked(index uint32) (revoked, known bool) {
	if int64(index) >= int64(l.Size()) {
		return false, false
	}
	return l.bits[index/8]&(1<<(index%8)) != 0, true
}

// Floor returns the lowest generation that a door accepts; 0: any generation.
func (l List) Floor(d Door) uint64 {
	i, found := slices.BinarySearchFunc(l.floors, d, func(f Floor, d Door) int { return compareDoors(f.Door, d) })
	if !found {
		return 0
	}
	return l.floors[i].Generation
}

// compareFloors orders floors by their doors.
func compareFloors(a, b Floor) int { return compareDoors(a.Door, b.Door) }

// compress returns the bits of a list as a zlib stream (RFC 1950).
func compress(bits []byte) ([]byte, error) {
	var buf bytes.Buffer
	w, err := zlib.NewWriterLevel(&buf, zlib.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("smartkey: compress: %w", err)
	}
	if _, err := w.Write(bits); err != nil {
		return nil, fmt.Errorf("smartkey: compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("smartkey: compress: %w", err)
	}
	return buf.Bytes(), nil
}

// decompress decodes exactly one zlib stream (RFC 1950) to between 1 byte and 32 KiB.
func decompress(compressed []byte) ([]byte, error) {
	const limit = MaxStatusIndexes / 8
	src := bytes.NewReader(compressed)
	r, err := zlib.NewReader(src)
	if err != nil {
		return nil, refuse(Malformed, "the status bits are not a zlib stream")
	}
	bits, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, refuse(Malformed, "the status bits are a broken zlib stream")
	case len(bits) == 0 || len(bits) > limit:
		return nil, refuse(Malformed, "the status bits are 1 byte to 32 KiB")
	case src.Len() > 0:
		return nil, refuse(Malformed, "bytes follow the status bits")
	}
	return bits, nil
}
