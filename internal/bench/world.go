package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/mattn/go-sqlite3" // to put a million reservations beside the server's back
	"google.golang.org/grpc"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/telemetry"
)

// World is how a world under measurement is reached.
type World struct {
	HTTP, GRPC               string
	ClientToken, AccessToken string
}

// worldPart is a whole property on a server of its own.
type worldPart struct {
	process
	world *sandbox.World
	dir   string
	log   *os.File
	idle  atomic.Bool // a change does nothing
}

// settings are the product's own, but for limits that a benchmark reaches, and addresses.
func settings(dir string) config.Config {
	c := config.Default()
	c.DataDir = filepath.Join(dir, "data")
	c.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	c.ConnectionsPerAddress = 1 << 20 // a fleet comes from this machine
	c.Rate = config.Rate{PerMinute: 1 << 30, Burst: 1 << 30, BatchPerMinute: 1 << 30, StaffPerMinute: 1 << 30, StaffBurst: 1 << 30}
	c.Drain = 100 * time.Millisecond
	return c
}

// options has a server log to a file, as it does under a supervisor.
func options(dir string) (server.Options, *os.File, error) {
	f, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return server.Options{}, nil, err
	}
	logger, err := telemetry.Logger(f, "info", "text")
	return server.Options{Logger: logger, Version: "bench"}, f, err
}

// Start builds the world in a directory.
func (p *worldPart) Start(dir string, out *World) error {
	p.dir = dir
	o, log, err := options(dir)
	if err != nil {
		return err
	}
	p.log, o.Around = log, p.around
	w, err := sandbox.Build(context.Background(), sandbox.Config{Server: settings(dir), Options: o, Dir: dir})
	if err != nil {
		return err
	}
	p.world = w
	*out = World{HTTP: "http://" + w.Server.HTTPAddr(), GRPC: w.Server.GRPCAddr(), ClientToken: w.ClientToken, AccessToken: w.AccessToken}
	return nil
}

// around answers in place of the handler while the world is idle: what is left is the floor, a call that passes the
// gateway and every interceptor and does nothing.
func (p *worldPart) around(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if p.idle.Load() && info.FullMethod == partnerv1.ReservationService_UpsertReservation_FullMethodName {
		return &partnerv1.UpsertReservationResponse{}, nil
	}
	return next(ctx, req)
}

// Idle has changes of reservations do nothing, or something again.
func (p *worldPart) Idle(idle bool, _ *None) error {
	p.idle.Store(idle)
	return nil
}

// Fill stores count reservations under the PMS's ids old-1, old-2 and on, each a copy of the template of its number.
func (p *worldPart) Fill(count int, _ *None) (err error) {
	path := (&url.URL{Path: filepath.Join(p.dir, "data", "latchkey.db")}).EscapedPath()
	d, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_busy_timeout=30000&_synchronous=NORMAL")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	d.SetMaxOpenConns(1)
	columns, err := columnsOf(d, "reservations")
	if err != nil {
		return err
	}
	values := strings.Replace(strings.Replace(columns, ",id,", ",printf('rsv_%026d', n),", 1), ",pms_id,", ",'old-' || n,", 1)
	insert := `WITH RECURSIVE count(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM count WHERE n < ?2)
		INSERT INTO reservations (` + strings.Trim(columns, ",") + `) SELECT ` + strings.Trim(values, ",") + `
		FROM count CROSS JOIN reservations ON integration_id = (SELECT integration_id FROM reservations WHERE pms_id = ?3 || 0) AND pms_id = ?3 || (n % ?4)`
	const atOnce = 50_000
	for first := 1; first <= count; first += atOnce {
		last := min(first+atOnce-1, count)
		done, err := d.Exec(insert, first, last, template, templates)
		if err != nil {
			return fmt.Errorf("store reservations %d and on: %w", first, err)
		}
		if n, err := done.RowsAffected(); err != nil || n != int64(last-first+1) {
			return errors.Join(fmt.Errorf("stored %d of the reservations %d to %d", n, first, last), err)
		}
	}
	if err := settleIn(d); err != nil {
		return err
	}
	_, err = d.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// settleIn stores what the server would have with reservations that were stored by it a while ago: their place in lists, by ids
// below all that it gave since it was started, and looks at those who arrive, which are not due all at once.
func settleIn(d *sql.DB) error {
	if _, err := d.Exec(`INSERT INTO reservation_changes (id, property_id, integration_id, reservation_id, changed_at)
		SELECT -row_number() OVER (), property_id, integration_id, id, updated_at FROM reservations WHERE pms_id LIKE 'old-%'`); err != nil {
		return fmt.Errorf("list the reservations: %w", err)
	}
	const apart = 15 * 60                         // seconds between two looks
	now := time.Now().UTC().Truncate(time.Second) // its text is what the server writes
	if _, err := d.Exec(`INSERT INTO arrivals (id, property_id, from_at, minutes, verdict, judged_at, again_at)
		SELECT id, property_id, from_at, 24 * 60, 'ready', ?1, strftime('%Y-%m-%d %H:%M:%S+00:00', ?1, (n % ?3) || ' seconds')
		FROM (SELECT id, property_id, from_at, row_number() OVER () AS n FROM reservations
			WHERE from_at > ?1 AND from_at <= ?2 AND pms_id LIKE 'old-%')`, now, now.Add(reservation.Horizon), apart); err != nil {
		return fmt.Errorf("expect who arrives: %w", err)
	}
	return nil
}

// columnsOf lists the columns of a table, each between commas.
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

// Close ends the world.
func (p *worldPart) Close() (err error) {
	if p.world != nil {
		err = p.world.Close()
	}
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}
