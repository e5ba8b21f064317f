package explain

import (
	"time"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/message"
)

// pausedBetween selects the keypad pauses that may overlap the time from one event to another. It compares times, not
// event ids, because a bridge may report a pause late. A nil last event means no end.
func pausedBetween(first, last *ent.Event) predicate.Event {
	where := entevent.OccurredAtGT(first.CreatedAt.Add(-lock.MaxKeypadPause))
	if last != nil {
		where = entevent.And(where, entevent.OccurredAtLTE(last.CreatedAt))
	}
	return where
}

// pauseOf returns the duration of the pause in a lock.keypadPaused event. Its result has no meaning for other events.
func pauseOf(e *ent.Event) time.Duration {
	until, err := time.Parse(time.RFC3339, bodyText(e, "until"))
	if err != nil {
		return 0
	}
	return max(until.Sub(e.OccurredAt), 0)
}

// pauseSteps returns steps for those waiting keypad pauses that overlap the time in which a code of the stay is at the
// door. The other pauses go on waiting, because a pause can be stored before the code.
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

// inWords formats a duration, rounded up to a second, as minutes if these are whole, otherwise as seconds.
func inWords(d time.Duration) message.Message {
	n := int((d + time.Second - 1) / time.Second)
	if n >= 60 && n%60 == 0 {
		return message.Message{Kind: "duration.minutes", Params: message.Params{"count": n / 60}}
	}
	return message.Message{Kind: "duration.seconds", Params: message.Params{"count": n}}
}
