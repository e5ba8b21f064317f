package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

// Deed is an action of a script on a lock: a fault, or a change that a person makes at the lock.
type Deed string

const (
	Fails    Deed = "fails"    // the next set or clear operation has the fault in Fault
	GoesOff  Deed = "goesOff"  // the lock loses its radio connection
	ComesOn  Deed = "comesOn"  // the lock's radio connection returns
	Jams     Deed = "jams"     // the lock's bolt jams: the lock opens for no PIN and no call until Frees
	Frees    Deed = "frees"    // the lock's bolt moves again
	Drains   Deed = "drains"   // the battery drains to Percent
	Drifts   Deed = "drifts"   // the lock's clock changes to After ahead of the real time
	IsSet    Deed = "isSet"    // a person sets PIN in Slot at the lock, which reports it
	IsQuiet  Deed = "isQuiet"  // a person sets PIN in Slot at the lock, which does not report it
	IsReset  Deed = "isReset"  // a person resets the lock to factory settings, which it reports
	Stripped Deed = "stripped" // a person resets the lock to factory settings, which it does not report
)

// Move is one line of a fault script: what happens to which lock, and when.
type Move struct {
	At      Span      `json:"at"` // At is the time since the start of the script
	Lock    string    `json:"lock"`
	Deed    Deed      `json:"deed"`
	Fault   FaultKind `json:"fault,omitempty"`   // Fault is for Fails
	After   Span      `json:"after,omitempty"`   // After is for Drifts, and for Fails the time Fault.After
	Percent uint32    `json:"percent,omitempty"` // Percent is for Drains
	Slot    uint32    `json:"slot,omitempty"`    // Slot is the slot that a person at the lock sets or clears; only for IsSet and IsQuiet
	PIN     string    `json:"pin,omitempty"`     // PIN is for IsSet and IsQuiet; empty clears the slot. It must not be the PIN of a real guest
}

// Span is a duration that is written as "1h30m".
type Span time.Duration

// MarshalText writes the duration as in Go: 1h30m0s.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads a duration as Go writes it.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Span(d)
	return err
}

// deeds are all deeds that a script can contain.
var deeds = []Deed{Fails, GoesOff, ComesOn, Jams, Frees, Drains, Drifts, IsSet, IsQuiet, IsReset, Stripped}

// ReadScript reads a fault script with one JSON object per line. It refuses unknown fields; Check refuses unknown locks, deeds and faults.
func ReadScript(r io.Reader) ([]Move, error) {
	var out []Move
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	for {
		var m Move
		if err := in.Decode(&m); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("move %d of the script: %w", len(out)+1, err)
		}
		out = append(out, m)
	}
}

// Check refuses a script with a move that Play cannot carry out: an unknown lock or deed, or an unknown fault of Fails. The error numbers the
// moves in the order of the script, and lists what is allowed.
func (h *Site) Check(script []Move) error {
	for i, m := range script {
		var err error
		switch {
		case h.locks[m.Lock] == nil:
			err = fmt.Errorf("no lock %q; the locks are %s", m.Lock, strings.Join(h.Addresses(), ", "))
		case !slices.Contains(deeds, m.Deed):
			err = fmt.Errorf("no deed %q; the deeds are %s", m.Deed, joinWords(deeds))
		case m.Deed == Fails && !slices.Contains(faultKinds, m.Fault):
			err = fmt.Errorf("no fault %q; the faults are %s", m.Fault, joinWords(faultKinds))
		}
		if err != nil {
			return fmt.Errorf("move %d of the script: %w", i+1, err)
		}
	}
	return nil
}

// joinWords returns words in one text, with commas.
func joinWords[W ~string](words []W) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// Play carries out the moves of a fault script, each at its time. It fails at an invalid move, or when ctx ends before the last move; the
// earlier moves keep their effect. The error numbers the moves by their times, not by their lines.
func (h *Site) Play(ctx context.Context, script []Move) error {
	began := time.Now()
	for i, m := range slices.SortedStableFunc(slices.Values(script), func(a, b Move) int { return int(a.At - b.At) }) {
		if !clock.Sleep(ctx, time.Duration(m.At)-time.Since(began)) {
			return ctx.Err()
		}
		if err := h.applyMove(m); err != nil {
			return fmt.Errorf("move %d of the script: %w", i+1, err)
		}
	}
	return nil
}

// applyMove carries out one move of a script now. It fails if the lock or the deed is unknown.
func (h *Site) applyMove(m Move) error {
	switch m.Deed {
	case Fails:
		return h.Inject(m.Lock, Fault{m.Fault, time.Duration(m.After)})
	case IsSet:
		return h.Program(m.Lock, m.Slot, slot.PIN(m.PIN))
	case IsQuiet:
		return h.ProgramSilently(m.Lock, m.Slot, slot.PIN(m.PIN))
	case IsReset:
		return h.Reset(m.Lock, true)
	case Stripped:
		return h.Reset(m.Lock, false)
	}
	if err := h.withLock(m.Lock, func(*lock) {}); err != nil {
		return err
	}
	switch m.Deed {
	case GoesOff:
		h.SetOffline(m.Lock, true)
	case ComesOn:
		h.SetOffline(m.Lock, false)
	case Jams:
		h.SetJammed(m.Lock, true)
	case Frees:
		h.SetJammed(m.Lock, false)
	case Drains:
		h.SetBattery(m.Lock, m.Percent)
	case Drifts:
		h.SetDrift(m.Lock, time.Duration(m.After))
	default:
		return fmt.Errorf("no deed %q", m.Deed)
	}
	return nil
}

// RandomScript returns a fault script of the duration over; the same seed gives the same script. moves is the number of random moves. The
// script also has a move that ends each loss of radio, jam or drain, within a tenth of the duration. No move is in the last tenth, so that
// all operations can succeed before the end. But clocks stay wrong, and a fault waits for the next operation. The moves are not sorted.
// locks must not be empty.
func RandomScript(seed uint64, locks []string, moves int, over time.Duration) []Move {
	rng := rand.New(rand.NewPCG(seed, ^seed))
	faults := []FaultKind{Lost, LostAck, Late, Offline, Busy, Unconfirmed, Hang, Jammed, LowPower, Lost, Late}
	tenth := int64(over / 10)
	var out []Move
	for range moves {
		m := Move{At: Span(rng.Int64N(9*tenth - tenth)), Lock: locks[rng.IntN(len(locks))]}
		later := m
		later.At += Span(rng.Int64N(tenth))
		switch rng.IntN(8) {
		default:
			m.Deed, m.Fault, m.After = Fails, faults[rng.IntN(len(faults))], Span(rng.Int64N(int64(lifetime)))
		case 0:
			m.Deed, later.Deed = GoesOff, ComesOn
		case 1:
			m.Deed, later.Deed = Jams, Frees
		case 2:
			m.Deed, later.Deed, m.Percent, later.Percent = Drains, Drains, rng.Uint32N(20), 100
		case 3:
			m.Deed, m.After = Drifts, Span(rng.Int64N(int64(20*time.Minute))-int64(10*time.Minute))
		case 4:
			m.Deed, m.Slot = IsQuiet, 1+rng.Uint32N(5)
		}
		if out = append(out, m); later.Deed != "" {
			out = append(out, later)
		}
	}
	return out
}
