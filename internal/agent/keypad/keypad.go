// Package keypad decides when wrong PINs pause a keypad. It has no side effects.
//
// A count of wrong PINs rises by one with each of them and falls by one every three minutes. From ten on, each third wrong PIN pauses
// the keypad, for longer the higher the count. A guest who arrives has three tries between two pauses, and a keypad stays paused for at
// most five minutes after the last wrong PIN.
package keypad

import "time"

// Parameters of the decision.
const (
	Longest           = 5 * time.Minute // of a pause
	threshold         = 10              // up to this count nothing is paused
	wrongPINsPerPause = 3               // wrong PINs between two pauses
	decayInterval     = 3 * time.Minute // in which the count falls by one
)

// pauses grow with the count: the first at threshold, each further one after between more wrong PINs.
var pauses = [...]time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, Longest}

// maxCount is the count that leads to the longest pause. After wrongPINsPerPause further wrong PINs the count returns to this
// value, so that the longest pause repeats.
const maxCount = threshold + wrongPINsPerPause*(len(pauses)-1)

// Strikes counts the wrong PINs at one keypad. The zero value is none.
type Strikes struct {
	Count int       `json:"count"`
	At    time.Time `json:"at"` // when the count last fell
}

// Add counts a wrong PIN. It returns for how long to pause the keypad; 0: not at all.
func (s Strikes) Add(at time.Time) (Strikes, time.Duration) {
	s = s.decayed(at)
	s.Count++
	if s.Count > maxCount+wrongPINsPerPause-1 { // the next of the longest pauses
		s.Count = maxCount
	}
	over := s.Count - threshold
	if over < 0 || over%wrongPINsPerPause != 0 {
		return s, 0
	}
	return s, pauses[over/wrongPINsPerPause]
}

// decayed lowers the count by one for each decayInterval that has passed. After a clock was set back it starts a new interval.
func (s Strikes) decayed(at time.Time) Strikes {
	if at.Before(s.At) || s.Count == 0 {
		s.At = at
		return s
	}
	fallen := int(min(at.Sub(s.At)/decayInterval, time.Duration(s.Count)))
	s.Count -= fallen
	s.At = s.At.Add(time.Duration(fallen) * decayInterval)
	if s.Count == 0 {
		s.At = at
	}
	return s
}
