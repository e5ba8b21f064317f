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
var refusedKeys = map[string]bool{
	RefusedKey + "malformed": true, RefusedKey + "unsupportedAlgorithm": true, RefusedKey + "unknownIssuer": true,
	RefusedKey + "badSignature": true, RefusedKey + "cloned": true, RefusedKey + "replayed": true, RefusedKey + "revoked": true,
}

// tried says whether a denial counts against the budget: a PIN that no slot holds, or a SmartKey that nobody may use.
func tried(reason string) bool { return reason == wrongPIN || refusedKeys[reason] }

// Budget is how many wrong PINs are taken for slips of the finger within a span; more are an alarm.
type Budget struct {
	Most int
	Span time.Duration
}

// The budgets of the alarm. What slows a guesser is the lockout of the lock or a pause of its keypad: docs/operations.md has the
// figures. At a lock with neither the alarm is all there is. Ten tries in ten minutes are 1,440 a day below the lock's budget: with
// ten codes of eight digits the chance is 2e-4, with six digits it is 2 %, and the site's budget raises the alarm within the hour.
var (
	LockBudget = Budget{Most: 10, Span: 10 * time.Minute}
	SiteBudget = Budget{Most: 50, Span: time.Hour}
)

// Guesses counts what was [tried] in a span that slides: in the span that began last, and in the one before it as far as that
// still counts.
type Guesses struct {
	BeganAt       time.Time
	Count, Before int
	AlarmedAt     time.Time // zero: no alarm stands
}

// Add counts one more, and says whether that is the alarm: once, until the guessing has gone down to half of the budget.
// One that is told late counts where it belongs; one older than two spans does not count.
func (g Guesses) Add(at time.Time, b Budget) (Guesses, bool) {
	switch since := at.Sub(g.BeganAt); {
	case g.BeganAt.IsZero() || since >= 2*b.Span:
		g.BeganAt, g.Count, g.Before = at, 0, 0
	case since >= b.Span:
		g.BeganAt, g.Count, g.Before = g.BeganAt.Add(b.Span), 0, g.Count
	case since < -b.Span:
		return g, false
	case since < 0:
		g.Before++
		return g, false
	}
	if 2*g.within(at, b) <= b.Most {
		g.AlarmedAt = time.Time{}
	}
	g.Count++
	if !g.AlarmedAt.IsZero() || g.within(at, b) <= b.Most {
		return g, false
	}
	g.AlarmedAt = at
	return g, true
}

// within is how many there were in the span before an instant, if those of the former span came evenly.
func (g Guesses) within(at time.Time, b Budget) int {
	left := b.Span - at.Sub(g.BeganAt)
	return g.Count + int(int64(g.Before)*int64(max(left, 0))/int64(b.Span))
}

// guessed counts a try at a lock and at its property, and tells of each budget that it spends.
func guessed(tx *db.Tx, lk *ent.Lock, at time.Time) error {
	atLock, err := count(tx, lk.PropertyID, lk.ID, at, LockBudget)
	if err != nil {
		return err
	}
	if atLock {
		e := inside(lockEvent(lk, event.GuessesAtLock, map[string]any{"most": LockBudget.Most, "minutes": int(LockBudget.Span.Minutes())}))
		e.OccurredAt = at
		text := fmt.Sprintf("More than %d wrong PINs were typed, or SmartKeys shown that nobody may use, at lock %q within %d minutes. Look who stands there: somebody may be trying to get in.", LockBudget.Most, lk.Name, int(LockBudget.Span.Minutes()))
		if err := guessing(tx, e, lk.ID, text, at); err != nil {
			return err
		}
	}
	atSite, err := count(tx, lk.PropertyID, lk.PropertyID, at, SiteBudget)
	if err != nil || !atSite {
		return err
	}
	e := event.Event{
		PropertyID: lk.PropertyID, Subject: event.Inside(lk.PropertyID), Kind: event.GuessesAtSite, OccurredAt: at,
		Body: map[string]any{"most": SiteBudget.Most, "minutes": int(SiteBudget.Span.Minutes()), "lockId": lk.ID},
	}
	text := fmt.Sprintf("More than %d wrong PINs were typed, or SmartKeys shown that nobody may use, at the doors of this property within %d minutes, the last at lock %q. Somebody may go from door to door and try.", SiteBudget.Most, int(SiteBudget.Span.Minutes()), lk.Name)
	return guessing(tx, e, lk.PropertyID, text, at)
}

// guessing tells of a budget that is spent; staff at most once an hour for each.
func guessing(tx *db.Tx, e event.Event, subject, text string, at time.Time) error {
	if err := event.Append(tx, e); err != nil {
		return err
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: e.PropertyID, Kind: "guessing", Subject: subject, Text: text + toldLate(at, tx.Now()),
		OnceKey: guessingKey(subject, at),
	})
}

// guessingKey names the notices about guessing at a lock or property within one hour.
func guessingKey(subject string, at time.Time) string {
	return subject + "/guessing/" + at.UTC().Format("2006-01-02T15")
}

// count adds a guess to what is counted under an id, and says whether that spends the budget.
func count(tx *db.Tx, propertyID, subject string, at time.Time, b Budget) (spent bool, err error) {
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
	g := Guesses{BeganAt: row.BeganAt, Count: row.Count, Before: row.Before, AlarmedAt: value(row.AlarmedAt)}
	if g.BeganAt.After(tx.Now().Add(ahead)) { // by a clock that was set back since: all that comes would count as told late
		g = Guesses{}
	}
	g, spent = g.Add(at, b)
	u := tx.Guesses.UpdateOne(row).SetBeganAt(g.BeganAt).SetCount(g.Count).SetBefore(g.Before)
	put(g.AlarmedAt, u.SetAlarmedAt, u.ClearAlarmedAt)
	if err := u.Exec(ctx); err != nil {
		return false, fmt.Errorf("count wrong PINs: %w", err)
	}
	return spent, nil
}
