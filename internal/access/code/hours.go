package code

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
)

// Hours are days of the week, at least one, with the hours in the property's time zone at which a code is valid on them.
type Hours = schema.WeeklyHours

// daysPerWeek is the number of days of a week. A code whose hours cover so many days without a gap counts as valid at any time.
const daysPerWeek = 7

// windowsOfHours lists the windows of weekly hours that end after from and begin before until. It adds later windows until one ends after
// now, because a clock change may skip the hours of one week. It merges windows that touch or overlap. always means that the hours have no
// gap.
//
// Hours are local times in zone. An hour that a clock change skips becomes the instant of the change. If an hour occurs twice, the window
// includes both.
func windowsOfHours(hours []Hours, zone *time.Location, from, now, until time.Time) (out []access.Window, always bool) {
	for _, w := range mergedWindows(hours, zone, from, until) {
		switch {
		case !w.To.After(from):
			continue
		case w.To.Sub(w.From) >= daysPerWeek*24*time.Hour:
			return nil, true
		case w.From.Before(until) || len(out) == 0 || !out[len(out)-1].To.After(now):
			out = append(out, w)
		}
	}
	return out, false
}

// mergedWindows lists the windows of weekly hours in order and merged, from a week before from until some weeks after until.
func mergedWindows(hours []Hours, zone *time.Location, from, until time.Time) (out []access.Window) {
	first, last := from.In(zone), until.In(zone)
	end := time.Date(last.Year(), last.Month(), last.Day()+2*daysPerWeek+1, 12, 0, 0, 0, time.UTC)
	var all []access.Window
	for d := -daysPerWeek - 1; ; d++ {
		date := time.Date(first.Year(), first.Month(), first.Day()+d, 12, 0, 0, 0, time.UTC)
		if date.After(end) {
			break
		}
		for _, h := range hours {
			if w, ok := windowOn(h, zone, date); ok {
				all = append(all, w)
			}
		}
	}
	slices.SortFunc(all, func(a, b access.Window) int { return a.From.Compare(b.From) })
	for _, w := range all {
		if n := len(out); n > 0 && !w.From.After(out[n-1].To) {
			if w.To.After(out[n-1].To) {
				out[n-1].To = w.To
			}
			continue
		}
		out = append(out, w)
	}
	return out
}

// windowOn returns the window of hours that begins on a date. It returns false if the hours are for another weekday, or a clock change
// skips them.
func windowOn(h Hours, zone *time.Location, date time.Time) (access.Window, bool) {
	weekday := int(date.Weekday()+6)%daysPerWeek + 1
	if !slices.Contains(h.Days, weekday) {
		return access.Window{}, false
	}
	from, to := minutesOfDay(h.From), minutesOfDay(h.To)
	if to <= from {
		to += 24 * 60
	}
	w := access.Window{From: clock.InstantAt(date, from, zone, false), To: clock.InstantAt(date, to, zone, true)}
	return w, w.From.Before(w.To)
}

// minutesOfDay returns the minutes since midnight of HH:MM, which was validated.
func minutesOfDay(s string) int {
	var hour, minute int
	_, _ = fmt.Sscanf(s, "%d:%d", &hour, &minute)
	return hour*60 + minute
}

// maxHours limits the lines of weekly hours of a code.
const maxHours = 28

// checkHours returns the invalid fields of weekly hours. For more than maxHours lines it returns only that error.
func checkHours(hours []Hours) []fault.Field {
	var wrong []fault.Field
	bad := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	if len(hours) > maxHours {
		bad("hours", fault.OutOfRange, fmt.Sprintf("at most %d lines", maxHours))
		return wrong
	}
	for i, h := range hours {
		at := fmt.Sprintf("hours[%d].", i)
		if len(h.Days) == 0 || slices.ContainsFunc(h.Days, func(d int) bool { return d < 1 || d > daysPerWeek }) {
			bad(at+"days", fault.OutOfRange, "must name days, 1 Monday to 7 Sunday")
		}
		if !isHHMM(h.From) {
			bad(at+"from", fault.BadFormat, "must be HH:MM, 00:00 to 23:59")
		}
		if !isHHMM(h.To) && h.To != "24:00" {
			bad(at+"to", fault.BadFormat, "must be HH:MM, 00:00 to 24:00")
		}
		if h.From == h.To {
			bad(at+"to", fault.Conflicting, "must differ from from; the whole day is 00:00 to 24:00")
		}
	}
	return wrong
}

// isHHMM reports whether a text is a time of day from 00:00 to 23:59.
func isHHMM(s string) bool {
	_, err := time.Parse("15:04", s)
	return err == nil && len(s) == 5 && strings.IndexByte(s, ':') == 2
}
