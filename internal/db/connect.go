package db

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// connectTimeout bounds an attempt to connect to one host, unless the URL sets another bound. A host that hangs accepts
// connections and never answers; without a bound no other host would be tried.
const connectTimeout = 3 * time.Second

// keepAlive detects a host that vanished silently within about 15 seconds; the system's default is 2 hours.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 6 * time.Second, Interval: 3 * time.Second, Count: 3}

// applyDefaults sets TCP keepalives, and the connection options that the URL does not set: the timeout and, for several hosts, that a host
// accepts writes.
func applyDefaults(c *pgx.ConnConfig) {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = connectTimeout
	}
	if len(hostsOf(c)) > 1 && c.ValidateConnect == nil { // of several hosts only the primary accepts writes
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
}

// afterConnect prepares a new session, so that times are read in UTC. The server ends the session if the client vanishes, or if a
// transaction is idle for longer than inTransaction, unless the URL sets another limit: its row locks would block other nodes.
func afterConnect(ctx context.Context, c *pgx.Conn, inTransaction time.Duration) error {
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	settings := []string{
		"tcp_keepalives_idle", seconds(keepAlive.Idle), "tcp_keepalives_interval", seconds(keepAlive.Interval), "tcp_keepalives_count", strconv.Itoa(keepAlive.Count),
	}
	const idle = "idle_in_transaction_session_timeout"
	if _, chosen := c.Config().RuntimeParams[idle]; !chosen {
		settings = append(settings, idle, milliseconds(inTransaction))
	}
	ctx, cancel := context.WithTimeout(ctx, c.Config().ConnectTimeout)
	defer cancel()
	return Set(ctx, c, settings...)
}

// Set sets parameters of a PostgreSQL session until it ends, also beyond a transaction. The arguments alternate between names and values.
func Set(ctx context.Context, c *pgx.Conn, settings ...string) error {
	statement, args := "SELECT ", make([]any, 0, len(settings))
	for i := 0; i < len(settings); i += 2 {
		if i > 0 {
			statement += ", "
		}
		statement += "set_config($" + strconv.Itoa(i+1) + ", $" + strconv.Itoa(i+2) + ", false)"
		args = append(args, settings[i], settings[i+1])
	}
	_, err := c.Exec(ctx, statement, args...)
	return err
}

// seconds and milliseconds format a duration as an integer, as PostgreSQL's settings need it.
func seconds(d time.Duration) string      { return strconv.Itoa(int(d / time.Second)) }
func milliseconds(d time.Duration) string { return strconv.Itoa(int(d / time.Millisecond)) }

// host is one server of a URL that may name several. tls lists the TLS configurations to try, in order; a nil element means without TLS.
type host struct {
	name string
	port uint16
	tls  []*tls.Config
}

// isSame compares name and port, not the TLS configurations.
func (h host) isSame(other host) bool { return h.name == other.name && h.port == other.port }

// hostsOf lists the servers of a URL.
func hostsOf(c *pgx.ConnConfig) []host {
	all := []host{{c.Host, c.Port, []*tls.Config{c.TLSConfig}}}
	for _, f := range c.Fallbacks {
		if last := &all[len(all)-1]; last.isSame(host{name: f.Host, port: f.Port}) {
			last.tls = append(last.tls, f.TLSConfig)
			continue
		}
		all = append(all, host{f.Host, f.Port, []*tls.Config{f.TLSConfig}})
	}
	return all
}

// tryHosts changes c so that a connection attempt tries these servers, at least one, in this order.
func tryHosts(c *pgx.ConnConfig, hosts ...host) {
	var all []*pgconn.FallbackConfig
	for _, h := range hosts {
		for _, t := range h.tls {
			all = append(all, &pgconn.FallbackConfig{Host: h.name, Port: h.port, TLSConfig: t})
		}
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
}

// moveToFront returns hosts with first before all others, or unchanged if first is not among them.
func moveToFront(first host, hosts []host) []host {
	if i := slices.IndexFunc(hosts, first.isSame); i > 0 {
		return slices.Concat(hosts[i:i+1], hosts[:i], hosts[i+1:])
	}
	return hosts
}

// connTracker tracks the network connections of the pool, so that it can close connections on which queries hang.
type connTracker struct {
	dial pgconn.DialFunc
	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

// trackedConn removes itself from its tracker when it is closed.
type trackedConn struct {
	net.Conn
	by *connTracker
}

// dialTracked opens a network connection and tracks it until it is closed. The pool uses it as its dial function.
func (t *connTracker) dialTracked(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := t.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &trackedConn{conn, t}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[c] = struct{}{}
	return c, nil
}

// Close closes the connection and removes it from its tracker.
func (c *trackedConn) Close() error {
	c.by.mu.Lock()
	delete(c.by.open, c)
	c.by.mu.Unlock()
	return c.Conn.Close()
}

// closeOthers closes every tracked connection, except those to the same server as keep, so that hanging queries fail at once. If keep is
// nil, it closes all.
func (t *connTracker) closeOthers(keep *pgx.Conn) {
	server := ""
	if keep != nil {
		server = keep.PgConn().Conn().RemoteAddr().String()
	}
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.open))
	t.mu.Unlock()
	for _, c := range all {
		if c.RemoteAddr().String() != server {
			_ = c.Close()
		}
	}
}

// statementWatcher is called with each statement before it runs; nil except in tests.
var statementWatcher atomic.Pointer[func(ctx context.Context, query string)]

// WatchStatements is for tests. From now on, in the whole process, it calls watch with each statement of a Write or View before it runs, on
// the goroutine that runs it, which for a Write is not that of its caller. ctx has the values of the caller's context. The next call replaces
// watch, which must not be nil.
func WatchStatements(watch func(ctx context.Context, query string)) { statementWatcher.Store(&watch) }

// watchStatement passes a statement to the function that a test has set with WatchStatements, if any.
func watchStatement(ctx context.Context, query string) {
	if watch := statementWatcher.Load(); watch != nil {
		(*watch)(ctx, query)
	}
}
