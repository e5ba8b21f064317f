package clock_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/clock"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "0d": 0, "0": 0, "1d1h1m": 25*time.Hour + time.Minute,
		"-5m": -5 * time.Minute, "106751d": 106751 * 24 * time.Hour,
	} {
		if got, err := clock.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "30", "1.5d", "-1d", "1d-1h", "1d+1h", "1h1d", "30 d", "1w", "106752d", "106751d24h", "999999d", "9999999d"} {
		if got, err := clock.ParseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
