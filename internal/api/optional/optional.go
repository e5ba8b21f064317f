// Package optional fills the optional fields of answers. Missing values are left out.
package optional

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Text returns a string, or nil if it is empty.
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Time returns a timestamp, or nil if the time is zero.
func Time(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// At returns a timestamp, or nil if the time is nil.
func At(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
