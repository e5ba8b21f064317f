package convert

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/fault"
)

// fieldHash is the number of bytes that an etag holds for each field.
const fieldHash = 3

// Etag returns the etag of a message that a caller may read, change and send back. It holds a short hash of each field, so that [CheckEtag]
// can name the fields that changed. It leaves out the field etag and the ignored fields, which are JSON names.
func Etag(m proto.Message, ignored ...string) string {
	var parts []byte
	for _, f := range etagFields(m, ignored) {
		part := sha256.Sum256(fieldBytes(m, f))
		parts = append(parts, part[:fieldHash]...)
	}
	return base64.RawURLEncoding.EncodeToString(parts)
}

// CheckEtag returns an error if a caller's etag is not that of the stored message. The error names the changed fields, unless the etag is
// malformed or of another version of the software. An empty etag passes, because the caller wants to overwrite any version. ignored must be
// the same as for [Etag].
func CheckEtag(etag string, stored proto.Message, ignored ...string) error {
	now := Etag(stored, ignored...)
	if etag == "" || etag == now {
		return nil
	}
	was, err := base64.RawURLEncoding.DecodeString(etag)
	is, _ := base64.RawURLEncoding.DecodeString(now)
	if err != nil || len(was) != len(is) {
		return fault.New(fault.Aborted, fault.Outdated, "the etag is not one of this version: read the object again, and send the etag of the answer")
	}
	var changed []string
	for i, f := range etagFields(stored, ignored) {
		if at := i * fieldHash; !slices.Equal(was[at:at+fieldHash], is[at:at+fieldHash]) {
			changed = append(changed, string(f.JSONName()))
		}
	}
	list := strings.Join(changed, ",")
	return fault.New(fault.Aborted, fault.Outdated, "%s", fmt.Sprintf("changed since you read it: %s. Read it again", strings.Join(changed, ", "))).Put("changed", list)
}

// etagFields returns the fields of the type of m that an etag covers, also those that are not set, in the order of the message: all but
// etag and ignored.
func etagFields(m proto.Message, ignored []string) (fields []protoreflect.FieldDescriptor) {
	all := m.ProtoReflect().Descriptor().Fields()
	for i := range all.Len() {
		if f := all.Get(i); f.JSONName() != "etag" && !slices.Contains(ignored, f.JSONName()) {
			fields = append(fields, f)
		}
	}
	return fields
}

// fieldBytes encodes one field of a message, for its hash. A field that is not set has no bytes.
func fieldBytes(m proto.Message, f protoreflect.FieldDescriptor) []byte {
	from := m.ProtoReflect()
	if !from.Has(f) {
		return nil
	}
	one := from.New()
	one.Set(f, from.Get(f))
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(one.Interface())
	if err != nil {
		return []byte(err.Error()) // a text that is not UTF-8, which no stored message has
	}
	return raw
}
