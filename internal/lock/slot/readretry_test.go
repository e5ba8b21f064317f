package slot

import (
	"testing"
	"time"
)

// A lock that is away is asked less and less often, also by the reading that comes before a write.
func TestAFailedReadBeforeAWriteIsRetriedWithBackoff(t *testing.T) {
	for name, held := range map[string]Content{"unknown": {}, "empty": {Kind: Empty, Evidence: Verified}} {
		t.Run(name, func(t *testing.T) {
			caps := Capabilities{PINMin: 4, PINMax: 8, Slots: 5, Readable: ReadableClear, ReadBack: true, OpLifetime: time.Second}
			now := epoch0
			l := Lock{Caps: caps, Slots: []Slot{{Number: 1, Content: held}}}
			l, actions := Step(l, Event{Kind: DesiredChanged, At: now, Slot: 1, Desired: Desired{Generation: 1, Intent: Present, PIN: "345678"}})
			asked := 0
			for range 10_000 {
				var wake time.Time
				for _, a := range actions {
					if a.Kind == WakeAt {
						wake = a.At
					}
				}
				switch {
				case l.Op.Kind != "":
					asked++
					l, actions = Step(l, Event{Kind: Answered, At: now, Seq: l.Op.Seq, Result: LockOffline})
				case wake.IsZero():
					t.Fatal("nothing is going to happen any more")
				default:
					now = wake
					l, actions = Step(l, Event{Kind: TimePassed, At: now})
				}
				if now.After(epoch0.Add(time.Hour)) {
					break
				}
			}
			if now.Before(epoch0.Add(time.Hour)) || asked > 30 {
				t.Errorf("asked %d times within %v", asked, now.Sub(epoch0))
			}
		})
	}
}
