package reservation_test

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/message"
)

// pause has the bridge report, at one minute, that it paused a keypad at another.
func (h *testProperty) pause(sequence int64, reported, minute int, name string) {
	h.t.Helper()
	h.clock.Set(morning.Add(time.Duration(reported) * time.Minute))
	at := morning.Add(time.Duration(minute) * time.Minute)
	h.reportEvent(lock.LockEvent{Sequence: sequence, Kind: "keypadPaused", OccurredAt: at, Until: at.Add(2 * time.Minute), ClockQuality: "synchronized"}, h.at("lck-"+name))
}

func TestKeypadPausesAreSteps(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.clock.Set(morning.Add(10 * time.Minute))
		h.pause(1, 5, 5, "r1") // it ends before the stay has a code
		h.pause(2, 9, 9, "r1") // it goes on when the stay gets its code
		h.pause(3, 9, 9, "r2") // not a door of the stay
		h.clock.Set(morning.Add(10 * time.Minute))
		rsv := h.checkIn("A", "r1", "r1", "g1").Row.ID
		h.pause(4, 12, 12, "r1")
		h.pause(5, 14, 14, "g1")
		want := []string{"9 keypadPaused r1", "12 keypadPaused r1", "14 keypadPaused g1"}
		same(t, "during the stay", want, h.steps(rsv, "keypadPaused"))
		for _, step := range h.explained(rsv).Steps {
			if text := (message.Reader{}).Text(step.Text); step.Kind == "keypadPaused" && !strings.HasSuffix(text, "so its keypad refused every PIN for 2 minutes.") {
				t.Errorf("sentence %q", text)
			}
		}

		h.clock.Set(morning.Add(20 * time.Minute))
		h.put(state("A", "processed"))
		h.verify("r1", "g1")
		h.pause(6, 30, 30, "r1")
		same(t, "after the stay", want, h.steps(rsv, "keypadPaused"))
		h.pause(7, 40, 16, "r1")
		want = []string{"9 keypadPaused r1", "12 keypadPaused r1", "14 keypadPaused g1", "16 keypadPaused r1"}
		same(t, "reported late", want, h.steps(rsv, "keypadPaused"))
	})
}
