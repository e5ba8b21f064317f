package guest

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"latchkey.dev/internal/message"
)

// moment is the form of a time in a calendar file.
const moment = "20060102T150405Z"

// calendar answers with the stay as a file for the guest's calendar, RFC 5545. It has no name and no code.
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

// calendarText escapes a text of a calendar file.
func calendarText(text string) string {
	return strings.NewReplacer("\\", "\\\\", ";", "\\;", ",", "\\,", "\r", "", "\n", "\\n").Replace(text)
}

// maxLine is the most octets of a line without its end, RFC 5545 section 3.1.
const maxLine = 75

// foldLine splits a line that is too long. Each further part begins with a space. No character is split.
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
