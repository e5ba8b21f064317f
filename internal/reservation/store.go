package reservation

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
)

// The statements are SQL, because each change of a reservation runs several of them and ent takes several times as long.

// columns are the columns that a PMS may change, in the order of valuesOf. The last ones are in indexes of most reservations, the others at
// most in indexes of some states. SQLite would rewrite the index entries, each on another page, even if the values are unchanged, so update
// omits the indexed columns if all of them are unchanged.
var columns = []string{
	"pms_space_id", "pms_parent_space_id", "pms_companion_ids", "pms_updated_at",
	"booker", "state", "canceled_at", "arrived_at", "from_date", "to_date", "to_at",
	"adult_count", "child_count", "price_minor", "owing_minor", "owing_currency",
	"source_name", "channel_manager", "own_space_id", "space_key", "updated_at",
	"pms_group_id", "channel_number", "folded_number", "folded_channel_number", "pms_number", "from_at",
}

// indexedColumns is the number of columns at the end of columns that are in indexes of most reservations.
const indexedColumns = 6

// canceledSince returns since when a reservation with the new state is canceled, which is now if the state was another before, or nil if it
// is not canceled. former is the stored row, or nil.
func canceledSince(former *ent.Reservation, state access.State, now time.Time) *time.Time {
	switch {
	case state != access.Canceled:
		return nil
	case former != nil && former.State == string(access.Canceled) && former.CanceledAt != nil:
		return former.CanceledAt
	}
	return &now
}

// arrivedSince returns when the guests of a reservation with the new state arrived, which is now if they had not before, or nil if they
// have not. A stay that is canceled after the arrival keeps the time, because the law wants the forms of guests who stayed to be kept.
// former is the stored row, or nil.
func arrivedSince(former *ent.Reservation, state access.State, now time.Time) *time.Time {
	isIn := func(state access.State) bool { return state == access.Started || state == access.Processed }
	switch {
	case former != nil && former.ArrivedAt != nil && (isIn(state) || state == access.Canceled):
		return former.ArrivedAt
	case isIn(state), state == access.Canceled && former != nil && isIn(access.State(former.State)):
		return &now
	}
	return nil
}

// valuesOf returns the values of a record in the order of columns, for an INSERT or UPDATE. booker is the encrypted
// booker. former is the stored row, or nil for a new reservation.
func valuesOf(r Record, booker []byte, former *ent.Reservation, now time.Time) ([]any, error) {
	var companions any
	if len(r.CompanionIDs) > 0 {
		raw, err := json.Marshal(r.CompanionIDs)
		if err != nil {
			return nil, fmt.Errorf("write the companions of a reservation: %w", err)
		}
		companions = raw
	}
	return []any{
		r.SpaceID, r.ParentID, companions, r.PMSUpdatedAt,
		booker, string(r.State), canceledSince(former, r.State, now), arrivedSince(former, r.State, now), r.FromDate, r.ToDate, r.To,
		r.Adults, r.Children, r.Price, r.Owing, r.Currency,
		r.SourceName, r.ChannelManager, r.OwnSpaceID, r.SpaceKey(), now,
		r.GroupID, r.ChannelNumber, folded(&r.Number), folded(r.ChannelNumber), r.Number, r.From,
	}, nil
}

var (
	loadQuery = `SELECT p.time_zone, p.check_in_time, p.check_out_time, p.early_in_minutes, p.late_out_minutes, p.pin_length, p.gates_alone,
			r.id, r.created_at, r.erased_at, r.extended_to, r.plan_due_at, EXISTS (SELECT 1 FROM grants AS g WHERE g.reservation_id = r.id AND g.property_id = r.property_id), r.` + strings.Join(columns, ", r.") + `,
			(SELECT t.pms_updated_at FROM tombstones AS t WHERE r.id IS NULL AND t.mac = $1 AND t.property_id = p.id)
		FROM properties AS p
		LEFT JOIN reservations AS r ON r.property_id = p.id AND r.integration_id = $2 AND r.pms_id = $3
		WHERE p.id = $4`
	insertStatement = `INSERT INTO reservations (` + strings.Join(columns, ", ") + `, id, property_id, integration_id, pms_id, created_at)
		VALUES (` + placeholders(len(columns)+5) + `)`
	updateStatement = updateStatementFor(columns)
	updateInPlace   = updateStatementFor(columns[:len(columns)-indexedColumns])
)

