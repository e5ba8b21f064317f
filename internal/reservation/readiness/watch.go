package readiness

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entarrival "latchkey.dev/ent/arrival"
	entproperty "latchkey.dev/ent/property"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/watch"
)

// Check is the result of one check of an arrival, before it is stored.
type Check struct {
	at       time.Time
	before   *ent.Arrival // before is the row of the arrival that was due, as the check found it; never nil
	property *ent.Property
	row      *ent.Reservation // row is nil if the guest no longer arrives, or if the time of the checks is over
	minutes  int              // minutes is the last checkpoint that has passed, in minutes before the start, also after the start; 0 only if row is nil
	verdict  Verdict
}

// Due is the result of [CheckDue].
type Due struct {
	Checks []*Check
	Failed map[string]error // Failed has, by id, the properties whose arrivals could not be checked; their arrivals are not in Checks
}

// CheckDue checks up to limit arrivals of all properties, except those in without, whose next check is due. It returns a result for each,
// also if the guest no longer arrives. It stores nothing, so that a reader can run it; [Check.Store] stores a result.
func CheckDue(tx *db.Tx, svc reservation.Service, limit int, without []string) (Due, error) {
	arrivals, err := tx.Arrival.Query().Where(entarrival.AgainAtLTE(tx.Now()), entarrival.PropertyIDNotIn(without...)).
		Order(entarrival.ByAgainAt()).Limit(limit).All(tx.Context())
	if err != nil {
		return Due{}, fmt.Errorf("find arrivals that are due: %w", err)
	}
	checks, by := make([]*Check, len(arrivals)), make(map[string]*Check, len(arrivals))
	for i, a := range arrivals {
		checks[i] = &Check{at: tx.Now(), before: a}
		by[a.ID] = checks[i]
	}
	failed, err := judgeAll(tx, svc, by)
	checks = slices.DeleteFunc(checks, func(l *Check) bool { return failed[l.before.PropertyID] != nil })
	return Due{checks, failed}, err
}

// judgeAll completes checks with the verdicts of their arrivals, which it loads property by property. checks has the checks by reservation
// id. A check keeps a nil row if the guest no longer arrives or the time of the checks is over. failed has, by id, the properties whose
// arrivals could not be loaded, such as one with an unknown time zone: they do not stop the others.
func judgeAll(tx *db.Tx, svc reservation.Service, checks map[string]*Check) (failed map[string]error, err error) {
	rows, err := tx.Reservation.Query().Where(entreservation.IDIn(slices.Collect(maps.Keys(checks))...), entreservation.StateIn(reservation.Arriving...)).
		Order(entreservation.ByFromAt(), entreservation.ByID(sql.OrderAsc())).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load arrivals: %w", err)
	}
	by := map[string][]*ent.Reservation{}
	var propertyIDs []string
	for _, row := range rows {
		if by[row.PropertyID] == nil {
			propertyIDs = append(propertyIDs, row.PropertyID)
		}
		by[row.PropertyID] = append(by[row.PropertyID], row)
	}
	properties, err := tx.Property.Query().Where(entproperty.IDIn(propertyIDs...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the properties of arrivals: %w", err)
	}
	failed = map[string]error{}
	for _, property := range properties {
		facts, err := Load(tx, svc, property, by[property.ID])
		switch {
		case tx.Context().Err() != nil:
			return nil, err
		case err != nil:
			failed[property.ID] = err
			continue
		}
		for i, row := range by[property.ID] {
			l, v := checks[row.ID], Judge(facts[i])
			if minutes, ok := lastCheckpoint(l.at, row.FromAt); ok && needsChecks(l.at, row.FromAt) {
				l.property, l.row, l.minutes, l.verdict = property, row, minutes, v
			}
		}
	}
	return failed, nil
}

// Store stores a check. It notifies staff when an arrival becomes at risk or not ready, and resolves the notice when the arrival is ready
// again or the guest no longer arrives. It stores nothing if the arrival became due again meanwhile, because the check is then outdated.
func (l *Check) Store(tx *db.Tx) error {
	kept, err := l.storeArrival(tx)
	if err != nil {
		return fmt.Errorf("store an arrival: %w", err)
	}
	switch {
	case kept == 0:
		return nil
	case l.row == nil:
		return resolveNotices(tx, l.before.PropertyID, l.before.ID, Ready)
	default:
		return l.notify(tx)
	}
}

