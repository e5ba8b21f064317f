package kit

import (
	"fmt"
	"strconv"
	"strings"
)

// DateParts splits a date into day, month and year for the three boxes of an input. value is a stored date (YYYY-MM-DD) or, after a failed
// attempt, the text that DateFrom returned. It always returns three parts, all empty for "".
func DateParts(value string) []string {
	if parts := strings.SplitN(value, "-", 3); len(parts) == 3 && len(parts[0]) == 4 {
		return []string{strings.TrimLeft(parts[2], "0"), strings.TrimLeft(parts[1], "0"), parts[0]}
	}
	return append(strings.SplitN(value, " ", 3), "", "", "")[:3]
}

// DateFrom joins the three boxes of a date input to YYYY-MM-DD. month may be a number or a name. It returns a date with a wrong number as
// typed, with spaces between the boxes, so that the API refuses it and the page can show it again. It does not check whether the month has
// the day. It returns "" for three empty boxes.
func (w Words) DateFrom(day, month, year string) string {
	if day+month+year == "" {
		return ""
	}
	typed := day + " " + month + " " + year
	m, err := strconv.Atoi(month)
	if err != nil {
		m = w.monthNamed(month)
	}
	d, derr := strconv.Atoi(day)
	y, yerr := strconv.Atoi(year)
	if derr != nil || yerr != nil || m < 1 || m > 12 || d < 1 || d > 31 || y < 1000 || y > 9999 {
		return typed
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}

// monthNamed returns the number of the month with this name in the language, or 0. name has at least three letters of it; the first month
// that matches counts.
func (w Words) monthNamed(name string) int {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	for m := 1; m <= 12 && len(name) >= 3; m++ {
		if strings.HasPrefix(strings.ToLower(w.Text("month."+strconv.Itoa(m), nil)), name) {
			return m
		}
	}
	return 0
}
