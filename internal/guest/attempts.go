package guest

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entattempts "latchkey.dev/ent/attempts"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// counter is a stored tally. Its id is a keyed hash of what is counted.
type counter struct {
	id string
	tally
}

// countersOf returns what a search is counted against, as stored. rows are the reservations with the typed number: an unknown
// number is counted like a known one, so that its limit does not tell which it is.
func (q Search) countersOf(tx *db.Tx, keys *keyring.Ring, rows []*ent.Reservation) ([]counter, error) {
	source, origin := q.KioskID, "kiosk"
	if q.KioskID == "" {
		source, origin = q.Address, OriginDoor
	}
	var all []counter
	add := func(b budget, what ...string) {
		id := hex.EncodeToString(keys.MAC("attempts", append([]string{q.PropertyID, origin, b.name}, what...)...))
		all = append(all, counter{id, tally{budget: b}})
	}
	add(atSource, source)
	for _, number := range q.numbers(rows) {
		add(bookingAtSource, source, number)
		add(booking, number)
	}
	if q.KioskID == "" {
		add(atProperty)
		add(propertyPace)
	}
	return all, loadTallies(tx, q.PropertyID, all)
}

// numbers returns the typed number and the other numbers of the reservations that have it, so that a booking with two numbers has
// one budget.
func (q Search) numbers(rows []*ent.Reservation) []string {
	out := []string{foldNumber(q.Number)}
	for _, row := range rows {
		out = append(out, foldNumber(row.PmsNumber))
		if row.ChannelNumber != nil {
			out = append(out, foldNumber(*row.ChannelNumber))
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(number string) bool { return number == "" && len(rows) > 0 })
}

// loadTallies reads the counts of the present periods.
func loadTallies(tx *db.Tx, propertyID string, counters []counter) error {
	ids := make([]string, len(counters))
	for i, c := range counters {
		ids[i] = c.id
	}
	rows, err := tx.Attempts.Query().Where(entattempts.PropertyID(propertyID), entattempts.IDIn(ids...)).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load failed searches: %w", err)
	}
	for _, row := range rows {
		c := &counters[slices.Index(ids, row.ID)]
		if tx.Now().Before(row.BeganAt.Add(c.within)) {
			c.began, c.count = row.BeganAt, row.Count
		}
	}
	return nil
}

func waitOfCounters(counters []counter, now time.Time) time.Duration {
	tallies := make([]tally, len(counters))
	for i, c := range counters {
		tallies[i] = c.tally
	}
	return waitOf(tallies, now)
}

// recordFailure counts a failed search, in the database so that a restart forgets nothing. Staff are notified once in each period
// whose budget is used up.
func (q Search) recordFailure(tx *db.Tx, counters []counter) error {
	insert := entsql.Insert(entattempts.Table).
		Columns(entattempts.FieldID, entattempts.FieldPropertyID, entattempts.FieldBeganAt, entattempts.FieldCount).
		OnConflict(entsql.ConflictColumns(entattempts.FieldID), entsql.ResolveWithNewValues())
	usedUp := false
	for _, c := range counters {
		t := c.fail(tx.Now())
		insert.Values(c.id, q.PropertyID, t.began, t.count)
		usedUp = usedUp || t.count == t.failures && t.budget != propertyPace
	}
	if _, err := tx.Insert(insert); err != nil {
		return fmt.Errorf("count a failed search: %w", err)
	}
	if !usedUp {
		return nil
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: q.PropertyID, Kind: "searchesFailed", Subject: q.KioskID,
		Params: message.Params{"place": q.Place, "at": tx.Now(), "number": shownNumber(q.Number)},
	})
}

func tooManyAttempts(wait time.Duration) error {
	return fault.New(fault.Exhausted, fault.TooManyAttempts, "too many searches failed; try again in %s, or go to the desk", roughly(wait)).Retry(wait)
}

// roughly returns a time to wait, rounded up to minutes or to hours.
func roughly(wait time.Duration) string {
	switch {
	case wait <= time.Minute:
		return "a minute"
	case wait <= 2*time.Hour:
		return fmt.Sprintf("%d minutes", (wait+time.Minute-1)/time.Minute)
	}
	return fmt.Sprintf("%d hours", (wait+time.Hour-1)/time.Hour)
}
