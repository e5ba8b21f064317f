package staff

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent/signinattempts"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// counter is a stored tally. Its id is a keyed hash of what is counted.
type counter struct {
	id string
	tally
}

// newCounter returns a counter without failures for a limit. what identifies what it counts, such as an address and a network.
func newCounter(keys *keyring.Ring, l limit, what ...string) counter {
	return counter{hex.EncodeToString(keys.MAC("signInAttempts", append([]string{l.name}, what...)...)), tally{limit: l}}
}

// passwordCounters returns the counters that limit attempts with a mail address from a network. The first two are those of the address.
func passwordCounters(keys *keyring.Ring, email, network string) []counter {
	return append([]counter{newCounter(keys, addressAtNetwork, email, network), newCounter(keys, addressAnywhere, email)}, networkCounters(keys, network)...)
}

// networkCounters returns the counters that limit all attempts from a network, also those that name no address.
func networkCounters(keys *keyring.Ring, network string) []counter {
	all := []counter{newCounter(keys, atNetwork, network)}
	if site := siteOf(network); site != "" {
		all = append(all, newCounter(keys, atSite, site))
	}
	return all
}

// operatorCounters returns the counters that limit attempts from a network to sign in as an operator.
func operatorCounters(keys *keyring.Ring, network string) []counter {
	all := []counter{newCounter(keys, operatorAtNetwork, network)}
	if site := siteOf(network); site != "" {
		all = append(all, newCounter(keys, operatorAtSite, site))
	}
	return all
}

// CountOperatorAttempt counts an attempt to sign in as an operator from a network as failed, or refuses it after too many failures.
func CountOperatorAttempt(tx *db.Tx, keys *keyring.Ring, network string) error {
	return countAttempt(tx, operatorCounters(keys, network))
}

// ForgiveOperatorAttempt takes back the count of an attempt that succeeded.
func ForgiveOperatorAttempt(tx *db.Tx, keys *keyring.Ring, network string) error {
	return forgive(tx, operatorCounters(keys, network), 0)
}

// siteOf returns the IPv6 network of a site, /48, that a client's network belongs to; "" for IPv4.
func siteOf(network string) string {
	p, err := netip.ParsePrefix(network)
	if err != nil || !p.Addr().Is6() || p.Bits() < siteBits {
		return ""
	}
	return netip.PrefixFrom(p.Addr(), siteBits).Masked().String()
}

const siteBits = 48

// countAttempt counts an attempt as failed before it is checked, so that attempts at the same time do not all pass, and a crash forgets none. It
// refuses the attempt, and counts nothing, while a pause lasts.
func countAttempt(tx *db.Tx, counters []counter) error {
	if err := loadTallies(tx, counters); err != nil {
		return err
	}
	var wait time.Duration
	for _, c := range counters {
		wait = max(wait, c.wait(tx.Now()))
	}
	if wait > 0 {
		return fault.New(fault.Exhausted, fault.TooManyAttempts, "too many attempts failed; try again later").Retry(wait)
	}
	for i, c := range counters {
		counters[i].tally = c.fail(tx.Now())
	}
	return storeTallies(tx, counters)
}

// forgive takes back the count of an attempt that succeeded. The first account counters, those of the account, start at zero again. Those of
// the network lose this attempt alone, so that a guesser's own account does not reset them.
func forgive(tx *db.Tx, counters []counter, account int) error {
	if err := loadTallies(tx, counters); err != nil {
		return err
	}
	for i := range counters {
		counters[i].count = max(counters[i].count-1, 0)
		if i < account {
			counters[i].count = 0
		}
	}
	return storeTallies(tx, slices.DeleteFunc(slices.Clone(counters), func(c counter) bool { return c.began.IsZero() }))
}

// loadTallies sets the tally of each counter to what is stored for its present period, and leaves a counter without stored failures at zero.
func loadTallies(tx *db.Tx, counters []counter) error {
	ids := make([]string, len(counters))
	for i, c := range counters {
		ids[i] = c.id
		counters[i].began, counters[i].last, counters[i].count = time.Time{}, time.Time{}, 0
	}
	rows, err := tx.SignInAttempts.Query().Where(signinattempts.IDIn(ids...)).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load failed attempts: %w", err)
	}
	for _, row := range rows {
		c := &counters[slices.Index(ids, row.ID)]
		if tx.Now().Before(row.BeganAt.Add(c.within)) {
			c.began, c.last, c.count = row.BeganAt, row.LastAt, row.Count
		}
	}
	return nil
}

// storeTallies stores counts in the order of their ids, so that two attempts lock the rows in the same order.
func storeTallies(tx *db.Tx, counters []counter) error {
	if len(counters) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(counters), func(a, b counter) int { return strings.Compare(a.id, b.id) })
	insert := entsql.Insert(signinattempts.Table).
		Columns(signinattempts.FieldID, signinattempts.FieldBeganAt, signinattempts.FieldLastAt, signinattempts.FieldCount).
		OnConflict(entsql.ConflictColumns(signinattempts.FieldID), entsql.ResolveWithNewValues())
	for _, c := range sorted {
		insert.Values(c.id, c.began, c.last, c.count)
	}
	if _, err := tx.Insert(insert); err != nil {
		return fmt.Errorf("count failed attempts: %w", err)
	}
	return nil
}
