package keypad

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestStrikesPauseForGrowingTimes(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		at   []time.Duration // of wrong PINs
		want []time.Duration // the pauses that are not 0
	}{
		"slips":                       {every(9, s), nil},
		"one over":                    {every(10, s), []time.Duration{15 * s}},
		"three more":                  {every(13, s), []time.Duration{15 * s, 30 * s}},
		"forty at once":               {every(40, 0), []time.Duration{15 * s, 30 * s, 60 * s, 120 * s, 300 * s, 300 * s, 300 * s, 300 * s, 300 * s, 300 * s, 300 * s}},
		"slips all day":               {every(300, 4*time.Minute), nil},
		"a burst after a quiet hour":  {append(every(9, s), every(9, s, time.Hour)...), nil},
		"a burst after a quiet while": {append(every(9, s), every(4, s, 9*time.Minute)...), []time.Duration{15 * s}},
		"a clock that was set back":   {append(every(9, s, time.Hour), 0, 10*time.Minute), []time.Duration{15 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []time.Duration
			var strikes Strikes
			for _, at := range c.at {
				var d time.Duration
				if strikes, d = strikes.Add(noon.Add(at)); d > 0 {
					got = append(got, d)
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("pauses %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Fatalf("pauses %v, want %v", got, c.want)
				}
			}
		})
	}
}

// every returns n times with a step between them, from a start.
func every(n int, step time.Duration, from ...time.Duration) (out []time.Duration) {
	begin := time.Duration(0)
	if len(from) > 0 {
		begin = from[0]
	}
	for i := range n {
		out = append(out, begin+time.Duration(i)*step)
	}
	return out
}

// guesses returns how many wrong PINs an attacker can try at a keypad within a day. The attacker waits before each until the count is below
// height, and types instantly. closed is how long the keypad was paused.
func guesses(height int) (n int, closed time.Duration) {
	var s Strikes
	for at := noon; at.Before(noon.Add(24 * time.Hour)); {
		if now := s.decayed(at); now.Count >= height {
			at = now.At.Add(decayInterval)
			continue
		}
		var pause time.Duration
		s, pause = s.Add(at)
		n++
		closed += pause
		at = at.Add(pause)
	}
	return n, closed
}

// TestGuessingGetsFewTries checks the numbers in docs/operations.md.
func TestGuessingGetsFewTries(t *testing.T) {
	most := 0
	for height := 1; height <= maxCount+wrongPINsPerPause; height++ {
		n, closed := guesses(height)
		most = max(most, n)
		t.Logf("count kept below %d: %d tries a day, closed %v", height, n, closed)
	}
	if most > 500 {
		t.Errorf("a guesser gets %d tries a day", most)
	}
	// The goal is a probability of 1e-4 per door and day for ten codes. Weak PINs are never generated, and an attacker may know that:
	// 90 of 100 PINs of eight digits remain, and 84 of 100 of six.
	if chance := float64(most) * 10 / (0.9 * 1e8); chance > 1e-4 {
		t.Errorf("ten codes of eight digits are found with a chance of %.1e a day", chance)
	}
	// With six digits no pause of at most five minutes reaches that goal: one try for each of them is 288 a day, which is 3e-3.
	if chance := float64(most) * 10 / (0.84 * 1e6); chance > 6e-3 {
		t.Errorf("ten codes of six digits are found with a chance of %.1e a day", chance)
	}
}
