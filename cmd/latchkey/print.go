package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/text"
)

// printAnswer ends a command: it prints the server's answer m as JSON with --json, otherwise by calling human. If err, the error of the
// call, is not nil, it returns err and prints nothing.
func (s *session) printAnswer(m proto.Message, err error, human func()) error {
	if err != nil {
		return err
	}
	if !s.JSON {
		human()
		return nil
	}
	raw, err := protoJSON.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, string(raw))
	return err
}

var protoJSON = protojson.MarshalOptions{Multiline: true, EmitDefaultValues: true}

// printAnswers prints several values as one JSON object below the key data, for commands that make several calls. It does not check
// --json: the caller does. parts has the values by their name. Messages keep the field names of the API.
func (s *session) printAnswers(parts map[string]any) error {
	data := map[string]any{}
	for name, part := range parts {
		data[name] = part
		if m, ok := part.(proto.Message); ok {
			data[name] = asJSON{m}
		}
	}
	raw, err := json.MarshalIndent(map[string]any{"data": data}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, string(raw))
	return err
}

// asJSON encodes a protobuf message as part of a larger JSON value.
type asJSON struct{ message proto.Message }

// MarshalJSON encodes the message as the API does.
func (m asJSON) MarshalJSON() ([]byte, error) { return protoJSON.Marshal(m.message) }

// say prints a line for the user, formatted as by fmt.Printf.
func (s *session) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// printNextSteps prints, below the heading Next, commands that the user may want to type now. It adds the connection flags that the user
// typed.
func (s *session) printNextSteps(lines ...string) {
	fmt.Fprintln(s.out, "\nNext:")
	for _, l := range lines {
		fmt.Fprintln(s.out, "  "+s.withTypedFlags(l))
	}
}

// printSecret prints a secret that the server shows only once; nothing if value is empty. advice follows in the same sentence: it is empty,
// or begins with a punctuation mark and a space.
func (s *session) printSecret(name, value, advice string) {
	if value == "" {
		return
	}
	s.say("\n%s, shown only this once%s:\n\n    %s", name, advice, value)
}

// printTable prints rows in columns below the header, which it prints in capitals, or only the text none if there are no rows.
func (s *session) printTable(none string, header []string, rows [][]string) {
	if len(rows) == 0 {
		s.say("%s", s.withTypedFlags(none))
		return
	}
	upper := make([]string, len(header))
	for i, h := range header {
		upper[i] = strings.ToUpper(h)
	}
	for _, line := range columnsOf(append([][]string{upper}, rows...), s.width) {
		fmt.Fprintln(s.out, line)
	}
}

// printFacts prints names with their values, one per line: pairs alternates between them. It skips empty values.
func (s *session) printFacts(pairs ...string) {
	w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", pairs[i], text.Escape(pairs[i+1]))
		}
	}
	_ = w.Flush()
}

// errNothing refuses a change without any value, which happens if a script's variable is empty.
var errNothing = errors.New("nothing to change: name at least one flag; --help lists them")

// formatTime formats a time in the machine's time zone; a missing time is a dash.
func formatTime(t *timestamppb.Timestamp) string {
	return formatTimeIn(time.Local, t)
}

// formatTimeIn formats a time in the given time zone; a missing time is a dash.
func formatTimeIn(zone *time.Location, t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().In(zone).Format("2006-01-02 15:04:05 MST")
}

// formatCount formats a number with a noun in the singular or plural: 1 door, 2 doors.
func formatCount(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// spaceText returns the name of a space for a table: for a bed with that of its dorm, parent, and a dash if there is no space.
func spaceText(parent, name string) string { return dash(text.FullName(parent, name)) }

// dash returns the text s, or a dash if it is empty.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
