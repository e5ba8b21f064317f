package event

import (
	"errors"
	"fmt"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// insertEvent stores an event with the subject's next sequence number. If two transactions choose the same number, PostgreSQL
// makes one of them run again.
const insertEvent = `INSERT INTO events (property_id, subject, subject_sequence, kind, body, grant_id, occurred_at, position, created_at)
	VALUES ($1, $2, (SELECT COALESCE(MAX(subject_sequence), 0) + 1 FROM events WHERE subject = $3), $4, $5, $6, $7, $8, $9)
	ON CONFLICT (subject, subject_sequence) DO NOTHING`

const (
	selectLastPosition = `SELECT COALESCE(MAX(position), 0) FROM (
		SELECT MAX(position) AS position FROM events WHERE position > 0 UNION ALL SELECT MAX(position) FROM event_cursors) AS assigned`
	selectLeastCursor = `SELECT COALESCE(MIN(position), $1) FROM event_cursors WHERE webhook_id IS NULL`
	selectCursors     = `SELECT id, subscriber, subject, position, attempts, retry_at, webhook_id FROM event_cursors WHERE subscriber = $1 ORDER BY subject <> '', retry_at, id`
	insertCursor      = `INSERT INTO event_cursors (subscriber, position, webhook_id, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (subscriber, subject) DO NOTHING`
	insertHeldBack    = `INSERT INTO event_cursors (subscriber, subject, position, attempts, retry_at, reason, webhook_id, created_at) VALUES ($1, $2, $3, 1, $4, $5, $6, $7)`
	moveCursor        = `UPDATE event_cursors SET position = $1, attempts = 0 WHERE id = $2 AND position = $3`
	postponeCursor    = `UPDATE event_cursors SET attempts = attempts + 1, retry_at = $1, reason = $2 WHERE id = $3 AND attempts = $4`
	// assignToRange gives the events with ids from $2 to $3 the position id + $1. assignPositions stores pairs of an id and a position, which
	// replace the %s.
	assignToRange      = `UPDATE events SET position = id + $1 WHERE id BETWEEN $2 AND $3 AND position IS NULL`
	assignPositions    = `UPDATE events SET position = v.column2 FROM (VALUES %s) AS v WHERE id = v.column1 AND position IS NULL`
	selectRefs         = `SELECT position, property_id, kind FROM events WHERE position > $1 AND position > 0 ORDER BY position LIMIT $2`
	selectUnpositioned = `SELECT id, kind FROM events WHERE position IS NULL ORDER BY id LIMIT $1`
	// deleteUnknown deletes the cursors of subscribers, except webhooks, that have not received an event stored before $1. The %s excludes
	// the known subscribers.
	deleteUnknown = `DELETE FROM event_cursors WHERE subscriber IN (SELECT subscriber FROM event_cursors AS c WHERE subject = '' AND webhook_id IS NULL
		AND EXISTS (SELECT 1 FROM events AS e WHERE e.position > 0 AND e.position > c.position AND e.created_at < $1)%s)`
	deleteCursor = `DELETE FROM event_cursors WHERE id = $1 AND position = $2`
	clearEvent   = `UPDATE events SET body = '{}', grant_id = NULL WHERE id = $1 AND property_id = $2`
)

// Statements about the events that a webhook has not received. The first %s of countEvents and oldestEvent is afterMain or afterHeldBack.
const (
	deleteWebhookCursors = `DELETE FROM event_cursors WHERE webhook_id = $1`
	retryNow             = `UPDATE event_cursors SET retry_at = $1 WHERE webhook_id = $2 AND subject <> '' AND retry_at > $3`
	restartRetries       = `UPDATE event_cursors SET retry_at = $1, attempts = 0 WHERE webhook_id = $2 AND subject <> ''`
	// afterMain matches the events after the main cursor of a webhook, afterHeldBack those of subjects that are held back. Internal events
	// have the position 0.
	afterMain     = ` FROM events AS e WHERE e.property_id = $1 AND e.position > $2 AND e.position > 0`
	afterHeldBack = ` FROM event_cursors AS h JOIN events AS e ON e.property_id = $1 AND e.subject = h.subject AND e.position > h.position AND e.position <= $2
		WHERE h.webhook_id = $3 AND h.subject <> ''`
	countEvents = `SELECT count(*) FROM (SELECT 1 AS one%s LIMIT %d) AS waiting`
	oldestEvent = `SELECT e.created_at%s ORDER BY e.position LIMIT 1`
)

// Positions order events for their subscribers. Ids cannot order them: on PostgreSQL a transaction may commit after another with higher
// ids, and a subscriber that has passed these ids would miss its events. The dispatcher assigns positions to committed events. Events of
// one subject keep the order of their sequence numbers.

// ErrMoved means that another dispatcher moved the cursor or assigned the positions meanwhile.
var ErrMoved = errors.New("another dispatcher delivers events at the same time")

// lastPosition returns the greatest position that an existing event or a cursor has, or 0.
func lastPosition(tx *db.Tx) (last int64, err error) {
	_, err = tx.ReadOne(selectLastPosition, nil, &last)
	return last, err
}

// PendingEvent is a committed event that has no position yet, so that no subscriber receives it.
type PendingEvent struct {
	ID   int64
	Kind Kind
}

// Unpositioned returns up to limit committed events that have no position yet, oldest first, and last, the position after which their
// positions begin; without events last is 0. last is at least the time in microseconds since 1970, so that the position of a deleted event
// is not assigned again: a subscriber that has received the deleted event would skip the new one.
func Unpositioned(view *db.Tx, limit int) (events []PendingEvent, last int64, err error) {
	events, err = db.ReadList(view, func(e *PendingEvent) []any { return []any{&e.ID, &e.Kind} }, selectUnpositioned, limit)
	if err == nil && len(events) > 0 {
		last, err = lastPosition(view)
		last = max(last, view.Now().UnixMicro())
	}
	if err != nil {
		return nil, 0, fmt.Errorf("load events without a position: %w", err)
	}
	return events, last, nil
}

// AssignPositions gives the events, in their order, the positions after last; both come from [Unpositioned]. There must be an event. It
// returns ErrMoved if one of them is gone or has a position by now. It reads only these events, so that it conflicts with no transaction
// that appends events. If the ids have no gap, it takes half the time, in which all other changes wait on SQLite.
func AssignPositions(tx *db.Tx, events []PendingEvent, last int64) error {
	count, first := int64(len(events)), events[0].ID
	if end := events[count-1].ID; end-first == count-1 {
		return execExactly(tx, count, "assign positions to events", assignToRange, last+1-first, first, end)
	}
	var values strings.Builder
	for i, e := range events {
		fmt.Fprintf(&values, ", (%d, %d)", e.ID, last+int64(i)+1)
	}
	return execExactly(tx, count, "assign positions to events", fmt.Sprintf(assignPositions, values.String()[2:]))
}

// Cursor is the position up to which a subscriber has received events.
type Cursor struct {
	ID         int64
	Subscriber string
	Subject    string // Subject is empty for the main cursor, which covers all subjects except those that failed and have their own cursor
	Position   int64
	Attempts   int       // Attempts counts the failed deliveries of the event after the position
	RetryAt    time.Time // RetryAt is when to retry a subject whose delivery failed; zero for the main cursor
	WebhookID  *string   // WebhookID is set if the subscriber is a webhook
	PropertyID string    // PropertyID, if not empty, is the only property whose events the subscriber receives
}

// Cursors returns the cursors of a subscriber: first the main cursor, then those of failing subjects by the time of their retry. It returns
// none before [Subscribe]. It does not set PropertyID: see [WebhookCursors].
func Cursors(view *db.Tx, subscriber string) (all []*Cursor, err error) {
	type row struct {
		Cursor
		retryAt *time.Time
	}
	rows, err := db.ReadList(view, func(r *row) []any {
		return []any{&r.ID, &r.Subscriber, &r.Subject, &r.Position, &r.Attempts, &r.retryAt, &r.WebhookID}
	}, selectCursors, subscriber)
	if err != nil {
		return nil, fmt.Errorf("load the cursors of %s: %w", subscriber, err)
	}
	for i := range rows {
		rows[i].RetryAt = db.OrZero(rows[i].retryAt)
		all = append(all, &rows[i].Cursor)
	}
	return all, nil
}

// Subscribe stores the cursor of a new subscriber, which receives the events that get a position from now on. It does
// nothing if the subscriber has a cursor.
func Subscribe(tx *db.Tx, subscriber string) error { return subscribe(tx, subscriber, nil) }

// subscribe is [Subscribe] with the id of the webhook if the subscriber is one, else nil.
func subscribe(tx *db.Tx, subscriber string, webhookID any) error {
	last, err := lastPosition(tx)
	if err == nil {
		_, err = tx.ExecContext(tx.Context(), insertCursor, subscriber, last, webhookID, tx.Now())
	}
	if err != nil {
		return fmt.Errorf("store the cursor of %s: %w", subscriber, err)
	}
	return nil
}

// RemoveUnknown deletes the cursors of subscribers that are not among known, the subscribers of this version of the program. It keeps those
// that lack no event stored more than UndeliveredGrace ago, because in a rolling upgrade an older node does not know the subscribers of a
// newer one. The cursors of a webhook are deleted with the webhook instead.
func RemoveUnknown(tx *db.Tx, known []string) error {
	args := []any{tx.Now().Add(-UndeliveredGrace)}
	unknown := ""
	for _, name := range known {
		args = append(args, name)
		unknown += fmt.Sprintf(" AND subscriber <> $%d", len(args))
	}
	_, err := tx.ExecContext(tx.Context(), fmt.Sprintf(deleteUnknown, unknown), args...)
	if err != nil {
		return fmt.Errorf("delete the cursors of unknown subscribers: %w", err)
	}
	return nil
}

// After returns up to limit events after the cursor c, in order. main is the subscriber's main cursor. If c is main, events of subjects
// with a cursor of their own are among them: the caller skips these. If c is the cursor of one failing subject, the events end at the
// position of main.
func After(view *db.Tx, c, main *Cursor, limit int) ([]*ent.Event, error) {
	q := view.Event.Query().Where(event.PositionGT(max(c.Position, 0)), inPositionIndex)
	if main.PropertyID != "" {
		q = q.Where(event.PropertyID(main.PropertyID))
	}
	if c.Subject != "" {
		q = q.Where(event.Subject(c.Subject), event.PositionLTE(main.Position))
	}
	events, err := q.Order(event.ByPosition()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load events after a cursor: %w", err)
	}
	return events, nil
}

// Ref is an event with a position, without its body.
type Ref struct {
	Position   int64
	PropertyID string
	Kind       Kind
}

// RefsAfter returns up to limit events of all properties after a position, in order. It is several times faster than [After].
func RefsAfter(view *db.Tx, position int64, limit int) ([]Ref, error) {
	refs, err := db.ReadList(view, func(r *Ref) []any { return []any{&r.Position, &r.PropertyID, &r.Kind} }, selectRefs, max(position, 0), limit)
	if err != nil {
		return nil, fmt.Errorf("load events after a position: %w", err)
	}
	return refs, nil
}

// inPositionIndex repeats the condition of the partial index on positions, because SQLite uses the index only for a
// query with its condition.
func inPositionIndex(s *entsql.Selector) { s.Where(entsql.ExprP("position > 0")) }

// Failure is a failed delivery to a subscriber of the events of one subject.
type Failure struct {
	Subject       string
	AfterPosition int64 // AfterPosition is the position before the first event that was not delivered
	RetryAt       time.Time
	Err           error
}

// reason returns why the delivery failed, without text that may contain personal data.
func (f Failure) reason() string {
	if known, ok := fault.Of(f.Err); ok {
		return string(known.Reason)
	}
	return string(fault.InternalError)
}

// Move sets the cursor of a subscriber to a later position, because the subscriber has received the events up to there, and its count of
// failed deliveries to 0. It does not change c. It returns ErrMoved if another dispatcher has moved the cursor.
func Move(tx *db.Tx, c *Cursor, position int64) error {
	return execExactly(tx, 1, "move a cursor", moveCursor, position, c.ID, c.Position)
}

// HoldBack stores a separate cursor for a subject whose delivery failed once, so that the main cursor can pass the subject's events. It
// does not move the main cursor, and fails if the subject has a cursor already.
func HoldBack(tx *db.Tx, main *Cursor, f Failure) error {
	return execExactly(tx, 1, "hold back a subject", insertHeldBack, main.Subscriber, f.Subject, f.AfterPosition, f.RetryAt, f.reason(), main.WebhookID, tx.Now())
}

// Postpone records that the retry of a failing subject failed again, and when to retry it next; of f only RetryAt and Err count. It returns
// ErrMoved if another dispatcher retried it meanwhile.
func Postpone(tx *db.Tx, c *Cursor, f Failure) error {
	return execExactly(tx, 1, "postpone a subject", postponeCursor, f.RetryAt, f.reason(), c.ID, c.Attempts)
}

// Release deletes the cursor of a subject that no longer fails. It returns ErrMoved if c has moved meanwhile, or main, because it may have
// passed further events of the subject.
func Release(tx *db.Tx, c, main *Cursor) error {
	if err := Move(tx, main, main.Position); err != nil {
		return err
	}
	return execExactly(tx, 1, "release a subject", deleteCursor, c.ID, c.Position)
}

// execExactly runs a statement, and returns ErrMoved unless it affects exactly want rows. what names the action in errors.
func execExactly(tx *db.Tx, want int64, what, statement string, args ...any) error {
	result, err := tx.ExecContext(tx.Context(), statement, args...)
	got := int64(0)
	if err == nil {
		got, err = result.RowsAffected()
	}
	if err == nil && got != want {
		err = ErrMoved
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
