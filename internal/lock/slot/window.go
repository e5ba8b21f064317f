package slot

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Window is a time [From, To) in which a code opens. A zero To has no end.
type Window struct{ From, To time.Time }

// String names the window in UTC.
func (w Window) String() string {
	return fmt.Sprintf("[%s, %s)", w.From.UTC().Format(time.RFC3339), w.To.UTC().Format(time.RFC3339))
}

// Windows are some windows, each ending before the next begins. They are packed, so that what holds them can be
// compared with ==: two instants of microseconds each, big endian.
type Windows string

const (
	packedSize = 16
	// MostLater bounds Desired.Later: nine days of the busiest weekly hours.
	MaxLaterWindows = 256
)

// Pack packs windows that have both a beginning and an end.
func PackWindows(all ...Window) Windows {
	b := make([]byte, 0, packedSize*len(all))
	for _, w := range all {
		b = binary.BigEndian.AppendUint64(b, uint64(w.From.UnixMicro()))
		b = binary.BigEndian.AppendUint64(b, uint64(w.To.UnixMicro()))
	}
	return Windows(b)
}

// Len is how many windows there are.
func (p Windows) Len() int { return len(p) / packedSize }

// At is the i-th window, from 0.
func (p Windows) At(i int) Window {
	b := []byte(p[i*packedSize : (i+1)*packedSize])
	at := func(b []byte) time.Time { return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC() }
	return Window{at(b[:8]), at(b[8:])}
}

// All unpacks the windows; nil if there are none.
func (p Windows) All() []Window {
	var out []Window
	for i := range p.Len() {
		out = append(out, p.At(i))
	}
	return out
}

// Window is the n-th window of a desired state, from 0: its own, then those of Later.
func (d Desired) Window(n int) Window {
	if n == 0 {
		return Window{d.NotBefore, d.NotAfter}
	}
	return d.LaterWindows.At(n - 1)
}

// windows is how many windows a desired state has.
func (d Desired) windowCount() int { return 1 + d.LaterWindows.Len() }

// at is the first window that has not ended at now, each taken to end early by margin. over: all have, and n is the last.
func (d Desired) windowFrom(now time.Time, margin time.Duration) (n int, w Window, over bool) {
	for n = range d.windowCount() {
		w = d.Window(n)
		if w.To.IsZero() || now.Before(w.To.Add(-margin)) {
			return n, w, false
		}
	}
	return n, w, true
}

// Present is the window of a desired state at now: the present one, else the next, else the last.
func (d Desired) WindowAt(now time.Time) Window {
	_, w, _ := d.windowFrom(now, 0)
	return w
}

// spent says whether the code was for one use, and was used.
func (s *Slot) isUsedUp(r rules) bool {
	return s.Desired.OneTimeID != "" && s.UsedOneTimeID == s.Desired.OneTimeID && r.enforces(oneTimeEnds)
}