// storeArrival stores the verdict and the time of the next check, or deletes the arrival if the guest no longer arrives. It notifies the
// streams of staff if the status changed. It returns the number of changed rows, which is 0 if the arrival became due again meanwhile.
func (l *Check) storeArrival(tx *db.Tx) (int, error) {
	asFound := entarrival.And(entarrival.ID(l.before.ID), entarrival.PropertyID(l.before.PropertyID), entarrival.AgainAt(*l.before.AgainAt))
	if l.row == nil {
		return tx.Arrival.Delete().Where(asFound).Exec(tx.Context())
	}
	if l.before.Verdict != string(l.verdict.Status) {
		watch.Notify(tx, l.before.PropertyID, watch.Reservations, l.before.ID)
	}
	at := nextCheck(l.at, l.row.FromAt, l.verdict.Status, l.previousWait(), clock.FullJitter(recheckJitter))
	return tx.Arrival.Update().Where(asFound).SetFromAt(l.row.FromAt).SetMinutes(l.minutes).SetVerdict(string(l.verdict.Status)).
		SetJudgedAt(l.at).SetAgainAt(at).Save(tx.Context())
}

// previousWait returns the planned wait between the previous check and this one, or zero if the status has changed.
func (l *Check) previousWait() time.Duration {
	if l.before.Verdict != string(l.verdict.Status) {
		return 0
	}
	return l.before.AgainAt.Sub(l.before.JudgedAt)
}

// notify notifies staff once of the arrival's present status with its problems, and resolves the notice of its former status. Further
// problems with the same status cause no notice. It adds none that a guest who has checked in is at risk: the code is on its way to the
// lock, and a late code has a notice of its own.
func (l *Check) notify(tx *db.Tx) error {
	own := l.verdict.withoutEndpoints()
	status := own.Status
	if status == Ready && Status(l.before.Verdict) == Ready {
		return nil
	}
	awaitsCode := status == AtRisk && access.State(l.row.State) == access.Started
	if err := resolveNotices(tx, l.row.PropertyID, l.row.ID, status); err != nil || status == Ready || awaitsCode {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: l.row.PropertyID, Kind: noticeKinds[status], Subject: l.row.ID, OnceKey: onceKey(l.row.ID, status),
		Params: message.Params{"number": l.row.PmsNumber, "from": l.row.FromAt, "fixes": own.listed()},
	})
}

// maxFixesInNotice bounds the fixes that a notice lists; if there are more, a text says so.
const maxFixesInNotice = 4

// listed returns the texts of the problems for a notice: at most maxFixesInNotice, without mere notes, and then a text that there are more.
func (v Verdict) listed() (texts []message.Message) {
	for _, f := range v.Fixes {
		if f.Severity == Note {
			continue
		}
		if len(texts) == maxFixesInNotice {
			return append(texts, message.Message{Kind: "fix.more"})
		}
		problem := f.Message()
		if f.Door != "" {
			problem = message.Message{Kind: "fix.atDoor", Params: message.Params{"door": text.FullName(f.DoorParent, f.Door), "problem": problem}}
		}
		texts = append(texts, problem)
	}
	return texts
}

// noticeKinds has the kind of the notice for each status that needs one.
var noticeKinds = map[Status]notice.Kind{AtRisk: notice.ArrivalAtRisk, NotReady: notice.ArrivalNotReady}

// onceKey returns the deduplication key of the notice about an arrival with a status.
func onceKey(reservationID string, w Status) string { return noticeKinds[w].Key(reservationID) }

// resolveNotices resolves the notices about an arrival, except the notice for its current status. Ready has none, so all are resolved.
func resolveNotices(tx *db.Tx, propertyID, reservationID string, current Status) error {
	for w := range noticeKinds {
		if w == current {
			continue
		}
		if err := notice.Resolve(tx, propertyID, onceKey(reservationID, w)); err != nil {
			return err
		}
	}
	return nil
}

// recheckDelay is the debounce of a recheck: a burst of changes causes one check.
const recheckDelay = time.Second

// RecheckSoon makes all arrivals of some properties, and some single arrivals, due within a second. It is called after changes that can
// affect an arrival. It ignores reservations that are not checked yet, because their arrival is not near.
func RecheckSoon(tx *db.Tx, propertyIDs, reservationIDs []string) error {
	at := tx.Now().Add(recheckDelay)
	err := tx.Arrival.Update().Where(entarrival.AgainAtGT(at), entarrival.Or(entarrival.PropertyIDIn(propertyIDs...), entarrival.IDIn(reservationIDs...))).
		SetAgainAt(at).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("schedule the check of arrivals: %w", err)
	}
	return nil
}
