package readiness

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entarrival "latchkey.dev/ent/arrival"
	entproperty "latchkey.dev/ent/property"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff"
)

// Look is what was seen of an arrival at a moment.
type Look struct {
	at      time.Time
	before  *ent.Arrival // as it was found
	house   *ent.Property
	row     *ent.Reservation // nil: nobody arrives any more
	minutes int
	verdict Verdict
}

// Due looks at the arrivals whose time it is, at most limit. It changes nothing: see [Store].
func Due(tx *db.Tx, k reservation.Keeper, limit int) ([]*Look, error) {
	due, err := tx.Arrival.Query().Where(entarrival.AgainAtLTE(tx.Now())).Order(entarrival.ByAgainAt()).Limit(limit).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("look for arrivals that are due: %w", err)
	}
	looks, by := make([]*Look, len(due)), make(map[string]*Look, len(due))
	for i, a := range due {
		looks[i] = &Look{at: tx.Now(), before: a}
		by[a.ID] = looks[i]
	}
	return looks, see(tx, k, by)
}

// see judges arrivals by the reservations they are of, property by property.
func see(tx *db.Tx, k reservation.Keeper, looks map[string]*Look) error {
	rows, err := tx.Reservation.Query().Where(entreservation.IDIn(slices.Collect(maps.Keys(looks))...), entreservation.StateIn(reservation.Arriving...)).
		Order(entreservation.ByFromAt(), entreservation.ByID(sql.OrderAsc())).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load arrivals: %w", err)
	}
	by := map[string][]*ent.Reservation{}
	var homes []string
	for _, row := range rows {
		if by[row.PropertyID] == nil {
			homes = append(homes, row.PropertyID)
		}
		by[row.PropertyID] = append(by[row.PropertyID], row)
	}
	houses, err := tx.Property.Query().Where(entproperty.IDIn(homes...)).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load the properties of arrivals: %w", err)
	}
	for _, house := range houses {
		facts, err := Load(tx, k, house, by[house.ID])
		if err != nil {
			return err
		}
		for i, row := range by[house.ID] {
			l, v := looks[row.ID], Judge(facts[i])
			if minutes, ok := moment(l.at, row.FromAt); ok && watched(l.at, row.FromAt, v.Word) {
				l.house, l.row, l.minutes, l.verdict = house, row, minutes, v
			}
		}
	}
	return nil
}

// Store keeps what was seen, and tells staff of an arrival that turned bad; when it is good again, or nobody arrives any
// more, what they were told no longer stands. One that is to be looked at anew since stays as it was: what was seen of it is old.
func (l *Look) Store(tx *db.Tx) error {
	kept, err := l.keep(tx)
	if err != nil {
		return fmt.Errorf("store an arrival: %w", err)
	}
	switch {
	case kept == 0:
		return nil
	case l.row == nil:
		return settle(tx, l.before.ID, Ready)
	default:
		return l.tell(tx)
	}
}

// keep says how many rows it changed, one or none.
func (l *Look) keep(tx *db.Tx) (int, error) {
	asFound := entarrival.And(entarrival.ID(l.before.ID), entarrival.PropertyID(l.before.PropertyID), entarrival.AgainAt(*l.before.AgainAt))
	if l.row == nil {
		return tx.Arrival.Delete().Where(asFound).Exec(tx.Context())
	}
	at := next(l.at, l.row.FromAt, l.verdict.Word, l.waited(), rand.N(sooner))
	return tx.Arrival.Update().Where(asFound).SetFromAt(l.row.FromAt).SetMinutes(l.minutes).SetVerdict(string(l.verdict.Word)).
		SetJudgedAt(l.at).SetAgainAt(at).Save(tx.Context())
}

// waited is how long this look was put off after the one before; zero where the verdict has turned.
func (l *Look) waited() time.Duration {
	if l.before.Verdict != string(l.verdict.Word) {
		return 0
	}
	return l.before.AgainAt.Sub(l.before.JudgedAt)
}

// tell notifies staff once of what is wrong with this arrival, and settles what no longer is.
func (l *Look) tell(tx *db.Tx) error {
	own := l.verdict.own()
	word := own.Word
	if word == Ready && Word(l.before.Verdict) == Ready {
		return nil
	}
	if err := settle(tx, l.row.ID, word); err != nil || word == Ready {
		return err
	}
	zone, err := clock.Zone(l.house.TimeZone)
	if err != nil {
		return fmt.Errorf("property %s: %w", l.house.ID, err)
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: l.row.PropertyID, Kind: kinds[word], Subject: l.row.ID, OnceKey: onceKey(l.row.ID, word),
		Text: notice(l.row.PmsNumber, l.row.FromAt, zone, own),
	})
}

// kinds are those of the notices.
var kinds = map[Word]string{AtRisk: "arrivalAtRisk", NotReady: "arrivalNotReady"}

func onceKey(reservationID string, w Word) string { return reservationID + "/" + kinds[w] }

// settle ends what was told of an arrival, but for what stands.
func settle(tx *db.Tx, reservationID string, stands Word) error {
	for w := range kinds {
		if w == stands {
			continue
		}
		if err := staff.Settle(tx, onceKey(reservationID, w)); err != nil {
			return err
		}
	}
	return nil
}

// settleSoon is how long arrivals wait after a hint: what comes in a burst is looked at once.
const settleSoon = time.Second

// Hint has the arrivals of properties, and these single ones, looked at again soon.
func Hint(tx *db.Tx, propertyIDs, reservationIDs []string) error {
	at := tx.Now().Add(settleSoon)
	err := tx.Arrival.Update().Where(entarrival.AgainAtGT(at), entarrival.Or(entarrival.PropertyIDIn(propertyIDs...), entarrival.IDIn(reservationIDs...))).
		SetAgainAt(at).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("have arrivals looked at: %w", err)
	}
	return nil
}