// updateStatementFor returns an UPDATE that finds the row by the same index as loadQuery, because another index would
// be another page to read.
func updateStatementFor(columns []string) string {
	n := len(columns)
	return `UPDATE reservations SET (` + strings.Join(columns, ", ") + `) = (` + placeholders(n) + `)
		WHERE integration_id = $` + strconv.Itoa(n+1) + ` AND pms_id = $` + strconv.Itoa(n+2) + ` AND property_id = $` + strconv.Itoa(n+3)
}

// placeholders returns the SQL parameters "$1, $2" and so on up to n.
func placeholders(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(all, ", ")
}

// Settings are the stored settings of a property on which the plan of a reservation depends.
type Settings struct {
	access.Settings
	CheckIn, CheckOut string // CheckIn and CheckOut are HH:MM in the property's time zone and complete a day of arrival or departure
}

// settingsOf returns the stored settings of a property on which the plan of a reservation depends.
func settingsOf(p *ent.Property) Settings {
	return Settings{access.SettingsOf(p), p.CheckInTime, p.CheckOutTime}
}

// rules converts stored settings into the access rules, and the hours that complete a day of arrival or departure. It
// fails if the time zone is unknown.
func (s Settings) rules() (access.Rules, Hours, error) {
	r, err := s.Rules()
	return r, Hours{Zone: r.Zone, CheckIn: s.CheckIn, CheckOut: s.CheckOut}, err
}

// loadRules loads the access rules of a property, and the hours that complete a day of arrival or departure.
func loadRules(tx *db.Tx, propertyID string) (access.Rules, Hours, error) {
	p, err := tx.Property.Get(tx.Context(), propertyID)
	if err != nil {
		return access.Rules{}, Hours{}, fmt.Errorf("load the property: %w", err)
	}
	return settingsOf(p).rules()
}

// current is the stored state before a change.
type current struct {
	settings Settings
	row      *ent.Reservation // row is nil if there is none
	removed  *time.Time       // removed is the last pmsMeta.updatedAt of a removed reservation with this id, if there is no row
	granted  bool             // granted means that the reservation has or had access; without it, no query of its grants is needed
}

// loadCurrent loads the settings of a property and a reservation by its PMS id, or the reservation's tombstone. An empty id loads the
// settings only. A missing reservation is no error, but a missing property is.
func (svc Service) loadCurrent(tx *db.Tx, s Scope, pmsID string) (current, error) {
	r := &ent.Reservation{PropertyID: s.PropertyID, IntegrationID: s.IntegrationID, PmsID: pmsID}
	p := Settings{Settings: access.Settings{PropertyID: s.PropertyID}}
	var rowID, number, state, spaceKey sql.NullString
	var created, updated, from, to sql.NullTime
	var granted bool
	var companions []byte
	var removed *time.Time
	found, err := tx.ReadOne(loadQuery, []any{svc.tombstoneMAC(s, pmsID), s.IntegrationID, pmsID, s.PropertyID},
		&p.TimeZone, &p.CheckIn, &p.CheckOut, &p.EarlyInMinutes, &p.LateOutMinutes, &p.PINLength, &p.GatesAlone,
		&rowID, &created, &r.ErasedAt, &r.ExtendedTo, &r.PlanDueAt, &granted,
		&r.PmsSpaceID, &r.PmsParentSpaceID, &companions, &r.PmsUpdatedAt,
		&r.Booker, &state, &r.CanceledAt, &r.ArrivedAt, &r.FromDate, &r.ToDate, &to,
		&r.AdultCount, &r.ChildCount, &r.PriceMinor, &r.OwingMinor, &r.OwingCurrency,
		&r.SourceName, &r.ChannelManager, &r.OwnSpaceID, &spaceKey, &updated,
		&r.PmsGroupID, &r.ChannelNumber, &r.FoldedNumber, &r.FoldedChannelNumber, &number, &from, &removed)
	if err == nil && !found {
		err = fmt.Errorf("no property %s", s.PropertyID)
	}
	if err != nil {
		return current{}, fmt.Errorf("load a reservation: %w", err)
	}
	if !rowID.Valid {
		return current{settings: p, removed: removed}, nil
	}
	r.ID, r.PmsNumber, r.State, r.SpaceKey = rowID.String, number.String, state.String, spaceKey.String
	r.CreatedAt, r.UpdatedAt, r.FromAt, r.ToAt = created.Time, updated.Time, from.Time, to.Time
	if len(companions) > 0 {
		if err := json.Unmarshal(companions, &r.PmsCompanionIds); err != nil {
			return current{}, fmt.Errorf("load a reservation: its companions: %w", err)
		}
	}
	return current{settings: p, row: r, granted: granted}, nil
}

