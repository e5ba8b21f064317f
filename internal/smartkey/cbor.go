package smartkey

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"
)

// Labels of COSE headers, CWT claims and the map members of this format. The
// claims below -65536 are of CWT's range for private use (RFC 8392, section 9.1).
//
//	1 iss, 2 sub, 3 aud, 4 exp, 5 nbf, 6 iat, 7 cti   RFC 8392
//	8 cnf                                             RFC 8747
//	10 nonce                                          RFC 9711
//	65533 status_list, 65535 status                   Token Status List
//	-65537 doors, -65538 operations, -65539 generation, -65540 number,
//	-65541 floors, -65542 keys, -65543 door, -65544 operation,
//	-65545 token hash, -65546 purpose                 this format

// wire holds the encoding and the decoding mode. Both are immutable and safe for concurrent use.
var wire = newModes()

// modes are a mode that encodes and a mode that decodes CBOR.
type modes struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

// newModes returns the deterministic encoding of RFC 8949, section 4.2.1, and a strict decoding. The decoding alone accepts some encodings
// that are not deterministic, such as unsorted keys: see decodeExact.
func newModes() modes {
	enc := cbor.CoreDetEncOptions()
	enc.NilContainers = cbor.NilContainerAsEmpty
	enc.TagsMd = cbor.TagsForbidden
	encMode, err := enc.EncMode()
	if err != nil {
		panic(err) // the options are constant
	}
	// decodeExact by itself rejects encodings that are not deterministic. The strict options reject these earlier, before more work is
	// done. Only the option UTF8 rejects texts that are not UTF-8.
	decMode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		UTF8:              cbor.UTF8RejectInvalid,
		MaxNestedLevels:   8,
		MaxArrayElements:  MaxFloors,
		MaxMapPairs:       32,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constant
	}
	return modes{enc: encMode, dec: decMode}
}

// mustEncode encodes a value of this package. It panics on an error, which is impossible: all types of the package have an encoding.
func mustEncode(v any) []byte {
	b, err := wire.enc.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// decodeExact decodes b as a T. It returns true only if the decoded value encodes to the same bytes; otherwise the value must not be used.
// This single rule refuses integers and lengths that are not in their shortest form, members that are unsorted, repeated, unknown or
// missing, null as a value, indefinite lengths and trailing bytes.
func decodeExact[T any](b []byte) (T, bool) {
	var v T
	if err := wire.dec.Unmarshal(b, &v); err != nil {
		return v, false
	}
	return v, bytes.Equal(b, mustEncode(v))
}

// decodeMessage decodes an unsigned message of at most limit bytes by [decodeExact].
func decodeMessage[T any](b []byte, limit int) (T, error) {
	if len(b) > limit {
		return *new(T), refuse(Malformed, "larger than allowed")
	}
	message, ok := decodeExact[T](b)
	if !ok {
		return message, refuse(Malformed, "not the message in deterministic encoding")
	}
	return message, nil
}

// isName reports whether s is an identifier: 1 to 64 visible ASCII characters.
func isName(s string) bool { return isVisibleASCII(s, maxName) }

// isURI reports whether s can be the URI of a status list: 1 to 256 visible ASCII characters. It does not parse it.
func isURI(s string) bool { return isVisibleASCII(s, maxURI) }

// isVisibleASCII reports whether s has 1 to limit characters, all ASCII and visible, so no spaces.
func isVisibleASCII(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// inRange reports whether every number fits in 53 bits, which a double holds exactly.
func inRange(numbers ...uint64) bool {
	for _, n := range numbers {
		if n > maxNumber {
			return false
		}
	}
	return true
}
