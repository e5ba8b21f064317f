package lock

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entguesses "latchkey.dev/ent/guesses"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// wrongPIN is the reason of a denial for a PIN that is in no slot of the lock.
const wrongPIN = "wrongPin"

// suspiciousKeys are the reasons in docs/smartkey.md for which a refused SmartKey counts as an attack. Reasons that a
// guest's own phone may cause do not count: a key that has expired, is for another door, or is not known yet.
var suspiciousKeys = map[string]bool{
	RefusedKeyPrefix + "malformed": true, RefusedKeyPrefix + "unsupportedAlgorithm": true, RefusedKeyPrefix + "unknownIssuer": true,
	RefusedKeyPrefix + "badSignature": true, RefusedKeyPrefix + "cloned": true, RefusedKeyPrefix + "replayed": true, RefusedKeyPrefix + "revoked": true,
}

// countsAsGuess reports whether a denial counts against the guess budget: an unknown PIN, or a SmartKey that can
// never be valid.
func countsAsGuess(reason string) bool { return reason == wrongPIN || suspiciousKeys[reason] }

// GuessBudget is the number of wrong PINs in a period that may be typing errors. More raise an alarm.
type GuessBudget struct {
	Limit  int
	Period time.Duration
}

// Budgets of the guessing alarm. A lockout of the lock or a pause of its keypad also slows guessing; the alarm is the
// only protection of a lock with neither (see docs/operations.md). Ten attempts in ten minutes stay within the lock's
// budget: that is 1,440 a day, and guesses one of ten codes with a probability of 2e-4 at eight digits and 2 % at
// six. The property's budget raises the alarm within the hour.
var (
	LockBudget = GuessBudget{Limit: 10, Period: 10 * time.Minute}
	SiteBudget = GuessBudget{Limit: 50, Period: time.Hour}
)

// GuessCounter counts attempts in a sliding window: the attempts of the current period, and a share of the previous
// period's.
type GuessCounter struct {
	BeganAt         time.Time // BeganAt is the start of the current period of the budget; zero before the first attempt
	Count, Previous int
	AlarmedAt       time.Time // AlarmedAt is when the alarm was raised; zero if no alarm is active
}

// Add counts one attempt at a time, and returns the new counter and whether the attempt raises the alarm. The alarm is raised again only
// after the count has fallen to half of the budget. An attempt that is reported after its period has ended raises no alarm. It counts in
// its own period, or not at all if that is earlier than the previous one.
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

// inPeriod estimates the attempts in the period that ends at a time. It assumes that the attempts of the previous
// period were evenly distributed.
func (g GuessCounter) inPeriod(at time.Time, b GuessBudget) int {
	left := b.Period - at.Sub(g.BeganAt)
	return g.Count + int(int64(g.Previous)*int64(max(left, 0))/int64(b.Period))
}

// recordFailedAttempt counts an attempt against the budgets of a lock and of its property, and raises the alarm of
// each exceeded budget.
func recordFailedAttempt(tx *db.Tx, lk *ent.Lock, at time.Time) error {
	atLock, err := countGuess(tx, lk.PropertyID, lk.ID, at, LockBudget)
	if err != nil {
		return err
	}
	if atLock {
		e := asInternal(newLockEvent(lk, event.GuessesAtLock, map[string]any{"most": LockBudget.Limit, "minutes": int(LockBudget.Period.Minutes())}))
		e.OccurredAt = at
		if err := appendGuessing(tx, e, "guessing.lock", lk, LockBudget, lk.ID, at); err != nil {
			return err
		}
	}
	atSite, err := countGuess(tx, lk.PropertyID, lk.PropertyID, at, SiteBudget)
	if err != nil || !atSite {
		return err
	}
	e := event.Event{
		PropertyID: lk.PropertyID, Subject: event.InternalSubject(lk.PropertyID), Kind: event.GuessesAtSite, OccurredAt: at,
		Body: map[string]any{"most": SiteBudget.Limit, "minutes": int(SiteBudget.Period.Minutes()), "lockId": lk.ID},
	}
	return appendGuessing(tx, e, "guessing.property", lk, SiteBudget, lk.PropertyID, at)
}

// appendGuessing records the event e that a guess budget b is exceeded, and notifies staff at most once an hour for
// each subject, which is a lock or a property. what selects the text of the notice. lk is the lock of the last
// attempt.
func appendGuessing(tx *db.Tx, e event.Event, what string, lk *ent.Lock, b GuessBudget, subject string, at time.Time) error {
	if err := event.Append(tx, e); err != nil {
		return err
	}
	name, err := NoticeName(tx, lk)
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: e.PropertyID, Kind: notice.Guessing, Subject: subject, OnceKey: guessingNoticeKey(subject, at),
		Params: message.Params{"what": message.Message{Kind: what, Params: message.Params{
			"lock": name, "most": b.Limit, "minutes": int(b.Period.Minutes()), "late": lateness(at, tx.Now()),
		}}},
	})
}

// guessingNoticeKey returns the key by which a notice about guessing is sent only once: it is the same for all notices about one lock or
// property within one hour of the clock (UTC).
func guessingNoticeKey(subject string, at time.Time) string {
	return notice.Guessing.Key(subject) + "/" + at.UTC().Format("2006-01-02T15")
}

// countGuess counts a failed attempt against the budget of a subject, which is the id of a lock or property. spent
// means that this attempt raises the alarm.
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
	g := GuessCounter{BeganAt: row.BeganAt, Count: row.Count, Previous: row.Before, AlarmedAt: db.OrZero(row.AlarmedAt)}
	if g.BeganAt.After(tx.Now().Add(maxClockLead)) { // the server's clock was set back: without a reset, every attempt would count as late
		g = GuessCounter{}
	}
	g, spent = g.Add(at, b)
	u := tx.Guesses.UpdateOne(row).SetBeganAt(g.BeganAt).SetCount(g.Count).SetBefore(g.Previous)
	db.SetOrClear(g.AlarmedAt, u.SetAlarmedAt, u.ClearAlarmedAt)
	if err := u.Exec(ctx); err != nil {
		return false, fmt.Errorf("count wrong PINs: %w", err)
	}
	return spent, nil
}
