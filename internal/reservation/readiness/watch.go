package readiness

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entarrival "latchkey.dev/ent/arrival"
	"latchkey.dev/ent/predicate"
	entproperty "latchkey.dev/ent/property"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff"
)

// Look is what was seen of an arrival at a moment.
type Look struct {
	ID, PropertyID string
	at             time.Time
	house          *ent.Property
	row            *ent.Reservation // nil: nobody arrives any more
	minutes        int
	verdict        Verdict
	before         *ent.Arrival // nil: it was never looked at
}

// Due looks at the arrivals whose time it is, at most limit of each kind: those that came within [Horizon], those that the
// PMS changed since, and those that are to be looked at again. It changes nothing: see [Store].
func Due(tx *db.Tx, k reservation.Keeper, limit int) ([]Look, error) {
	known, err := tx.Arrival.Query().Where(entarrival.AgainAtLTE(tx.Now())).Order(entarrival.ByAgainAt()).Limit(limit).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("look for arrivals that are due: %w", err)
	}
	fresh, err := tx.Reservation.Query().Where(comes(tx.Now()), predicate.Reservation(unseen)).
		Order(entreservation.ByFromAt()).Limit(limit).IDs(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("look for arrivals that are new: %w", err)
	}
	looks, ids := map[string]*Look{}, fresh
	for _, a := range known {
		ids = append(ids, a.ID)
		looks[a.ID] = &Look{ID: a.ID, PropertyID: a.PropertyID, at: tx.Now(), before: a}
	}
	changed, err := tx.Arrival.Query().Where(entarrival.IDIn(fresh...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load arrivals: %w", err)
	}
	for _, a := range changed {
		looks[a.ID] = &Look{ID: a.ID, PropertyID: a.PropertyID, at: tx.Now(), before: a}
	}
	if err := see(tx, k, ids, looks); err != nil {
		return nil, err
	}
	out := make([]Look, 0, len(looks))
	for _, l := range looks {
		out = append(out, *l)
	}
	return out, nil
}

// comes picks the reservations whose guests come within the horizon.
func comes(now time.Time) predicate.Reservation {
	return entreservation.And(entreservation.FromAtGT(now), entreservation.FromAtLTE(now.Add(Horizon)), entreservation.StateIn(arriving...))
}

// unseen picks those that were not looked at since the PMS last changed them.
func unseen(s *sql.Selector) {
	a := sql.Table(entarrival.Table)
	s.Where(sql.NotExists(sql.Select(a.C(entarrival.FieldID)).From(a).Where(sql.And(
		sql.ColumnsEQ(a.C(entarrival.FieldID), s.C(entreservation.FieldID)),
		sql.ColumnsGTE(a.C(entarrival.FieldJudgedAt), s.C(entreservation.FieldUpdatedAt)),
	))))
}

// see judges reservations, property by property.
func see(tx *db.Tx, k reservation.Keeper, ids []string, looks map[string]*Look) error {
	rows, err := tx.Reservation.Query().Where(entreservation.IDIn(ids...), entreservation.StateIn(arriving...)).
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
			l := looks[row.ID]
			if l == nil {
				l = &Look{ID: row.ID, PropertyID: row.PropertyID, at: tx.Now()}
				looks[row.ID] = l
			}
			v := Judge(facts[i])
			if minutes, ok := moment(l.at, row.FromAt); ok && watched(l.at, row.FromAt, v.Word) {
				l.house, l.row, l.minutes, l.verdict = house, row, minutes, v
			}
		}
	}
	return nil
}

// Store keeps what was seen, and tells staff of an arrival that turned bad; when it is good again, or nobody arrives any
// more, what they were told no longer stands.
func Store(tx *db.Tx, l Look) error {
	if l.row == nil {
		if err := settle(tx, l.ID, Ready); err != nil {
			return err
		}
		_, err := tx.Arrival.Delete().Where(entarrival.ID(l.ID), entarrival.PropertyID(l.PropertyID)).Exec(tx.Context())
		if err != nil {
			return fmt.Errorf("forget an arrival: %w", err)
		}
		return nil
	}
	if err := l.tell(tx); err != nil {
		return err
	}
	err := tx.Arrival.Create().SetID(l.ID).SetPropertyID(l.PropertyID).SetFromAt(l.row.FromAt).SetMinutes(l.minutes).
		SetVerdict(string(l.verdict.Word)).SetJudgedAt(l.at).SetAgainAt(next(l.at, l.row.FromAt, l.verdict.Word, l.waited())).
		OnConflictColumns(entarrival.FieldID).UpdateNewValues().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store an arrival: %w", err)
	}
	return nil
}

// waited is how long this look was put off after the one before; zero where the verdict has turned.
func (l Look) waited() time.Duration {
	if l.before == nil || l.before.AgainAt == nil || l.before.Verdict != string(l.verdict.Word) {
		return 0
	}
	return l.before.AgainAt.Sub(l.before.JudgedAt)
}

// tell tells staff if the verdict has turned.
func (l Look) tell(tx *db.Tx) error {
	was := Ready
	if l.before != nil {
		was = Word(l.before.Verdict)
	}
	word := l.verdict.Word
	if was == word {
		return nil
	}
	if err := settle(tx, l.ID, word); err != nil || word == Ready {
		return err
	}
	zone, err := clock.Zone(l.house.TimeZone)
	if err != nil {
		return fmt.Errorf("property %s: %w", l.house.ID, err)
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: l.PropertyID, Kind: kinds[word], Subject: l.ID, OnceKey: onceKey(l.ID, word),
		Text: notice(l.row.PmsNumber, l.row.FromAt, zone, l.verdict),
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