// recordOf converts a row to a record, without the booker. Times are in UTC, so that equal records compare equal.
func recordOf(r *ent.Reservation) Record {
	out := Record{
		PMSID: r.PmsID, GroupID: r.PmsGroupID, SpaceID: r.PmsSpaceID, ParentID: r.PmsParentSpaceID,
		CompanionIDs: r.PmsCompanionIds, Number: r.PmsNumber,
		State: access.State(r.State), FromDate: r.FromDate, ToDate: r.ToDate, From: r.FromAt.UTC(), To: r.ToAt.UTC(),
		Adults: r.AdultCount, Children: r.ChildCount, Price: r.PriceMinor, Owing: r.OwingMinor, Currency: r.OwingCurrency,
		SourceName: r.SourceName, ChannelManager: r.ChannelManager, ChannelNumber: r.ChannelNumber, OwnSpaceID: r.OwnSpaceID,
		ErasedAt: r.ErasedAt,
	}
	if r.PmsUpdatedAt != nil {
		at := r.PmsUpdatedAt.UTC()
		out.PMSUpdatedAt = &at
	}
	return out
}

// rowOf returns a copy of row, the row before the change, with the values of a record. They equal what a statement with [valuesOf] stores,
// so that the row need not be read again. The copy also has the record's ErasedAt, which that statement does not store: the caller stores
// it. booker is the encrypted booker.
func rowOf(row *ent.Reservation, r Record, booker []byte, now time.Time) *ent.Reservation {
	out := *row
	out.CanceledAt, out.ArrivedAt = canceledSince(row, r.State, now), arrivedSince(row, r.State, now)
	out.PmsGroupID, out.PmsSpaceID, out.PmsParentSpaceID, out.PmsCompanionIds = r.GroupID, r.SpaceID, r.ParentID, r.CompanionIDs
	out.PmsUpdatedAt, out.PmsNumber, out.State = r.PMSUpdatedAt, r.Number, string(r.State)
	out.Booker = booker
	out.FromDate, out.ToDate, out.FromAt, out.ToAt = r.FromDate, r.ToDate, r.From, r.To
	out.AdultCount, out.ChildCount = r.Adults, r.Children
	out.PriceMinor, out.OwingMinor, out.OwingCurrency = r.Price, r.Owing, r.Currency
	out.SourceName, out.ChannelManager, out.ChannelNumber = r.SourceName, r.ChannelManager, r.ChannelNumber
	out.FoldedNumber, out.FoldedChannelNumber = folded(&r.Number), folded(r.ChannelNumber)
	out.OwnSpaceID, out.SpaceKey, out.UpdatedAt, out.ErasedAt = r.OwnSpaceID, r.SpaceKey(), now, r.ErasedAt
	return &out
}

// create stores a new reservation with its encrypted booker and its name index, appends it to the list of changes, and makes its
// readiness check due if the arrival is near.
func (svc Service) create(tx *db.Tx, s Scope, r Record) (*ent.Reservation, error) {
	row := &ent.Reservation{ID: id.New(id.Reservation), PropertyID: s.PropertyID, IntegrationID: s.IntegrationID, PmsID: r.PMSID, CreatedAt: tx.Now()}
	sealed, err := svc.sealBooker(tx.Context(), row.PropertyID, row.ID, r.Booker)
	if err != nil {
		return nil, err
	}
	values, err := valuesOf(r, sealed, nil, tx.Now())
	if err != nil {
		return nil, err
	}
	values = append(values, row.ID, row.PropertyID, row.IntegrationID, row.PmsID, row.CreatedAt)
	if err := execOne(tx, insertStatement, values); err != nil {
		return nil, err
	}
	row = rowOf(row, r, sealed, tx.Now())
	if err := svc.indexNames(tx, row, r.Booker, nil); err != nil {
		return nil, err
	}
	return row, recordChange(tx, row, nil)
}

