package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/text"
)

// The day is the property's, so the times are too, wherever the command runs.
func TestArrivalsAreInTheZoneOfTheProperty(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &session{remote: &remote{}, streams: &streams{out: &out}}
	s.printArrivals(zone, "", []*propertyv1.Arrival{{ReservationId: "rsv_1", From: timestamppb.New(time.Date(2026, 6, 30, 20, 0, 0, 0, time.UTC))}})
	if !strings.Contains(out.String(), "Wednesday, 1 July 2026") || !strings.Contains(out.String(), "05:00") {
		t.Error(out.String())
	}
}

// The worst arrivals of a day come first, on whichever page of the answer they were.
func TestArrivalsWorstFirst(t *testing.T) {
	at := func(hour int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2026, 7, 1, hour, 0, 0, 0, time.UTC))
	}
	room := func(name string) *string { return &name }
	list := worstFirst([]*propertyv1.Arrival{
		{GuestName: "Ready", Verdict: "ready", From: at(9), SpaceName: room("101"), PmsNumber: "1"},
		{GuestName: "Later", Verdict: "notReady", From: at(18), SpaceName: room("102"), PmsNumber: "2"},
		{GuestName: "Risk", Verdict: "atRisk", From: at(15), SpaceName: room("12"), PmsNumber: "3", ArrivalTime: room("22:30"), Fixes: []*propertyv1.ArrivalFix{{Text: "Charge it."}, {Text: "Map it."}}},
		{GuestName: "Risk too", Verdict: "atRisk", From: at(15), SpaceName: room("2"), PmsNumber: "4"},
		{GuestName: "Sooner", Verdict: "notReady", From: at(12), PmsNumber: "5", Fixes: []*propertyv1.ArrivalFix{{Text: "Assign a room.", DoorName: room("103")}}},
	})
	var out bytes.Buffer
	s := &session{remote: &remote{}, streams: &streams{out: &out}}
	s.printArrivals(time.UTC, "", list)
	want := `Wednesday, 1 July 2026, times in UTC

GUEST     ROOM  FROM   ARRIVES  READINESS  NUMBER  WHY
Sooner    -     12:00  -        not ready  5       103: Assign a room.
Later     102   18:00  -        not ready  2
Risk too  2     15:00  -        at risk    4
Risk      12    15:00  22:30    at risk    3       Charge it.
                                                   Map it.
Ready     101   09:00  -        ready      1

Next:
  latchkey reservation explain NUMBER    shows what happened, and what to do
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestColumns(t *testing.T) {
	rows := [][]string{{"A", "B", "C"}, {"1", "", "one two three four five six seven"}, {"", "22"}, {"ü", "3", "indivisible-words-are-left-whole now"}}
	for width, want := range map[int]string{
		0:  "A  B   C\n1      one two three four five six seven\n   22\nü  3   indivisible-words-are-left-whole now",
		32: "A  B   C\n1      one two three four five\n       six seven\n   22\nü  3   indivisible-words-are-left-whole\n       now",
		26: "A  B   C\n1\n    one two three four\n    five six seven\n   22\nü  3\n    indivisible-words-are-left-whole\n    now",
	} {
		if got := strings.Join(columnsOf(rows, width), "\n"); got != want {
			t.Errorf("at width %d:\n%s\nwant:\n%s", width, got, want)
		}
	}
}

// Control characters in texts of a PMS do not affect the terminal: the cursor, the title, the direction of text, or the lines.
func TestTablesEscapeControlCharacters(t *testing.T) {
	var out bytes.Buffer
	s := &session{remote: &remote{}, streams: &streams{out: text.Terminal(&out)}}
	evil := "\x1b]0;PWNED\a\x1b[2J\u202e\u009b1\n2\t3"
	s.printTable("none", []string{"number", "name"}, [][]string{{evil, "x"}})
	s.printFacts("number", evil)
	s.say("number %s", strings.TrimRight(evil, "\n2\t3"))
	const shown = `\u001b]0;PWNED\u0007\u001b[2J\u202e\u009b1`
	if got := strings.Count(out.String(), shown); got != 3 {
		t.Errorf("shown %d times in %q", got, out.String())
	}
	for line := range strings.Lines(out.String()) {
		if p := text.Problem(strings.TrimSuffix(line, "\n")); p != "" {
			t.Errorf("%q %s", line, p)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 4 {
		t.Errorf("%d lines: %q", n, out.String())
	}
}

// A process of a benchmark closes its output to signal that it is ready, so it needs the output itself, without a wrapper.
func TestPartOfABenchmarkGetsItsPipe(t *testing.T) {
	var errs bytes.Buffer
	read, write := io.Pipe()
	defer read.Close()
	if code := start(t.Context(), []string{"bench", "part", "unknown"}, strings.NewReader(""), write, &errs); code != 1 || strings.Contains(errs.String(), "pipe") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
