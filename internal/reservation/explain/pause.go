package explain

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/lock"
)

// pausedBetween selects the pauses of keypads that may overlap the time from one event to another. A pause that a bridge reports
// late belongs to its own time, so the events' ids do not bound it. A nil last event has no end.
func pausedBetween(first, last *ent.Event) predicate.Event {
	where := entevent.OccurredAtGT(first.CreatedAt.Add(-lock.MaxKeypadPause))
	if last != nil {
		where = entevent.And(where, entevent.OccurredAtLTE(last.CreatedAt))
	}
	return where
}

// pauseOf returns how long a lock.keypadPaused event says that the keypad was paused; 0 for other events.
func pauseOf(e *ent.Event) time.Duration {
	until, err := time.Parse(time.RFC3339, bodyText(e, "until"))
	if err != nil {
		return 0
	}
	return max(until.Sub(e.OccurredAt), 0)
}

// pauseSteps returns the steps of the pauses that have none yet and overlap the time of a code of the stay at the door. A pause
// may be stored before the code that it concerns.
func (t *stepBuilder) pauseSteps() (steps []Step) {
	waiting := t.pauses[:0]
	for _, h := range t.pauses {
		if !t.spans.overlap(h, h.At.Add(h.Pause)) {
			waiting = append(waiting, h)
			continue
		}
		steps = append(steps, t.f.at(h, Bridge, "keypadPaused",
			fmt.Sprintf("Wrong PINs were typed at %%, so its keypad refused every PIN for %s.", seconds(h.Pause))))
	}
	t.pauses = waiting
	return steps
}

// seconds writes a duration in words, rounded up to a second.
func seconds(d time.Duration) string {
	switch n := int((d + time.Second - 1) / time.Second); {
	case n == 1:
		return "1 second"
	case n > 60 && n%60 == 0:
		return fmt.Sprintf("%d minutes", n/60)
	case n == 60:
		return "1 minute"
	default:
		return fmt.Sprintf("%d seconds", n)
	}
}
