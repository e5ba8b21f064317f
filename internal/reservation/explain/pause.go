package explain

import (
	"time"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/message"
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
		s := t.f.at(h, Bridge, "keypadPaused")
		s.Text.Params["time"] = inWords(h.Pause)
		steps = append(steps, s)
	}
	t.pauses = waiting
	return steps
}

// inWords returns a duration as a text, rounded up to a second.
func inWords(d time.Duration) message.Message {
	n := int((d + time.Second - 1) / time.Second)
	if n >= 60 && n%60 == 0 {
		return message.Message{Kind: "duration.minutes", Params: message.Params{"count": n / 60}}
	}
	return message.Message{Kind: "duration.seconds", Params: message.Params{"count": n}}
}
