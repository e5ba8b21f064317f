package slot

import (
	"testing"
	"time"
)

// A lock that is away is asked less and less often, also by the reading that comes before a write, and by that of a slot of unknown content.
func TestAFailedReadIsRetriedWithBackoff(t *testing.T) {
	present := Desired{Generation: 1, Intent: Present, PIN: "345678"}
	later := present
	later.NotBefore = epoch0.Add(100 * time.Hour)
	for name, c := range map[string]struct {
		held    Content
		desired Desired
		changed bool // the lock reports a change of the slot
	}{
		"unknown":                  {desired: present},
		"empty":                    {held: Content{Kind: Empty, Evidence: Verified}, desired: present},
		"unknown, changed":         {desired: present, changed: true},
		"unknown, changed, later":  {desired: later, changed: true},
		"unknown, changed, absent": {desired: Desired{Generation: 1, Intent: Absent}, changed: true},
	} {
		t.Run(name, func(t *testing.T) {
			caps := Capabilities{PINMin: 4, PINMax: 8, Slots: 5, Readable: ReadableClear, ReadBack: true, OpLifetime: time.Second}
			now := epoch0
			l := Lock{Caps: caps, Slots: []Slot{{Number: 1, Content: c.held}}}
			l, actions := Step(l, Event{Kind: DesiredChanged, At: now, Slot: 1, Desired: c.desired})
			if c.changed {
				l, actions = Step(l, Event{Kind: ChangedAtLock, At: now, Slot: 1})
			}
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

// A slot may need a write when the check of its code fails. The long wait of checks at a lock that is away must not delay the write.
func TestAFailedCheckDoesNotDelayAWrite(t *testing.T) {
	for name, c := range map[string]struct {
		desired Desired
		want    OpKind
	}{
		"another code": {Desired{Intent: Present, PIN: "9999"}, OpSet},
		"no code":      {Desired{Intent: Absent}, OpClear},
	} {
		t.Run(name, func(t *testing.T) {
			caps := realLock()
			caps.ReadBack, caps.Readable = true, ReadableMasked
			b := newBench(t, caps)
			b.desire(1, always)
			b.read(false, "")
			b.answer(OK)
			b.inFlight(OpRead, 1)
			b.desire(1, c.desired)
			b.send(Event{Kind: Answered, Seq: b.lock.Op.Seq, Result: Timeout, RetryAfter: 6 * time.Hour})
			b.inFlight(c.want, 1)
			b.answer(Busy)
			b.idle()
			b.pass(time.Second)
			b.inFlight(c.want, 1)
		})
	}
}
