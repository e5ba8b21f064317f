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
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/throttle"
)

// newCounter returns a counter of a limit with no count yet: see loadCounters. Its id is a keyed hash of what, which must identify what is
// counted: the property, the name of the limit, and for example the address.
func newCounter(keys *keyring.Ring, l throttle.Limit, what ...string) throttle.Counter {
	return throttle.Counter{Limit: l, ID: hex.EncodeToString(keys.MAC("attempts", what...))}
}

// countersOf returns the stored counters of failed searches that slow this search: those of its source (the kiosk, or the client's network
// and its site), of the property and of the searched booking. numbers are the booking's numbers. [Search.refund] relies on the order: the
// source comes first, then what the source gets back.
func (q Search) countersOf(tx *db.Tx, keys *keyring.Ring, numbers []string) ([]throttle.Counter, error) {
	source, origin := q.KioskID, "kiosk"
	if q.KioskID == "" {
		source, origin = q.Address, OriginDoor
	}
	var all []throttle.Counter
	add := func(l throttle.Limit, what ...string) {
		all = append(all, newCounter(keys, l, append([]string{q.PropertyID, origin, l.Name}, what...)...))
	}
	add(atSource, source)
	add(givenBack, source, reservation.FoldNumber(q.Number))
	for _, number := range numbers {
		if q.KioskID != "" {
			add(bookingAtKiosks, number)
			continue
		}
		add(bookingAtNetwork, source, number)
		add(bookingAtDoors, number)
	}
	add(atProperty) // one counter for all kiosks of the property, or for all its QR codes
	if q.KioskID == "" {
		if site := throttle.SiteOf(q.Address); site != "" {
			add(atSite, site)
			for _, number := range numbers {
				add(bookingAtSite, site, number)
			}
		}
	}
	return all, loadCounters(tx, q.PropertyID, all)
}

// foundIn counts the searches that found a stay whose guest is checked in. It delays no search.
var foundIn = throttle.Within("foundIn", 24*time.Hour)

// CountFound counts one more search that found a checked-in stay. It returns how many such searches, this one included, the stay had in the
// 24 hours that began with the first one.
func CountFound(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) (int, error) {
	counters := []throttle.Counter{newCounter(keys, foundIn, propertyID, foundIn.Name, reservationID)}
	if err := loadCounters(tx, propertyID, counters); err != nil {
		return 0, err
	}
	counters[0] = counters[0].WithFailure(tx.Now())
	return counters[0].Count, storeCounters(tx, propertyID, counters)
}

// numbers returns the keys under which the failures of a booking are counted: the typed number, and all other numbers of the reservations
// in rows. So a booking with two numbers has one limit. An unknown number is counted too, under two keys like a known one, so that neither
// the response nor its time shows whether the number exists. The second key has blanks, which no number has after [reservation.FoldNumber].
func (q Search) numbers(rows []*ent.Reservation) []string {
	typed := reservation.FoldNumber(q.Number)
	out := []string{typed}
	for _, row := range rows {
		out = append(out, reservation.FoldNumber(row.PmsNumber))
		if row.ChannelNumber != nil {
			out = append(out, reservation.FoldNumber(*row.ChannelNumber))
		}
	}
	slices.Sort(out)
	out = slices.DeleteFunc(slices.Compact(out), func(number string) bool { return number == "" && len(rows) > 0 })
	if len(out) < 2 {
		out = append(out, "no other number than "+typed)
	}
	return out
}

// loadCounters sets each counter to what is stored for its present period, or to zero if nothing is.
func loadCounters(tx *db.Tx, propertyID string, counters []throttle.Counter) error {
	rows, err := tx.Attempts.Query().Where(entattempts.PropertyID(propertyID), entattempts.IDIn(throttle.IDs(counters)...)).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load failed searches: %w", err)
	}
	stored := make([]throttle.Counter, len(rows))
	for i, r := range rows {
		stored[i] = throttle.Counter{ID: r.ID, Began: r.BeganAt, Last: r.LastAt, Count: r.Count}
	}
	throttle.Restore(counters, stored, tx.Now())
	return nil
}

// recordFailure counts a failed search in each of counters, in place. The count is in the database, so a restart of the server does not
// clear it. Staff get a notice when a counter begins to delay searches, once in each of its periods, and again if it begins again after a
// refund.
func (q Search) recordFailure(tx *db.Tx, counters []throttle.Counter) error {
	slows := false
	for i, c := range counters {
		counters[i] = c.WithFailure(tx.Now())
		slows = slows || counters[i].StartsWaiting()
	}
	if err := storeCounters(tx, q.PropertyID, counters); err != nil || !slows {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: q.PropertyID, Kind: notice.SearchesFailed, Subject: q.KioskID,
		Params: message.Params{"place": q.Place, "at": tx.Now(), "number": shownNumber(q.Number)},
	})
}

// refund subtracts from the failures of the source those that it had with this number before its search found the stay. So a guest who
// mistypes does not slow the next guest. counters are from [Search.countersOf].
func (q Search) refund(tx *db.Tx, counters []throttle.Counter) error {
	source, returned := &counters[0], &counters[1]
	if returned.Count == 0 {
		return nil
	}
	source.Count = max(source.Count-returned.Count, 0)
	returned.Count = 0
	return storeCounters(tx, q.PropertyID, slices.DeleteFunc(counters[:2:2], func(c throttle.Counter) bool { return c.Began.IsZero() }))
}

// storeCounters inserts or replaces counters, of failed searches and of other limited requests.
func storeCounters(tx *db.Tx, propertyID string, counters []throttle.Counter) error {
	insert := entsql.Insert(entattempts.Table).
		Columns(entattempts.FieldID, entattempts.FieldPropertyID, entattempts.FieldBeganAt, entattempts.FieldLastAt, entattempts.FieldCount).
		OnConflict(entsql.ConflictColumns(entattempts.FieldID), entsql.ResolveWithNewValues())
	for _, c := range throttle.InOrder(counters) {
		insert.Values(c.ID, propertyID, c.Began, c.Last, c.Count)
	}
	if _, err := tx.Insert(insert); err != nil {
		return fmt.Errorf("count failed searches: %w", err)
	}
	return nil
}

// tooManyAttempts returns the error of a search that must wait: with the wait in words, and as the time after which to retry.
func tooManyAttempts(wait time.Duration) error {
	return fault.New(fault.Exhausted, fault.TooManyAttempts, "too many searches failed; try again in %s, or go to the desk", roughly(wait)).Retry(wait)
}

// roughly returns a time to wait as English text, rounded up to minutes, or above two hours to hours.
func roughly(wait time.Duration) string {
	switch {
	case wait <= time.Minute:
		return "a minute"
	case wait <= 2*time.Hour:
		return fmt.Sprintf("%d minutes", (wait+time.Minute-1)/time.Minute)
	}
	return fmt.Sprintf("%d hours", (wait+time.Hour-1)/time.Hour)
}
