package kit

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// An age is short, and its tooltip has the whole moment.
func TestAges(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	p := &Page{Words: Words{Lang: "en", zone: time.FixedZone("", 3600)}, now: now}
	for _, c := range []struct {
		before    time.Duration
		ago, when string
	}{
		{0, "just now", "13:00"},
		{-30 * time.Second, "just now", "13:00"},
		{2 * time.Minute, "2 min ago", "12:58"},
		{59 * time.Minute, "59 min ago", "12:01"},
		{time.Hour, "12:00", "12:00"},
		{-2 * time.Hour, "15:00", "15:00"},
		{13 * time.Hour, "00:00", "00:00"},
		{14 * time.Hour, "yesterday 23:00", "yesterday 23:00"},
		{38 * time.Hour, "Sun 22 Nov 23:00", "Sun 22 Nov 23:00"},
		{400 * 24 * time.Hour, "20 Oct 2025, 13:00", "20 Oct 2025, 13:00"},
	} {
		at := timestamppb.New(now.Add(-c.before))
		if got := string(p.Ago(at)); !strings.Contains(got, ">"+c.ago+"<") {
			t.Errorf("%s before: %s, want %q", c.before, got, c.ago)
		}
		if got := string(p.When(at)); !strings.Contains(got, ">"+c.when+"<") || !strings.Contains(got, `title="`+p.Stamp(at)) {
			t.Errorf("%s before: %s, want %q with the whole moment", c.before, got, c.when)
		}
	}
	for _, c := range []struct {
		before    time.Duration
		short     string
		date, day string
	}{
		{38 * time.Hour, "Sun 22 Nov", "2026-11-21", "Saturday, 21 November"},
		{400 * 24 * time.Hour, "20 October 2025", "2025-10-20", "Monday, 20 October 2025"},
		{-200 * 24 * time.Hour, "12 June 2027", "2027-06-12", "Saturday, 12 June 2027"},
	} {
		if got := string(p.Short(timestamppb.New(now.Add(-c.before)))); !strings.Contains(got, ">"+c.short+"<") {
			t.Errorf("%s before: %s, want %q", c.before, got, c.short)
		}
		if got := p.PlainDay(c.date); got != c.day || !strings.Contains(string(p.Date(c.date)), ">"+c.day+"<") {
			t.Errorf("%s: %q and %s, want %q", c.date, got, p.Date(c.date), c.day)
		}
	}
	if p.PlainDay("soon") != "soon" || p.Date("<b>") != "&lt;b&gt;" || p.Short(nil) != "" {
		t.Error("an invalid date is not shown unchanged")
	}
	if p.Ago(nil) != "" || p.When(nil) != "" {
		t.Error("no moment has an age")
	}
}