// update stores a changed record, appends it to the list of changes, and makes the check of a near arrival due. It returns the new row.
// held is the record before the change, r the record after it. It encrypts and indexes the booker only if the booker changed. Depending on
// the change, it also ends an extension of access, ends links at the booker's former address, reopens official forms and resolves notices
// that the removal is blocked. For a new stay with the id of an erased one, r without ErasedAt, it calls beginAgain.
func (svc Service) update(tx *db.Tx, row *ent.Reservation, held, r Record) (*ent.Reservation, error) {
	before, sealed, rebooked := row, row.Booker, !r.Booker.equal(held.Booker)
	if rebooked {
		var err error
		if sealed, err = svc.sealBooker(tx.Context(), row.PropertyID, row.ID, r.Booker); err != nil {
			return nil, err
		}
	}
	values, err := valuesOf(r, sealed, row, tx.Now())
	if err != nil {
		return nil, err
	}
	statement := updateStatement
	if keepsIndexedColumns(before, r) {
		statement, values = updateInPlace, values[:len(values)-indexedColumns]
	}
	if err := execOne(tx, statement, append(values, row.IntegrationID, row.PmsID, row.PropertyID)); err != nil {
		return nil, err
	}
	row = rowOf(row, r, sealed, tx.Now())
	if endsExtension(before, r) {
		if err := clearExtension(tx, row); err != nil {
			return nil, err
		}
	}
	if r.ErasedAt == nil && held.ErasedAt != nil {
		if err := svc.beginAgain(tx, row); err != nil {
			return nil, err
		}
	}
	if held.To.Before(r.To) && retentionOver(held.To, tx.Now(), blockNotice) {
		keep, err := svc.keepOf(tx, row.PropertyID)
		if err != nil {
			return nil, err
		}
		if !retentionOver(r.To, tx.Now(), keep+blockNotice) {
			if err := resolveBlockNotices(tx, row.PropertyID, row.ID, ""); err != nil {
				return nil, err
			}
		}
	}
	over := !held.To.After(tx.Now()) || held.State == access.Canceled
	if over && (!r.From.Equal(held.From) || !r.To.Equal(held.To) || r.State != held.State || r.Number != held.Number) {
		if err := reopenForms(tx, row); err != nil {
			return nil, err
		}
	}
	if rebooked {
		if err := svc.indexNames(tx, row, r.Booker, &held.Booker); err != nil {
			return nil, err
		}
		if err := svc.endFormerAddress(tx, row, held.Booker, r.Booker); err != nil {
			return nil, err
		}
	}
	return row, recordChange(tx, row, before)
}

// keepsIndexedColumns reports whether a record has the stored values of the indexed columns.
func keepsIndexedColumns(row *ent.Reservation, r Record) bool {
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	return r.From.Equal(row.FromAt) && r.Number == row.PmsNumber && same(folded(&r.Number), row.FoldedNumber) && same(r.GroupID, row.PmsGroupID) &&
		same(r.ChannelNumber, row.ChannelNumber) && same(folded(r.ChannelNumber), row.FoldedChannelNumber)
}

// reopenForms marks the closed official forms of a stay as open. They name the number and the day of arrival, and the time for which the law
// keeps them depends on the departure and on whether the guests arrived. So they must be closed again after a change.
func reopenForms(tx *db.Tx, row *ent.Reservation) error {
	err := tx.Guest.Update().Where(entguest.PropertyID(row.PropertyID), entguest.ReservationID(row.ID)).ClearEraseAt().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("reopen the official forms of a stay: %w", err)
	}
	return nil
}

// recordChange appends a stored reservation to the list of changes and makes the check of its arrival due if it is near. before is the
// former row, or nil.
func recordChange(tx *db.Tx, row, before *ent.Reservation) error {
	if err := appendChange(tx, row); err != nil {
		return err
	}
	return rescheduleArrivalCheck(tx, row, before)
}

