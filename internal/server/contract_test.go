package server

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
	"latchkey.dev/internal/checkin"
)

// The published contract has each field of a checkIn call, and no other.
func TestCheckInCallFitsTheContract(t *testing.T) {
	for _, c := range []struct {
		sent      any
		published protoreflect.ProtoMessage
	}{
		{checkin.Disclosure{}, &pmsv1.CheckInRequest{}}, {checkin.Person{}, &pmsv1.Person{}}, {checkin.Town{}, &pmsv1.Town{}},
		{checkin.Document{}, &pmsv1.Document{}}, {checkin.DocumentDetails{}, &pmsv1.DocumentDetails{}},
	} {
		var sent, published []string
		for f := range reflect.TypeOf(c.sent).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			sent = append(sent, name)
		}
		fields := c.published.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			published = append(published, fields.Get(i).JSONName())
		}
		slices.Sort(sent)
		slices.Sort(published)
		if !slices.Equal(sent, published) {
			t.Errorf("%T: a call sends %v, the contract has %v", c.sent, sent, published)
		}
	}
}
