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
	s.arrivals(zone, []*propertyv1.Arrival{{ReservationId: "rsv_1", From: timestamppb.New(time.Date(2026, 7, 1, 6, 0, 0, 0, time.UTC))}})
	if !strings.Contains(out.String(), "2026-07-01 15:00:00 JST") {
		t.Error(out.String())
	}
}

// What a PMS sends moves no cursor, sets no title, turns no text around and adds no line.
func TestTablesEscapeWhatControlsATerminal(t *testing.T) {
	var out bytes.Buffer
	s := &session{remote: &remote{}, streams: &streams{out: text.Terminal(&out)}}
	evil := "\x1b]0;PWNED\a\x1b[2J\u202e\u009b1\n2\t3"
	s.table("none", []string{"number", "name"}, [][]string{{evil, "x"}})
	s.facts("number", evil)
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

// A part of a benchmark closes its output to say that it is ready, so it needs the output itself.
func TestPartOfABenchmarkGetsItsPipe(t *testing.T) {
	var errs bytes.Buffer
	read, write := io.Pipe()
	defer read.Close()
	if code := start(t.Context(), []string{"bench", "part", "unknown"}, strings.NewReader(""), write, &errs); code != 1 || strings.Contains(errs.String(), "pipe") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
