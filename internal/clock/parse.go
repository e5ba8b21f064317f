package clock

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Parse parses a date and time in RFC 3339 strictly. [time.Parse] alone also accepts one-digit hours, a comma before the fraction and
// impossible offsets, and refuses lower-case letters. Parse refuses second 60, which [time.Time] cannot represent. The result keeps the
// offset of s.
func Parse(s string) (time.Time, error) {
	s = strings.ToUpper(s)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, err
	}
	zone := s[len(s)-len("Z"):]
	if zone != "Z" {
		zone = s[len(s)-len("07:00"):]
	}
	if s[len("2006-01-02T15")] != ':' || strings.Contains(s, ",") || zone != "Z" && (zone[:2] > "23" || zone[3:] > "59") {
		return time.Time{}, errNotRFC
	}
	return t, nil
}

var errNotRFC = errors.New("not a date and time of RFC 3339")

// daysFirst matches a duration that begins with days, such as 1d12h.
var daysFirst = regexp.MustCompile(`^([0-9]{1,6})d(.*)$`)

// ParseDuration parses a duration like [time.ParseDuration], negative ones too. The text may begin with a whole number of days of 24 hours,
// without a sign: 30d, 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	days, rest := 0, text
	if m := daysFirst.FindStringSubmatch(text); m != nil {
		days, _ = strconv.Atoi(m[1]) // the pattern allows at most six digits
		if rest = m[2]; rest == "" {
			rest = "0s"
		} else if rest[0] == '-' || rest[0] == '+' {
			return 0, wrongDuration(text)
		}
	}
	d, err := time.ParseDuration(rest)
	const day = 24 * time.Hour
	if err != nil || days > int((math.MaxInt64-max(d, 0))/day) {
		return 0, wrongDuration(text)
	}
	return time.Duration(days)*day + d, nil
}

// wrongDuration returns the error for a text that is not a duration.
func wrongDuration(text string) error {
	return fmt.Errorf("want a duration such as 30d, 12h or 90m, not %q", text)
}

// Timestamp converts a time to a protobuf timestamp. It returns nil for the zero time.
func Timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// TimeOf converts a protobuf timestamp to a time. It returns the zero time if the timestamp is missing or invalid.
func TimeOf(t *timestamppb.Timestamp) time.Time {
	if !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}
