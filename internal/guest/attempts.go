package guest

import (
	"encoding/hex"
	"fmt"
	"net/netip"
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
)

// counter is a stored tally. Its id is a keyed hash of what is counted.
type counter struct {
	id string
	tally
}

// countersOf returns the stored counters of failed searches that slow this search: those of its source, of the property and of the searched
// booking. numbers are the booking's numbers. [Search.refund] relies on the order: the source comes first, then what the source gets back.
func (q Search) countersOf(tx *db.Tx, keys *keyring.Ring, numbers []string) ([]counter, error) {
	source, origin := q.KioskID, "kiosk"
	if q.KioskID == "" {
		source, origin = q.Address, OriginDoor
	}
	var all []counter
	add := func(l limit, what ...string) {
		id := hex.EncodeToString(keys.MAC("attempts", append([]string{q.PropertyID, origin, l.name}, what...)...))
		all = append(all, counter{id, tally{limit: l}})
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
	add(atProperty) // all kiosks, or all QR codes
	if q.KioskID == "" {
		if site := siteOf(q.Address); site != "" {
			add(atSite, site)
			for _, number := range numbers {
				add(bookingAtSite, site, number)
			}
		}
	}
	return all, loadTallies(tx, q.PropertyID, all)
}

// foundIn counts the searches that found a stay whose guest is checked in. It delays nothing.
var foundIn = limit{"foundIn", 24 * time.Hour, nil}

// CountFound counts one more search that found a checked-in stay. It returns how many such searches the stay had in the 24 hours that began
// with the first one.
func CountFound(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) (int, error) {
	counters := []counter{{hex.EncodeToString(keys.MAC("attempts", propertyID, foundIn.name, reservationID)), tally{limit: foundIn}}}
	if err := loadTallies(tx, propertyID, counters); err != nil {
		return 0, err
	}
	counters[0].tally = counters[0].fail(tx.Now())
	return counters[0].count, storeTallies(tx, propertyID, counters)
}

// siteOf returns the IPv6 network of a site, /48, that a client's network belongs to. Who rents a server often has a /48, which has 65,536
// networks of clients. It returns "" for IPv4, where few people have many addresses.
func siteOf(network string) string {
	p, err := netip.ParsePrefix(network)
	if err != nil || !p.Addr().Is6() || p.Bits() < siteBits {
		return ""
	}
	return netip.PrefixFrom(p.Addr(), siteBits).Masked().String()
}

const siteBits = 48

// numbers returns the keys of the limit of a booking: the typed number, and the other numbers of the reservations in rows that have it, so
// that a booking with two numbers has one limit. An unknown number gets a limit too, and a second key, so that neither an answer nor its time
// shows whether the number exists. No typed number has a space after [reservation.FoldNumber].
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

// loadTallies sets the tally of each counter to what is stored for its present period, and leaves a counter without stored failures at zero.
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
			c.began, c.last, c.count = row.BeganAt, row.LastAt, row.Count
		}
	}
	return nil
}

// waitOfCounters returns how long a search must wait because of earlier failures: the longest wait of all counters.
func waitOfCounters(counters []counter, now time.Time) time.Duration {
	tallies := make([]tally, len(counters))
	for i, c := range counters {
		tallies[i] = c.tally
	}
	return waitOf(tallies, now)
}

// recordFailure counts a failed search, in the database so that a restart forgets nothing. Staff are notified once in each period
// in which searches begin to wait.
func (q Search) recordFailure(tx *db.Tx, counters []counter) error {
	slows := false
	for i, c := range counters {
		counters[i].tally = c.fail(tx.Now())
		slows = slows || counters[i].beginsToSlow()
	}
	if err := storeTallies(tx, q.PropertyID, counters); err != nil || !slows {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: q.PropertyID, Kind: notice.SearchesFailed, Subject: q.KioskID,
		Params: message.Params{"place": q.Place, "at": tx.Now(), "number": shownNumber(q.Number)},
	})
}

// refund takes back from the source the failures that it had with this number before its search found the stay, so that a guest who mistypes
// does not slow the next guest. counters are from [Search.countersOf].
func (q Search) refund(tx *db.Tx, counters []counter) error {
	source, returned := &counters[0], &counters[1]
	if returned.count == 0 {
		return nil
	}
	source.count = max(source.count-returned.count, 0)
	returned.count = 0
	return storeTallies(tx, q.PropertyID, slices.DeleteFunc(counters[:2:2], func(c counter) bool { return c.began.IsZero() }))
}

// storeTallies stores the counts of failed searches.
func storeTallies(tx *db.Tx, propertyID string, counters []counter) error {
	insert := entsql.Insert(entattempts.Table).
		Columns(entattempts.FieldID, entattempts.FieldPropertyID, entattempts.FieldBeganAt, entattempts.FieldLastAt, entattempts.FieldCount).
		OnConflict(entsql.ConflictColumns(entattempts.FieldID), entsql.ResolveWithNewValues())
	for _, c := range counters {
		insert.Values(c.id, propertyID, c.began, c.last, c.count)
	}
	if _, err := tx.Insert(insert); err != nil {
		return fmt.Errorf("count failed searches: %w", err)
	}
	return nil
}

// tooManyAttempts returns the error of a search that must wait, with the wait in words and as a retry time.
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
