package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/reservation"
)

// Fill stores count reservations, whose PMS ids are old-1, old-2 and so on, as copies of the template reservations, which must exist. It
// writes to the database directly, because a million reservations through the server would take an hour.
func (p *worldPart) Fill(count int, _ *None) (err error) {
	var keys *keyring.Ring
	path := (&url.URL{Path: filepath.Join(p.dir, "data", "latchkey.db")}).EscapedPath()
	d := sql.OpenDB(connector{
		dsn: "file:" + path + "?_txlock=immediate&_busy_timeout=30000&_synchronous=NORMAL",
		driver: &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
			return c.RegisterFunc("copy_booker", func(propertyID, from, to string, sealed []byte) ([]byte, error) {
				return reservation.CopyBooker(context.Background(), keys, propertyID, from, to, sealed)
			}, false)
		}},
	})
	defer func() { err = errors.Join(err, d.Close()) }()
	d.SetMaxOpenConns(1)
	cfg := serverConfig(p.dir)
	if keys, err = keyring.Open(context.Background(), keyring.Source{File: cfg.KeyPath(), DataDir: cfg.DataDir}, storedKeys{d}); err != nil {
		return err
	}
	if err := copyTemplates(d, count); err != nil {
		return err
	}
	if err := storeDerivedRows(d); err != nil {
		return err
	}
	_, err = d.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// copyTemplates stores count copies of the template reservations and their entries in the name index. The template reservations must exist.
func copyTemplates(d *sql.DB, count int) error {
	columns, err := columnsOf(d, "reservations")
	if err != nil {
		return err
	}
	const newID = "printf('rsv_%026d', n)"
	values := strings.NewReplacer(",id,", ","+newID+",", ",pms_id,", ",'old-' || n,", ",booker,", ",copy_booker(property_id, id, "+newID+", booker),").Replace(columns)
	insert := `WITH RECURSIVE count(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM count WHERE n < ?2)
		INSERT INTO reservations (` + strings.Trim(columns, ",") + `) SELECT ` + strings.Trim(values, ",") + `
		FROM count CROSS JOIN reservations ON integration_id = (SELECT integration_id FROM reservations WHERE pms_id = ?3 || 0) AND pms_id = ?3 || (n % ?4)`
	const atOnce = 50_000
	for first := 1; first <= count; first += atOnce {
		last := min(first+atOnce-1, count)
		done, err := d.Exec(insert, first, last, templatePrefix, templateCount)
		if err != nil {
			return fmt.Errorf("store reservations %d and on: %w", first, err)
		}
		if n, err := done.RowsAffected(); err != nil || n != int64(last-first+1) {
			return errors.Join(fmt.Errorf("stored %d of the reservations %d to %d", n, first, last), err)
		}
	}
	_, err = d.Exec(`INSERT INTO reservation_names (property_id, reservation_id, token)
		SELECT n.property_id, r.id, n.token FROM reservations AS r
		JOIN reservations AS t ON t.integration_id = r.integration_id AND t.pms_id = ?1 || (CAST(substr(r.pms_id, 5) AS INTEGER) % ?2)
		JOIN reservation_names AS n ON n.reservation_id = t.id
		WHERE r.pms_id LIKE 'old-%'`, templatePrefix, templateCount)
	if err != nil {
		return fmt.Errorf("index the names of the reservations: %w", err)
	}
	return nil
}

// storeDerivedRows stores the rows that the server would have written for old reservations: entries in the list of changes, with ids below
// all new ones, and arrival checks, which become due one after the other.
func storeDerivedRows(d *sql.DB) error {
	if _, err := d.Exec(`INSERT INTO reservation_changes (id, property_id, integration_id, reservation_id, changed_at)
		SELECT -row_number() OVER (), property_id, integration_id, id, updated_at FROM reservations WHERE pms_id LIKE 'old-%'`); err != nil {
		return fmt.Errorf("list the reservations: %w", err)
	}
	const checkInterval = 15 * 60                 // the due times are spread over these seconds, the interval between checks of an arrival
	now := time.Now().UTC().Truncate(time.Second) // truncated to seconds in UTC, so that its text equals what the server stores
	if _, err := d.Exec(`INSERT INTO arrivals (id, property_id, from_at, minutes, verdict, judged_at, again_at)
		SELECT id, property_id, from_at, 24 * 60, 'ready', ?1, strftime('%Y-%m-%d %H:%M:%S+00:00', ?1, (n % ?3) || ' seconds')
		FROM (SELECT id, property_id, from_at, row_number() OVER () AS n FROM reservations
			WHERE from_at > ?4 AND from_at <= ?2 AND pms_id LIKE 'old-%')`, now, now.Add(reservation.Horizon), checkInterval, now.Add(-reservation.Grace)); err != nil {
		return fmt.Errorf("expect who arrives: %w", err)
	}
	return nil
}

// columnsOf lists the columns of a table with a comma before and after each, so that a search for ",id," finds exactly one.
func columnsOf(d *sql.DB, table string) (string, error) {
	rows, err := d.Query("SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns := ","
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", err
		}
		columns += name + ","
	}
	return columns, rows.Err()
}

// connector opens database connections with its own driver instance, whose ConnectHook adds an SQL function.
type connector struct {
	dsn    string
	driver driver.Driver
}

// Connect implements driver.Connector: it opens a connection. It does not use the context.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return c.driver }

// storedKeys reads the server's encryption keys from the database, read-only.
type storedKeys struct{ d *sql.DB }

var errReadOnly = errors.New("the benchmark makes no keys")

// LoadKey returns the encrypted key with an id, or nil if there is none.
func (s storedKeys) LoadKey(ctx context.Context, id string) (sealed []byte, err error) {
	err = s.d.QueryRowContext(ctx, "SELECT sealed FROM property_keys WHERE id = ?", id).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return sealed, err
}

// KeyIDs returns the ids of all keys.
func (s storedKeys) KeyIDs(ctx context.Context) (ids []string, err error) {
	rows, err := s.d.QueryContext(ctx, "SELECT id FROM property_keys")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// CreateKey always fails, because storedKeys is read-only.
func (storedKeys) CreateKey(context.Context, string, []byte) ([]byte, error) { return nil, errReadOnly }

// ReplaceKey always fails, because storedKeys is read-only.
func (storedKeys) ReplaceKey(context.Context, string, []byte, []byte) error { return errReadOnly }
