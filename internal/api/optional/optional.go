// Package optional fills the optional fields of answers: what is not there is left out.
package optional

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Text is a string, left out where it is empty.
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Time is an instant, left out where it is zero.
func Time(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// At is an instant that may be missing.
func At(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
