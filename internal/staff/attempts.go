package staff

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent/signinattempts"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/throttle"
)

// newCounter returns a counter without failures for a limit. what says whose attempts it counts, such as an address and a network; the
// counter's id is a keyed hash of it.
func newCounter(keys *keyring.Ring, l throttle.Limit, what ...string) throttle.Counter {
	return throttle.Counter{Limit: l, ID: hex.EncodeToString(keys.MAC("signInAttempts", append([]string{l.Name}, what...)...))}
}

// passwordCounters returns the counters that limit attempts with a mail address from a network. email is in the form of [text.FoldAddress], and
// network is a prefix such as 192.0.2.7/32. The first two counters count by address, the others by network only.
func passwordCounters(keys *keyring.Ring, email, network string) []throttle.Counter {
	return append([]throttle.Counter{newCounter(keys, addressAtNetwork, email, network), newCounter(keys, addressAnywhere, email)}, networkCounters(keys, network)...)
}

// countPasswordAttempt counts an attempt with a mail address from a network as failed. While a pause after too many failures lasts, it
// refuses the attempt as [countAttempt] does, and counts nothing. On a network from which the person has signed in lately, failures from
// other networks do not delay the attempt. email and network are as in [passwordCounters].
func countPasswordAttempt(tx *db.Tx, keys *keyring.Ring, email, network string) error {
	counters := passwordCounters(keys, email, network)
	known, err := loadKnownNetwork(tx, keys, email, network)
	if err != nil {
		return err
	}
	if known.Count > 0 {
		counters[1].Limit = throttle.Within(addressAnywhere.Name, addressAnywhere.Period)
	}
	return countAttempt(tx, counters)
}

// loadKnownNetwork returns a counter with the count 1 if the person with a mail address has signed in from a network within the period of
// knownNetwork, else with the count 0. email and network are as in [passwordCounters].
func loadKnownNetwork(tx *db.Tx, keys *keyring.Ring, email, network string) (throttle.Counter, error) {
	one := []throttle.Counter{newCounter(keys, knownNetwork, email, network)}
	err := loadCounters(tx, one)
	return one[0], err
}

// forgivePasswordAttempt takes back an attempt that succeeded, and stores that the network is known. It also sets the earlier failures with
// the address to zero, on this network and on all networks together. If the network was known before, those on all networks still count: a
// guesser could otherwise wait for the person's next sign-in. email and network are as in [passwordCounters].
func forgivePasswordAttempt(tx *db.Tx, keys *keyring.Ring, email, network string) error {
	known, err := loadKnownNetwork(tx, keys, email, network)
	if err != nil {
		return err
	}
	account := 2
	if known.Count > 0 {
		account = 1
	}
	if err := takeBackAttempt(tx, passwordCounters(keys, email, network), account); err != nil {
		return err
	}
	known.Began, known.Count = tx.Now(), 1
	known.Last = known.Began.Add(known.Period - longestPeriod) // in the future: DeleteExpired adds longestPeriod, and so keeps the counter for its period
	return storeCounters(tx, []throttle.Counter{known})
}

// networkCounters returns the counters of all attempts from a network and, for IPv6, from its site, whether or not they name an address.
func networkCounters(keys *keyring.Ring, network string) []throttle.Counter {
	all := []throttle.Counter{newCounter(keys, atNetwork, network)}
	if site := throttle.SiteOf(network); site != "" {
		all = append(all, newCounter(keys, atSite, site))
	}
	return all
}

// operatorCounters returns the counters of attempts from a network, and from its site, to sign in as an operator.
func operatorCounters(keys *keyring.Ring, network string) []throttle.Counter {
	all := []throttle.Counter{newCounter(keys, operatorAtNetwork, network)}
	if site := throttle.SiteOf(network); site != "" {
		all = append(all, newCounter(keys, operatorAtSite, site))
	}
	return all
}

// CountOperatorAttempt counts an attempt to sign in as an operator from a network as failed, or refuses it as [countAttempt] does. A
// correct attempt must be taken back with [ForgiveOperatorAttempt].
func CountOperatorAttempt(tx *db.Tx, keys *keyring.Ring, network string) error {
	return countAttempt(tx, operatorCounters(keys, network))
}

// ForgiveOperatorAttempt takes back the count of an attempt that succeeded. Earlier failures still count.
func ForgiveOperatorAttempt(tx *db.Tx, keys *keyring.Ring, network string) error {
	return takeBackAttempt(tx, operatorCounters(keys, network), 0)
}

