// Package convert builds protobuf messages that several API areas return.
package convert

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TextOrNil returns a string, or nil if it is empty.
func TextOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// OrEmpty returns the string at s, or "" if s is nil.
func OrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Int32 converts n to an int32, or returns nil if n is nil.
func Int32(n *int) *int32 {
	if n == nil {
		return nil
	}
	v := int32(*n)
	return &v
}

// Minutes returns a number of minutes as a duration.
func Minutes(n int32) time.Duration { return time.Duration(n) * time.Minute }

// OptionalTime converts a time to a timestamp. It returns nil for nil. [clock.Timestamp] is the same for a time that may be zero.
func OptionalTime(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}

// Struct converts the parameters of a text to a JSON object. It returns nil if there are none, or if JSON cannot represent them.
func Struct(params map[string]any) *structpb.Struct {
	if len(params) == 0 {
		return nil
	}
	object := &structpb.Struct{}
	if text, err := json.Marshal(params); err != nil || object.UnmarshalJSON(text) != nil {
		return nil
	}
	return object
}
