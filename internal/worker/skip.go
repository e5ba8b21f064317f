package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// skipped are events that a subscriber does not want and that its stored cursor has not passed yet. Each unlock command has events, and a
// commit for each subscriber would delay the next command. The cursor passes them together with the next event that the subscriber wants,
// or after half of the interval Sweep. Another process that delivers meanwhile reads them again, and does not want them either.
type skipped struct {
	position int64     // position of the last of them; there are none unless it is after the stored cursor
	since    time.Time // when the first of them was skipped
}

// after returns the cursor to read from: c, or if c is the main cursor a copy of c after the skipped events.
func (k skipped) after(c *event.Cursor) *event.Cursor {
	from := *c
	if c.Subject == "" {
		from.Position = max(from.Position, k.position)
	}
	return &from
}

// skip adds the events of a page to the skipped ones if the subscriber wants none of them, and reports whether it did. It does so only while
// no subject is held back: the cursor of a subject ends at the stored main cursor, so that events between the two would be lost.
func (k *skipped) skip(view *db.Tx, s Subscriber, p page, heldBack int) (bool, error) {
	if s.Wants == nil || p.cursor != p.main || heldBack > 0 {
		return false, nil
	}
	wanted, err := s.Wants(view, p.due)
	if err != nil {
		return false, fmt.Errorf("what %s wants: %w", s.Name, err)
	}
	if wanted {
		return false, nil
	}
	if k.position <= p.main.Position {
		k.since = time.Now()
	}
	k.position = p.end
	return true, nil
}

// store moves the stored main cursor past the skipped events, if the first of them was skipped at least the time wait ago.
func (k skipped) store(ctx context.Context, d *db.DB, main *event.Cursor, wait time.Duration) error {
	if k.position <= main.Position || time.Since(k.since) < wait {
		return nil
	}
	return d.Write(ctx, func(tx *db.Tx) error { return event.Move(tx, main, k.position) })
}

// wantsKinds returns a function for [Subscriber.Wants]: the subscriber wants events of these kinds.
func wantsKinds(kinds ...event.Kind) func(*db.Tx, []*ent.Event) (bool, error) {
	return func(_ *db.Tx, events []*ent.Event) (bool, error) {
		return slices.ContainsFunc(events, func(e *ent.Event) bool { return slices.Contains(kinds, event.Kind(e.Kind)) }), nil
	}
}
