package main

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// A test that failed stores no time, and a later success does not clear the error.
func TestErrorsOfEndpointsSayWhen(t *testing.T) {
	if got := failureOf(&propertyv1.Endpoint{}); got != "" {
		t.Error(got)
	}
	message := "x"
	if got := failureOf(&propertyv1.Endpoint{LastError: &message, State: "ok"}); got != "x (in a test)" {
		t.Error(got)
	}
	if got := failureOf(&propertyv1.Endpoint{LastError: &message, State: "ok", LastFailureAt: timestamppb.Now()}); got != "x" {
		t.Error(got)
	}
}