// execOne runs a statement that stores a reservation. It returns an error unless the statement changes exactly one row.
func execOne(tx *db.Tx, statement string, values []any) error {
	done, err := tx.ExecContext(tx.Context(), statement, values...)
	if err == nil {
		var n int64
		if n, err = done.RowsAffected(); err == nil && n != 1 {
			err = errors.New("its row is missing")
		}
	}
	if err != nil {
		return fmt.Errorf("store a reservation: %w", err)
	}
	return nil
}

// insertChange appends a change. Two changes of a reservation at the same instant, as in a batch, get one row.
const insertChange = `INSERT INTO reservation_changes (property_id, integration_id, reservation_id, changed_at)
	VALUES ($1, $2, $3, $4) ON CONFLICT (property_id, changed_at, reservation_id, integration_id) DO NOTHING`

// Statements that schedule the readiness checks of arrivals. A new arrival has the verdict "ready" until its first check.
const (
	insertArrivals = `INSERT INTO arrivals (id, property_id, from_at, minutes, verdict, judged_at, again_at) `
	enqueueArrival = insertArrivals + `VALUES ($1, $2, $3, 0, 'ready', $4, $5) ON CONFLICT (id) DO UPDATE SET again_at = excluded.again_at`
	// A concurrent change by the PMS may have inserted the same arrival, so a conflict is ignored.
	enqueueArrivals = insertArrivals + `SELECT id, property_id, from_at, 0, 'ready', $1, $2 FROM reservations
		WHERE from_at > $3 AND from_at <= $4 AND state IN ($5, $6) AND NOT EXISTS (SELECT 1 FROM arrivals WHERE arrivals.id = reservations.id)
		ORDER BY from_at LIMIT $7 ON CONFLICT (id) DO NOTHING`
	requeueArrival = `UPDATE arrivals SET again_at = $1 WHERE id = $2 AND property_id = $3`
)

// insertNames returns the INSERT of n entries, at least one, of the name index of one reservation. Its parameters are the property's id,
// the reservation's id and the n hashes.
func insertNames(n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO reservation_names (property_id, reservation_id, token) VALUES ($1, $2, $3)")
	for i := 1; i < n; i++ {
		b.WriteString(", ($1, $2, $" + strconv.Itoa(i+3) + ")")
	}
	return b.String()
}

// accessEvents lists the events of a property after an event id, each with the reservation whose access it changed.
// An event about a code names the code's grant; an event about the whole access has the reservation as its subject.
const accessEvents = `SELECT e.id, COALESCE(r.id, ''), COALESCE(r.integration_id, ''), COALESCE(r.state, '') FROM events AS e
	LEFT JOIN grants AS g ON g.id = e.grant_id AND g.property_id = e.property_id
	LEFT JOIN reservations AS r ON r.id = COALESCE(g.reservation_id, e.subject) AND r.property_id = e.property_id
	WHERE e.property_id = $1 AND e.id > $2 ORDER BY e.id LIMIT $3`

// accessEvent is a row of the query accessEvents. The reservation is empty if the event concerns none.
type accessEvent struct {
	id                              int64
	reservation, integration, state string
}

// accessEventsAfter reads up to eventBatch events of a property after an event id, in the order of their ids, each with the reservation
// whose access it changed. Events that concern no reservation are included, with empty fields.
func accessEventsAfter(tx *db.Tx, propertyID string, after int64) ([]accessEvent, error) {
	columns := func(e *accessEvent) []any { return []any{&e.id, &e.reservation, &e.integration, &e.state} }
	return db.ReadList(tx, columns, accessEvents, propertyID, after, eventBatch)
}

// Queries for the times of the last event of a reservation's grants and of the reservation itself. The later one is when access last
// changed.
const (
	lastOfGrants = `SELECT e.created_at FROM grants AS g
		JOIN events AS e ON e.id = (SELECT MAX(x.id) FROM events AS x WHERE x.grant_id = g.id)
		WHERE g.property_id = $1 AND g.reservation_id = $2 ORDER BY e.created_at DESC LIMIT 1`
	lastOfSubject = `SELECT e.created_at FROM events AS e WHERE e.property_id = $1 AND e.subject = $2
		AND e.subject_sequence = (SELECT MAX(x.subject_sequence) FROM events AS x WHERE x.subject = e.subject)`
)
