package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

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

// skip adds the next events, up to limit, to the skipped ones if the subscriber wants none of them, and returns their number; 0 means that it
// skipped none. cursors are those of the subscriber, first the main cursor. It skips only while no subject is held back: the cursor of a
// subject ends at the stored main cursor, so that events between the two would be lost.
func (k *skipped) skip(view *db.Tx, s Subscriber, cursors []*event.Cursor, limit int) (int, error) {
	if s.Wants == nil || len(cursors) > 1 {
		return 0, nil
	}
	main := cursors[0]
	events, err := event.RefsAfter(view, k.after(main).Position, limit)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	wanted, err := s.Wants(view, events)
	if err != nil {
		return 0, fmt.Errorf("what %s wants: %w", s.Name, err)
	}
	if wanted {
		return 0, nil
	}
	if k.position <= main.Position {
		k.since = time.Now()
	}
	k.position = events[len(events)-1].Position
	return len(events), nil
}

// store moves the stored main cursor past the skipped events, if the first of them was skipped at least the time wait ago.
func (k skipped) store(ctx context.Context, d *db.DB, main *event.Cursor, wait time.Duration) error {
	if k.position <= main.Position || time.Since(k.since) < wait {
		return nil
	}
	return d.Write(ctx, func(tx *db.Tx) error { return event.Move(tx, main, k.position) })
}

// wantsKinds returns a function for the field Wants of a [Subscriber] that wants events of these kinds.
func wantsKinds(kinds ...event.Kind) func(*db.Tx, []event.Ref) (bool, error) {
	return func(_ *db.Tx, events []event.Ref) (bool, error) {
		return slices.ContainsFunc(events, func(e event.Ref) bool { return slices.Contains(kinds, e.Kind) }), nil
	}
}
