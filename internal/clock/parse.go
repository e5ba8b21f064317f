package clock

import (
	"errors"
	"strings"
	"time"
)

// Parse reads a date and time of RFC 3339, and nothing else: [time.Parse] alone takes hours of one digit, a comma before
// the fraction and offsets that no clock has, and refuses the letters in lower case. There is no second 60, because no
// day of [time.Time] has one.
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