// countAttempt counts an attempt as failed before it is checked, so that attempts at the same time do not all pass, and a crash forgets
// none. While a pause lasts, it counts nothing and returns a fault Exhausted with the wait.
func countAttempt(tx *db.Tx, counters []throttle.Counter) error {
	if err := loadCounters(tx, counters); err != nil {
		return err
	}
	if wait := throttle.LongestWait(counters, tx.Now()); wait > 0 {
		return fault.New(fault.Exhausted, fault.TooManyAttempts, "too many attempts failed; try again later").Retry(wait)
	}
	for i, c := range counters {
		counters[i] = c.WithFailure(tx.Now())
	}
	return storeCounters(tx, counters)
}

// takeBackAttempt takes back the count of an attempt that succeeded. account is how many of the counters, from the first, belong to the
// account: it sets these to zero. The others, of the network, lose only this attempt: a guesser cannot reset them by signing in to an own
// account.
func takeBackAttempt(tx *db.Tx, counters []throttle.Counter, account int) error {
	if err := loadCounters(tx, counters); err != nil {
		return err
	}
	for i := range counters {
		counters[i].Count = max(counters[i].Count-1, 0)
		if i < account {
			counters[i].Count = 0
		}
	}
	return storeCounters(tx, slices.DeleteFunc(slices.Clone(counters), func(c throttle.Counter) bool { return c.Began.IsZero() }))
}

// loadCounters sets the count and times of each counter, in place, to what is stored for its present period, or to zero.
func loadCounters(tx *db.Tx, counters []throttle.Counter) error {
	rows, err := tx.SignInAttempts.Query().Where(signinattempts.IDIn(throttle.IDs(counters)...)).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load failed attempts: %w", err)
	}
	stored := make([]throttle.Counter, len(rows))
	for i, r := range rows {
		stored[i] = throttle.Counter{ID: r.ID, Began: r.BeganAt, Last: r.LastAt, Count: r.Count}
	}
	throttle.Restore(counters, stored, tx.Now())
	return nil
}

// storeCounters inserts the rows of counters, or replaces the stored ones.
func storeCounters(tx *db.Tx, counters []throttle.Counter) error {
	if len(counters) == 0 {
		return nil
	}
	insert := entsql.Insert(signinattempts.Table).
		Columns(signinattempts.FieldID, signinattempts.FieldBeganAt, signinattempts.FieldLastAt, signinattempts.FieldCount).
		OnConflict(entsql.ConflictColumns(signinattempts.FieldID), entsql.ResolveWithNewValues())
	for _, c := range throttle.InOrder(counters) {
		insert.Values(c.ID, c.Began, c.Last, c.Count)
	}
	if _, err := tx.Insert(insert); err != nil {
		return fmt.Errorf("count failed attempts: %w", err)
	}
	return nil
}

// Limits of failed attempts to sign in. A network is an IPv4 address or an IPv6 /64. A site is an IPv6 /48, because a rented server often
// has one. A guesser who tries as soon as each pause is over has, within a day, fewer than 50 attempts on one address from one network, and
// fewer than 300 from all networks together, not counting those from which the person has signed in (TestGuesses).
var (
	addressAtNetwork = throttle.Within("addressAtNetwork", 24*time.Hour).After(5, time.Minute).After(10, 15*time.Minute).After(20, time.Hour)
	addressAnywhere  = throttle.Within("address", 24*time.Hour).After(30, time.Minute).After(100, 10*time.Minute)
	// knownNetwork remembers for 30 days that a person signed in from a network. Failures from other networks do not delay the person
	// there, so that a guesser cannot lock a person out.
	knownNetwork = throttle.Within("knownNetwork", 30*24*time.Hour)
	atNetwork    = throttle.Within("network", time.Hour).After(20, time.Minute).After(50, 5*time.Minute)
	atSite       = throttle.Within("site", time.Hour).After(40, time.Minute).After(100, 5*time.Minute)
	// operatorAtNetwork and operatorAtSite slow guesses of operator tokens, which have 160 random bits.
	operatorAtNetwork = throttle.Within("operatorAtNetwork", time.Hour).After(20, time.Minute).After(50, 5*time.Minute)
	operatorAtSite    = throttle.Within("operatorAtSite", time.Hour).After(40, time.Minute).After(100, 5*time.Minute)
	// secondFactor slows guesses of a person's codes: a random code is right with a chance of one in 300,000.
	secondFactor = throttle.Within("secondFactor", 24*time.Hour).After(5, time.Minute).After(10, 15*time.Minute).After(20, time.Hour)
)

// longestPeriod is how long a count of failures is needed at most.
const longestPeriod = 24 * time.Hour
