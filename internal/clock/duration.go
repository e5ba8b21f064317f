package clock

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

var daysFirst = regexp.MustCompile(`^([0-9]{1,6})d(.*)$`)

// ParseDuration parses a duration like [time.ParseDuration], which may begin with days of 24 hours: 30d, 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	days, rest := 0, text
	if m := daysFirst.FindStringSubmatch(text); m != nil {
		days, _ = strconv.Atoi(m[1]) // six digits
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

func wrongDuration(text string) error {
	return fmt.Errorf("want a duration such as 30d, 12h or 90m, not %q", text)
}
