package pin

import (
	"strconv"
	"time"
)

// Weak reports whether a PIN is easy to guess: a digit three times in a row, a run of four (1234 or 9876), a repeated part, a year at its
// beginning or end, or a date. Characters other than digits are checked only for repeats and runs.
func Weak(p string) bool {
	return hasTriple(p) || isPeriodic(p) || hasRun(p, 4) || hasYear(p) || isDate(p)
}

// hasTriple reports whether a PIN has a digit three times in a row.
func hasTriple(p string) bool {
	for i := 2; i < len(p); i++ {
		if p[i] == p[i-1] && p[i] == p[i-2] {
			return true
		}
	}
	return false
}

// isPeriodic reports whether a PIN repeats one part, such as 1212, 123123 and 7777.
func isPeriodic(p string) bool {
	for period := 1; period <= len(p)/2; period++ {
		if len(p)%period != 0 {
			continue
		}
		same := true
		for i := period; i < len(p) && same; i++ {
			same = p[i] == p[i-period]
		}
		if same {
			return true
		}
	}
	return false
}

// hasRun reports whether a PIN has n digits in a row that rise or fall by one.
func hasRun(p string, n int) bool {
	up, down := 1, 1
	for i := 1; i < len(p); i++ {
		switch int(p[i]) - int(p[i-1]) {
		case 1:
			up, down = up+1, 1
		case -1:
			up, down = 1, down+1
		default:
			up, down = 1, 1
		}
		if up >= n || down >= n {
			return true
		}
	}
	return false
}

// hasYear reports whether a PIN begins or ends with a year from 1900 to 2099, because people use their own years.
func hasYear(p string) bool {
	if len(p) < 4 {
		return false
	}
	return isYear(p[:4]) || isYear(p[len(p)-4:])
}

// isYear reports whether digits are a year from 1900 to 2099.
func isYear(p string) bool {
	n, err := strconv.Atoi(p)
	return err == nil && n >= 1900 && n <= 2099
}

// layouts are the ways to write a birthday in digits, as layouts of package time, by the number of digits. isDate refuses such PINs.
var layouts = map[int][]string{
	4: {"0201", "0102"},
	6: {"020106", "010206", "060102"},
	8: {"02012006", "01022006", "20060102"},
}

// isDate reports whether a PIN of 4, 6 or 8 digits is a date, such as a birthday. With 8 digits only the years 1900 to 2099 count.
func isDate(p string) bool {
	for _, l := range layouts[len(p)] {
		if t, err := time.Parse(l, p); err == nil && (len(p) < 8 || t.Year() >= 1900 && t.Year() <= 2099) {
			return true
		}
	}
	return false
}
