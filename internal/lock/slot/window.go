package slot

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Window is the time [From, To) in which a code opens the door. A zero From means no start, a zero To no end.
type Window struct{ From, To time.Time }

// String formats the window as [From, To), in UTC.
func (w Window) String() string {
	return fmt.Sprintf("[%s, %s)", w.From.UTC().Format(time.RFC3339), w.To.UTC().Format(time.RFC3339))
}

// Windows is a list of windows that follow each other without overlap. It is packed into a string, so that structs
// with it are comparable: two times in microseconds for each window, big-endian.
type Windows string

const (
	packedSize = 16
	// MaxLaterWindows bounds Desired.LaterWindows: enough for nine days of the busiest weekly hours. PackWindows does not
	// check it.
	MaxLaterWindows = 256
)

// PackWindows packs windows into the comparable form [Windows]. Each must have a start and an end. Their number is not limited.
func PackWindows(all ...Window) Windows {
	b := make([]byte, 0, packedSize*len(all))
	for _, w := range all {
		b = binary.BigEndian.AppendUint64(b, uint64(w.From.UnixMicro()))
		b = binary.BigEndian.AppendUint64(b, uint64(w.To.UnixMicro()))
	}
	return Windows(b)
}

// Len returns the number of windows.
func (p Windows) Len() int { return len(p) / packedSize }

// At returns the window with an index from 0. It panics if there is none.
func (p Windows) At(i int) Window {
	b := []byte(p[i*packedSize : (i+1)*packedSize])
	at := func(b []byte) time.Time { return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC() }
	return Window{at(b[:8]), at(b[8:])}
}

// All unpacks the windows.
func (p Windows) All() []Window {
	var out []Window
	for i := range p.Len() {
		out = append(out, p.At(i))
	}
	return out
}

// Window returns the window with an index: 0 is [NotBefore, NotAfter), then follow LaterWindows. It panics if there is none.
func (d Desired) Window(n int) Window {
	if n == 0 {
		return Window{d.NotBefore, d.NotAfter}
	}
	return d.LaterWindows.At(n - 1)
}

// windowCount returns the number of windows, at least 1.
func (d Desired) windowCount() int { return 1 + d.LaterWindows.Len() }

// windowFrom returns the first window that has not ended at now, and its index n. A window counts as ended from margin
// before its end. over means that all have ended; then windowFrom returns the last window.
func (d Desired) windowFrom(now time.Time, margin time.Duration) (n int, w Window, over bool) {
	for n = range d.windowCount() {
		w = d.Window(n)
		if w.To.IsZero() || now.Before(w.To.Add(-margin)) {
			return n, w, false
		}
	}
	return n, w, true
}

// WindowAt returns the window that contains now, else the next window, else the last.
func (d Desired) WindowAt(now time.Time) Window {
	_, w, _ := d.windowFrom(now, 0)
	return w
}

// isUsedUp reports whether the desired code is a one-time code that was used.
func (s *Slot) isUsedUp(r rules) bool {
	return s.Desired.OneTimeID != "" && s.UsedOneTimeID == s.Desired.OneTimeID && r.enforces(oneTimeEnds)
}
