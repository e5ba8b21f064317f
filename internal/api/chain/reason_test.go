package chain

import (
	"testing"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The audit log has what a caller gives as reason, whatever the name of the field.
func TestReasonOf(t *testing.T) {
	for _, c := range []struct {
		request proto.Message
		want    string
	}{
		{&propertyv1.WaiveOwingRequest{Reason: "paid in cash"}, "paid in cash"},
		{&propertyv1.ClearStageRequest{Stage: "signature", RefuseBecause: "another name"}, "another name"},
		{&propertyv1.ClearStageRequest{Stage: "signature"}, ""},
		{&propertyv1.AskAgainRequest{}, ""},
		{nil, ""},
	} {
		if got := reasonOf(c.request); got != c.want {
			t.Errorf("%T: %q, want %q", c.request, got, c.want)
		}
	}
}
