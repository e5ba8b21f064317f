package guest

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"latchkey.dev/internal/message"
)

// moment is the format of times in a calendar file.
const moment = "20060102T150405Z"

// calendar handles the download of the stay as a calendar file (RFC 5545), without the names of guests and without codes, because calendars
// are shared.
func (s *site) calendar(x *exchange) error {
	stay := x.flow.Stay
	words := x.words(stay.GetProperty())
	title := words.Text("web.calendar.title", message.Params{"property": stay.GetProperty().GetName()})
	lines := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Latchkey//Stay//EN", "BEGIN:VEVENT",
		"UID:" + calendarText(stay.GetId()), "DTSTAMP:" + s.Now().UTC().Format(moment),
		"DTSTART:" + stay.GetFrom().AsTime().Format(moment), "DTEND:" + stay.GetTo().AsTime().Format(moment),
		"SUMMARY:" + calendarText(title), "LOCATION:" + calendarText(stay.GetProperty().GetAddress()),
		"END:VEVENT", "END:VCALENDAR", "",
	}
	for i, line := range lines {
		lines[i] = foldLine(line)
	}
	x.W.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	x.W.Header().Set("Content-Disposition", `attachment; filename="stay.ics"`)
	x.W.WriteHeader(http.StatusOK)
	_, err := fmt.Fprint(x.W, strings.Join(lines, "\r\n"))
	return err
}

// calendarText escapes a text for a calendar file (RFC 5545).
func calendarText(text string) string {
	return strings.NewReplacer("\\", "\\\\", ";", "\\;", ",", "\\,", "\r", "", "\n", "\\n").Replace(text)
}

// maxLine is the maximum length of a line in octets (RFC 5545, section 3.1).
const maxLine = 75

// foldLine splits a long line as RFC 5545 requires: each further part begins with a space character, and no character is split.
func foldLine(line string) string {
	var out strings.Builder
	length := 0
	for _, r := range line {
		if n := utf8.RuneLen(r); length+n > maxLine {
			out.WriteString("\r\n ")
			length = 1
		}
		n, _ := out.WriteRune(r)
		length += n
	}
	return out.String()
}
