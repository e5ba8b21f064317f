// Package keypad decides when wrong PINs pause a keypad. It has no side effects.
//
// Each wrong PIN increases a count by one, and every three minutes the count decreases by one. A wrong PIN that brings the count to 10, 13,
// 16, 19 or 22 pauses the keypad, for longer the higher the count. So a guest who arrives soon after a pause has three attempts before the
// next one, and a keypad is paused for at most five minutes after the last wrong PIN.
package keypad

import "time"

// Parameters of the decision when to pause a keypad.
const (
	Longest           = 5 * time.Minute // longest pause
	threshold         = 10              // count that causes the first pause
	wrongPINsPerPause = 3               // wrong PINs from one pause to the next, if the count does not decrease
	decayInterval     = 3 * time.Minute // time in which the count decreases by one
)

// pauses are the lengths of successive pauses: the first at the count threshold, each further one after wrongPINsPerPause more wrong PINs.
// The last one repeats.
var pauses = [...]time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, Longest}

// maxCount is the count that causes the longest pause. After wrongPINsPerPause further wrong PINs, the count returns to this value and the
// longest pause repeats.
const maxCount = threshold + wrongPINsPerPause*(len(pauses)-1)

// Strikes counts the wrong PINs at one keypad. The zero value means none.
type Strikes struct {
	Count int       `json:"count"`
	At    time.Time `json:"at"` // At is the start of the current decayInterval, at whose end Count decreases by one; no meaning if Count is 0
}

// Add counts a wrong PIN at a time. It returns the new count, and how long to pause the keypad; 0 means not at all.
func (s Strikes) Add(at time.Time) (Strikes, time.Duration) {
	s = s.decayed(at)
	s.Count++
	if s.Count > maxCount+wrongPINsPerPause-1 { // the longest pause is due again
		s.Count = maxCount
	}
	over := s.Count - threshold
	if over < 0 || over%wrongPINsPerPause != 0 {
		return s, 0
	}
	return s, pauses[over/wrongPINsPerPause]
}

// decayed returns the count at a time: it has fallen by one for each decayInterval since s.At, to 0 at least. If the clock was set
// back, the count stays and a new interval begins.
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
