package envelope_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// FaultOf restores the fault that a handler returned: its kind, reason, fields and delay.
func TestFaultOfRestoresTheFault(t *testing.T) {
	for kind := fault.Internal; kind <= fault.Unimplemented; kind++ {
		sent := fault.New(kind, "someReason", "a message")
		if kind == fault.Invalid {
			sent = fault.Fields(fault.Field{Path: "answers.email", Reason: "notAnAddress", Message: "wrong"})
		}
		if kind == fault.Exhausted {
			sent = sent.Retry(7 * time.Second)
		}
		got := envelope.FaultOf(envelope.Status(sent, "request").Err())
		want := kind
		switch kind {
		case fault.Unimplemented: // a page cannot distinguish it from an outage
			want = fault.Unavailable
		}
		if got.Kind != want || kind != fault.Internal && got.Reason != sent.Reason || sent.RetryAfter > 0 && got.RetryAfter != sent.RetryAfter {
			t.Errorf("%v: got %v, %q, %v", kind, got.Kind, got.Reason, got.RetryAfter)
		}
		if diff := cmp.Diff(sent.Fields, got.Fields); diff != "" {
			t.Errorf("%v: %s", kind, diff)
		}
	}
	if got := envelope.FaultOf(errors.New("a defect")); got.Kind != fault.Internal {
		t.Errorf("an error without a status is %v", got.Kind)
	}
}
