package clock

import (
	"errors"
	"strings"
	"time"
)

// Parse parses a date and time in RFC 3339 strictly. [time.Parse] alone also accepts one-digit hours, a comma before the
// fraction and impossible offsets, and refuses lower-case letters. Parse refuses second 60, which [time.Time] cannot
// represent.
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
