package lock

import (
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/ent/locksample"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// SampleKind is what a sample of a lock's history measures.
type SampleKind string

const (
	BatterySample SampleKind = "battery" // percent
	LinkSample    SampleKind = "link"    // 1: the lock can be reached; 0: not
	ClockSample   SampleKind = "clock"   // milliseconds that the lock's clock is ahead of the bridge's; negative: behind
)

// sampleKinds lists all kinds.
var sampleKinds = []SampleKind{BatterySample, LinkSample, ClockSample}

// sampleSteps are the smallest differences from the last sample with which a reading is stored, in the unit of its kind. A battery that
// wavers by a percent costs no row.
var sampleSteps = map[SampleKind]int64{BatterySample: 2, LinkSample: 1, ClockSample: 5000}

// maxSamples bounds the samples of one kind that are kept of a lock.
const maxSamples = 500

// isStep reports whether a reading differs enough from the last sample to be stored. Without a last sample (nil), each reading does.
func isStep(kind SampleKind, last *int64, reading int64) bool {
	if last == nil {
		return true
	}
	return max(reading-*last, *last-reading) >= sampleSteps[kind]
}

// recordReadings adds the battery's charge and the clock's offset of a new status to the lock's history: those that differ from the stored
// status and, by a step, from the last sample.
func recordReadings(tx *db.Tx, lk *ent.Lock, now Status) error {
	if now.BatteryPercent != nil && (lk.Status.BatteryPercent == nil || *lk.Status.BatteryPercent != *now.BatteryPercent) {
		if err := recordSample(tx, lk, BatterySample, int64(*now.BatteryPercent)); err != nil {
			return err
		}
	}
	if now.ClockOffsetMS != nil && (lk.Status.ClockOffsetMS == nil || *lk.Status.ClockOffsetMS != *now.ClockOffsetMS) {
		return recordSample(tx, lk, ClockSample, *now.ClockOffsetMS)
	}
	return nil
}

// recordSample adds a reading to the lock's history if it differs by a step from the last sample, and deletes the oldest samples of the
// kind beyond maxSamples.
func recordSample(tx *db.Tx, lk *ent.Lock, kind SampleKind, reading int64) error {
	var last *int64
	value := int64(0)
	found, err := tx.ReadOne(selectLastSample, []any{lk.ID, string(kind), lk.PropertyID}, &value)
	if err != nil {
		return fmt.Errorf("load the last reading of a lock: %w", err)
	}
	if found {
		last = &value
	}
	if !isStep(kind, last, reading) {
		return nil
	}
	err = tx.LockSample.Create().SetPropertyID(lk.PropertyID).SetLockID(lk.ID).SetKind(string(kind)).SetValue(reading).SetAt(tx.Now()).Exec(tx.Context())
	if err == nil {
		_, err = tx.ExecContext(tx.Context(), deleteOldestSamples, lk.PropertyID, lk.ID, string(kind), lk.ID, string(kind), lk.PropertyID, maxSamples)
	}
	if err != nil {
		return fmt.Errorf("store a reading of a lock: %w", err)
	}
	return nil
}

// Sample is a stored reading of a lock. Its SampleKind says what Value measures, and in which unit.
type Sample struct {
	Value int64
	At    time.Time
}

// Gap is a time in which a lock could not be reached, so that there are no readings. Until is zero while it lasts.
type Gap struct{ From, Until time.Time }

// GapsOf returns the times in which a lock could not be reached. link has its samples of the kind LinkSample in the
// order of time.
func GapsOf(link []Sample) (gaps []Gap) {
	open := false
	for _, s := range link {
		switch down := s.Value == 0; {
		case down && !open:
			gaps, open = append(gaps, Gap{From: s.At}), true
		case !down && open:
			gaps[len(gaps)-1].Until, open = s.At, false
		}
	}
	return gaps
}

// History returns the samples of a lock since a time, oldest first, by kind, at most the latest maxSamples of each. The
// first sample of a kind may be older: the last sample before that time was still valid at it.
func History(view *db.Tx, propertyID, lockID string, since time.Time) (map[SampleKind][]Sample, error) {
	all := map[SampleKind][]Sample{}
	for _, kind := range sampleKinds {
		rows, err := view.LockSample.Query().Where(locksample.PropertyID(propertyID), locksample.LockID(lockID), locksample.Kind(string(kind))).
			Order(locksample.ByID(sql.OrderDesc())).Limit(maxSamples).All(view.Context())
		if err != nil {
			return nil, fmt.Errorf("load the history of a lock: %w", err)
		}
		for _, row := range rows {
			all[kind] = append(all[kind], Sample{row.Value, row.At})
			if row.At.Before(since) {
				break
			}
		}
		slices.Reverse(all[kind])
	}
	return all, nil
}

// LastEvents returns up to limit of the latest events of a lock, newest first, also internal ones, without changes of the evidence of
// codes.
func LastEvents(view *db.Tx, propertyID, lockID string, limit int) ([]*ent.Event, error) {
	var all []*ent.Event
	for _, subject := range []string{lockID, event.InternalSubject(lockID)} {
		rows, err := view.Event.Query().Where(entevent.PropertyID(propertyID), entevent.Subject(subject), entevent.KindNEQ(string(event.CredentialChanged))).
			Order(entevent.BySubjectSequence(sql.OrderDesc())).Limit(limit).All(view.Context())
		if err != nil {
			return nil, fmt.Errorf("load the latest events of a lock: %w", err)
		}
		all = append(all, rows...)
	}
	slices.SortStableFunc(all, func(a, b *ent.Event) int { return b.OccurredAt.Compare(a.OccurredAt) })
	return all[:min(limit, len(all))], nil
}

// DeleteSamples deletes samples of all properties from before a time, no more than most, and returns their number. The newest sample of
// each kind of a lock remains.
func DeleteSamples(tx *db.Tx, before time.Time, most int) (int, error) {
	ids, err := db.ReadList(tx, func(id *int64) []any { return []any{id} }, selectReplacedSamples, before, most)
	if err != nil {
		return 0, fmt.Errorf("load old readings of locks: %w", err)
	}
	n, err := tx.LockSample.Delete().Where(locksample.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("delete old readings of locks: %w", err)
	}
	return n, nil
}
