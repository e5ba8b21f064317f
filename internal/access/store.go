package access

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
)

// locksOnDoorsQuery replaces three queries of ent, because each change of a reservation runs it. CROSS JOIN makes SQLite start from the
// doors and find their locks by the unique index; otherwise it would read every lock of the property.
const locksOnDoorsQuery = `WITH doors (id, gate, name, space_ids) AS (
		SELECT id, id, name, space_ids FROM gates WHERE property_id = $1
		UNION ALL SELECT CAST($2 AS VARCHAR(40)), NULL, NULL, NULL
		UNION ALL SELECT CAST($3 AS VARCHAR(40)), NULL, NULL, NULL)
	SELECT l.id, l.name, l.named, l.kind, l.bridge_id, l.address, l.model, l.door_id, l.door_since, l.capabilities, l.status, l.generation,
		l.unreached_at, l.reached_at, l.offline_notified_at, l.battery_notified_at, l.clock_notified_at, l.created_at,
		b.id, b.online, b.last_seen_at, b.revoked_at, b.key_set_version, b.key_list_number, d.gate, d.name, d.space_ids
	FROM doors AS d CROSS JOIN locks AS l
	LEFT JOIN bridges AS b ON b.id = l.bridge_id AND b.property_id = l.property_id
	WHERE l.door_id = d.id AND l.property_id = $1`

// loadLocks lists the locks on the own doors of a place, which must have a space, and on all gates of its property, ordered by door id.
func loadLocks(tx *db.Tx, propertyID string, p space.Place) ([]lockOnDoor, error) {
	parent := "" // the query then finds no lock on a parent
	if p.Parent != nil {
		parent = p.Parent.ID
	}
	rows, err := tx.QueryContext(tx.Context(), locksOnDoorsQuery, propertyID, p.Space.ID, parent)
	if err != nil {
		return nil, fmt.Errorf("list the locks of a place: %w", err)
	}
	defer rows.Close()
	var out []lockOnDoor
	for rows.Next() {
		f, err := scanLock(rows, propertyID)
		if err != nil {
			return nil, fmt.Errorf("list the locks of a place: %w", err)
		}
		out = append(out, f)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the locks of a place: %w", err)
	}
	slices.SortFunc(out, func(a, b lockOnDoor) int { return strings.Compare(*a.lock.DoorID, *b.lock.DoorID) })
	return out, nil
}

// scanLock converts the current row of locksOnDoorsQuery to a lock with its bridge and, at a gate, the gate.
func scanLock(rows *sql.Rows, propertyID string) (lockOnDoor, error) {
	f, b := lockOnDoor{lock: &ent.Lock{PropertyID: propertyID}}, installedBridge{}
	var capabilities, status, spaces []byte
	var bridgeID, gate, gateName sql.NullString
	var online sql.NullBool
	var list sql.NullInt64
	l := f.lock
	err := rows.Scan(&l.ID, &l.Name, &l.Named, &l.Kind, &l.BridgeID, &l.Address, &l.Model, &l.DoorID, &l.DoorSince, &capabilities, &status, &l.Generation,
		&l.UnreachedAt, &l.ReachedAt, &l.OfflineNotifiedAt, &l.BatteryNotifiedAt, &l.ClockNotifiedAt, &l.CreatedAt,
		&bridgeID, &online, &b.link.LastSeenAt, &b.link.RevokedAt, &b.keySetVersion, &list, &gate, &gateName, &spaces)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(capabilities, &l.Capabilities); err != nil {
		return f, err
	}
	if err := json.Unmarshal(status, &l.Status); err != nil {
		return f, err
	}
	if bridgeID.Valid {
		b.link.Online, b.keyListNumber = online.Bool, list.Int64
		f.bridge = &b
	}
	if gate.Valid {
		f.gate = gateRow{id: gate.String, name: gateName.String}
		err = json.Unmarshal(spaces, &f.gate.spaceIDs)
	}
	return f, err
}

// listOpenings lists attempts to open doors for a reservation, the last recorded first. It starts from the reservation's few grants, and
// names the property at each table, as every statement must.
const listOpenings = `SELECT e.id, e.occurred_at, e.kind, e.body, COALESCE(l.name, '') FROM grants AS g
	JOIN events AS e ON e.grant_id = g.id AND e.property_id = g.property_id
	LEFT JOIN locks AS l ON l.id = e.subject AND l.property_id = e.property_id
	WHERE g.property_id = $1 AND g.reservation_id = $2 AND e.kind IN ($3, $4) AND e.id < $5 ORDER BY e.id DESC LIMIT $6`

// listPINs lists the PINs of a reservation's open grant, without replaced ones.
const listPINs = `SELECT p.id FROM grants AS g JOIN pins AS p ON p.grant_id = g.id AND p.property_id = g.property_id
	WHERE g.property_id = $1 AND g.open_key = $2 AND NOT p.retired ORDER BY p.id`

// hasNoNoticeOfLateCode selects the slots whose grant has no open notice about a late code.
func hasNoNoticeOfLateCode(s *entsql.Selector) {
	s.Where(entsql.ExprP("NOT EXISTS (SELECT 1 FROM notices AS n WHERE n.once_key = " + s.C(entslot.FieldGrantID) + " || '/" + string(notice.CodeLate) + "')"))
}
