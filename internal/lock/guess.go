package lock

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entguesses "latchkey.dev/ent/guesses"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/staff"
)

// wrongPIN is the reason of a denial at a keypad where a PIN was typed that no slot holds.
const wrongPIN = "wrongPin"

// refusedKeys are the words of docs/smartkey.md, as reasons of a denial, that say: somebody tries. A SmartKey is not guessed,
// and these do not come of one's own phone being late: a key that is over, for another door or not yet known is no alarm.
var suspiciousKeys = map[string]bool{
	RefusedKeyPrefix + "malformed": true, RefusedKeyPrefix + "unsupportedAlgorithm": true, RefusedKeyPrefix + "unknownIssuer": true,
	RefusedKeyPrefix + "badSignature": true, RefusedKeyPrefix + "cloned": true, RefusedKeyPrefix + "replayed": true, RefusedKeyPrefix + "revoked": true,
}

// tried says whether a denial counts against the budget: a PIN that no slot holds, or a SmartKey that nobody may use.
func countsAsGuess(reason string) bool { return reason == wrongPIN || suspiciousKeys[reason] }

// Budget is how many wrong PINs are taken for slips of the finger within a span; more are an alarm.
type GuessBudget struct {
	Limit  int
	Period time.Duration
}

// The budgets of the alarm. What slows a guesser is the lockout of the lock or a pause of its keypad: docs/operations.md has the
// figures. At a lock with neither the alarm is all there is. Ten tries in ten minutes are 1,440 a day below the lock's budget: with
// ten codes of eight digits the chance is 2e-4, with six digits it is 2 %, and the site's budget raises the alarm within the hour.
var (
	LockBudget = GuessBudget{Limit: 10, Period: 10 * time.Minute}
	SiteBudget = GuessBudget{Limit: 50, Period: time.Hour}
)

// Guesses counts what was [tried] in a span that slides: in the span that began last, and in the one before it as far as that
// still counts.
type GuessCounter struct {
	BeganAt         time.Time
	Count, Previous int
	AlarmedAt       time.Time // zero: no alarm stands
}

// Add counts one more, and says whether that is the alarm: once, until the guessing has gone down to half of the budget.
// One that is told late counts where it belongs; one older than two spans does not count.
func (g GuessCounter) Add(at time.Time, b GuessBudget) (GuessCounter, bool) {
	switch since := at.Sub(g.BeganAt); {
	case g.BeganAt.IsZero() || since >= 2*b.Period:
		g.BeganAt, g.Count, g.Previous = at, 0, 0
	case since >= b.Period:
		g.BeganAt, g.Count, g.Previous = g.BeganAt.Add(b.Period), 0, g.Count
	case since < -b.Period:
		return g, false
	case since < 0:
		g.Previous++
		return g, false
	}
	if 2*g.inPeriod(at, b) <= b.Limit {
		g.AlarmedAt = time.Time{}
	}
	g.Count++
	if !g.AlarmedAt.IsZero() || g.inPeriod(at, b) <= b.Limit {
		return g, false
	}
	g.AlarmedAt = at
	return g, true
}

// within is how many there were in the span before an instant, if those of the former span came evenly.
func (g GuessCounter) inPeriod(at time.Time, b GuessBudget) int {
	left := b.Period - at.Sub(g.BeganAt)
	return g.Count + int(int64(g.Previous)*int64(max(left, 0))/int64(b.Period))
}

// guessed counts a try at a lock and at its property, and tells of each budget that it spends.
func recordFailedAttempt(tx *db.Tx, lk *ent.Lock, at time.Time) error {
	atLock, err := countGuess(tx, lk.PropertyID, lk.ID, at, LockBudget)
	if err != nil {
		return err
	}
	if atLock {
		e := asInternal(newLockEvent(lk, event.GuessesAtLock, map[string]any{"most": LockBudget.Limit, "minutes": int(LockBudget.Period.Minutes())}))
		e.OccurredAt = at
		text := fmt.Sprintf("More than %d wrong PINs were typed, or SmartKeys shown that nobody may use, at lock %q within %d minutes. Look who stands there: somebody may be trying to get in.", LockBudget.Limit, lk.Name, int(LockBudget.Period.Minutes()))
		if err := appendGuessing(tx, e, lk.ID, text, at); err != nil {
			return err
		}
	}
	atSite, err := countGuess(tx, lk.PropertyID, lk.PropertyID, at, SiteBudget)
	if err != nil || !atSite {
		return err
	}
	e := event.Event{
		PropertyID: lk.PropertyID, Subject: event.Inside(lk.PropertyID), Kind: event.GuessesAtSite, OccurredAt: at,
		Body: map[string]any{"most": SiteBudget.Limit, "minutes": int(SiteBudget.Period.Minutes()), "lockId": lk.ID},
	}
	text := fmt.Sprintf("More than %d wrong PINs were typed, or SmartKeys shown that nobody may use, at the doors of this property within %d minutes, the last at lock %q. Somebody may go from door to door and try.", SiteBudget.Limit, int(SiteBudget.Period.Minutes()), lk.Name)
	return appendGuessing(tx, e, lk.PropertyID, text, at)
}

// guessing tells of a budget that is spent; staff at most once an hour for each.
func appendGuessing(tx *db.Tx, e event.Event, subject, text string, at time.Time) error {
	if err := event.Append(tx, e); err != nil {
		return err
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: e.PropertyID, Kind: "guessing", Subject: subject, Text: text + lateNote(at, tx.Now()),
		OnceKey: guessingNoticeKey(subject, at),
	})
}

// guessingKey names the notices about guessing at a lock or property within one hour.
func guessingNoticeKey(subject string, at time.Time) string {
	return subject + "/guessing/" + at.UTC().Format("2006-01-02T15")
}

// count adds a guess to what is counted under an id, and says whether that spends the budget.
func countGuess(tx *db.Tx, propertyID, subject string, at time.Time, b GuessBudget) (spent bool, err error) {
	ctx := tx.Context()
	_, err = tx.Insert(sql.Insert(entguesses.Table).Columns(entguesses.FieldID, entguesses.FieldPropertyID, entguesses.FieldBeganAt).
		Values(subject, propertyID, at).OnConflict(sql.ConflictColumns(entguesses.FieldID), sql.DoNothing()))
	if err != nil {
		return false, fmt.Errorf("count wrong PINs: %w", err)
	}
	row, err := tx.Guesses.Query().Where(entguesses.ID(subject), entguesses.PropertyID(propertyID)).Only(ctx)
	if err != nil {
		return false, fmt.Errorf("count wrong PINs: %w", err)
	}
	g := GuessCounter{BeganAt: row.BeganAt, Count: row.Count, Previous: row.Before, AlarmedAt: valueOrZero(row.AlarmedAt)}
	if g.BeganAt.After(tx.Now().Add(maxClockLead)) { // by a clock that was set back since: all that comes would count as told late
		g = GuessCounter{}
	}
	g, spent = g.Add(at, b)
	u := tx.Guesses.UpdateOne(row).SetBeganAt(g.BeganAt).SetCount(g.Count).SetBefore(g.Previous)
	setOrClear(g.AlarmedAt, u.SetAlarmedAt, u.ClearAlarmedAt)
	if err := u.Exec(ctx); err != nil {
		return false, fmt.Errorf("count wrong PINs: %w", err)
	}
	return spent, nil
}
