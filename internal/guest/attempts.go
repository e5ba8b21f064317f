package guest

import (
	"encoding/hex"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entattempts "latchkey.dev/ent/attempts"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// attemptLimit is how many searches may fail within a time that begins with the first.
type attemptLimit struct {
	failures int
	within   time.Duration
}

// Limits of failed searches. Kiosks and QR codes count apart: guesses from afar must not close the tablet in the lobby.
var (
	kioskLimit    = attemptLimit{10, 10 * time.Minute}
	addressLimit  = attemptLimit{10, 10 * time.Minute}
	numberLimit   = attemptLimit{5, 15 * time.Minute}
	propertyLimit = attemptLimit{100, time.Hour}
)

// counter counts the failed searches of one kiosk, address, number or property.
type counter struct {
	id    string
	limit attemptLimit
}

// countersOf returns what a search is counted against.
func (q Search) countersOf(keys *keyring.Ring) []counter {
	of := func(kind, value string, limit attemptLimit) counter {
		return counter{hex.EncodeToString(keys.MAC("attempts", q.PropertyID, q.origin(), kind, value)), limit}
	}
	all := []counter{of("number", foldNumber(q.Number), numberLimit), of("property", "", propertyLimit)}
	if q.KioskID != "" {
		return append(all, of("kiosk", q.KioskID, kioskLimit))
	}
	return append(all, of("address", q.Address, addressLimit))
}

func (q Search) origin() string {
	if q.KioskID != "" {
		return "kiosk"
	}
	return OriginDoor
}

// retryAfter returns how long the caller has to wait before another search; 0: none.
func retryAfter(tx *db.Tx, propertyID string, counters []counter) (wait time.Duration, err error) {
	for _, c := range counters {
		row, err := loadAttempts(tx, propertyID, c)
		if err != nil {
			return 0, err
		}
		if row != nil && row.Count >= c.limit.failures {
			wait = max(wait, row.BeganAt.Add(c.limit.within).Sub(tx.Now()))
		}
	}
	return wait, nil
}

// loadAttempts returns the count of the present period, or nil if there is none.
func loadAttempts(tx *db.Tx, propertyID string, c counter) (*ent.Attempts, error) {
	row, err := tx.Attempts.Query().Where(entattempts.PropertyID(propertyID), entattempts.ID(c.id)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load failed searches: %w", err)
	}
	if !tx.Now().Before(row.BeganAt.Add(c.limit.within)) {
		return nil, nil
	}
	return row, nil
}

// recordFailure counts a failed search, in the database so that a restart forgets nothing. Staff are notified once in each period
// whose limit is reached.
func (q Search) recordFailure(tx *db.Tx, counters []counter) error {
	reached := false
	for _, c := range counters {
		row, err := loadAttempts(tx, q.PropertyID, c)
		if err != nil {
			return err
		}
		count := 1
		if row == nil {
			_, err = tx.Attempts.Delete().Where(entattempts.PropertyID(q.PropertyID), entattempts.ID(c.id)).Exec(tx.Context())
			if err == nil {
				err = tx.Attempts.Create().SetID(c.id).SetPropertyID(q.PropertyID).SetBeganAt(tx.Now()).SetCount(1).Exec(tx.Context())
			}
		} else {
			count = row.Count + 1
			err = tx.Attempts.Update().Where(entattempts.PropertyID(q.PropertyID), entattempts.ID(c.id)).SetCount(count).Exec(tx.Context())
		}
		if err != nil {
			return fmt.Errorf("count a failed search: %w", err)
		}
		reached = reached || count == c.limit.failures
	}
	if !reached {
		return nil
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: q.PropertyID, Kind: "searchesFailed", Subject: q.KioskID,
		Params: message.Params{"place": q.Place, "at": tx.Now(), "number": shownNumber(q.Number)},
	})
}

func tooManyAttempts(wait time.Duration) error {
	return fault.New(fault.Exhausted, fault.TooManyAttempts, "too many searches failed; wait %d minutes or ask the desk", int(wait/time.Minute)+1).Retry(wait)
}
