package clock

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestParse(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"2026-07-01T12:00:00Z":            noon,
		"2026-07-01t12:00:00z":            noon,
		"2026-07-01T14:00:00+02:00":       noon,
		"2026-07-01t00:01:00-11:59":       noon,
		"2026-07-02T11:59:00+23:59":       noon,
		"2026-07-01T12:00:00-00:00":       noon,
		"2026-07-01T12:00:00.25Z":         noon.Add(time.Second / 4),
		"2026-07-01T12:00:00.123456789Z":  noon.Add(123456789),
		"2026-07-01T12:00:00.1234567891Z": noon.Add(123456789),
		"2026-07-01T12:00:00+24:00":       {},
		"2026-07-01T12:00:00+00:60":       {},
		"2026-07-01T12:00:00+2:00":        {},
		"2026-07-01T12:00:00+0200":        {},
		"2026-07-01T5:00:00Z":             {},
		"2026-07-01T15:00:00,5Z":          {},
		"2026-07-01T15:00:00.Z":           {},
		"2026-07-01 15:00:00Z":            {},
		"2026-07-01T15:00Z":               {},
		"2026-07-01T15:00:00":             {},
		"2026-07-01T24:00:00Z":            {},
		"2026-02-29T12:00:00Z":            {},
		"2026-7-1T12:00:00Z":              {},
		"2026-07-01T12:00:00Z ":           {},
		"2026-07-01":                      {},
		"":                                {},
	} {
		got, err := Parse(s)
		if !got.Equal(want) || (err == nil) != !want.IsZero() {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "0d": 0, "0": 0, "1d1h1m": 25*time.Hour + time.Minute,
		"-5m": -5 * time.Minute, "106751d": 106751 * 24 * time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "30", "1.5d", "-1d", "1d-1h", "1d+1h", "1h1d", "30 d", "1w", "106752d", "106751d24h", "999999d", "9999999d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTimestamps(t *testing.T) {
	noon := time.Date(2190, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		stamp *timestamppb.Timestamp
		want  time.Time
	}{{timestamppb.New(noon), noon}, {nil, time.Time{}}, {&timestamppb.Timestamp{Nanos: -1}, time.Time{}}} {
		if got := TimeOf(tt.stamp); !got.Equal(tt.want) {
			t.Errorf("%v: %v, want %v", tt.stamp, got, tt.want)
		}
	}
	if Timestamp(time.Time{}) != nil || !Timestamp(noon).AsTime().Equal(noon) {
		t.Error("a timestamp is not the time that it was made of")
	}
}
