package db

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// connectTimeout bounds an attempt to connect to one host where the URL says nothing else. A host that hangs accepts
// connections and never answers, so that without a bound no other host would be tried.
const connectTimeout = 3 * time.Second

// aliveness finds a host that vanished without a word after some 15 seconds; the system's default is 2 hours.
var aliveness = net.KeepAliveConfig{Enable: true, Idle: 6 * time.Second, Interval: 3 * time.Second, Count: 3}

// prepare completes the settings of a URL.
func prepare(c *pgx.ConnConfig) {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = connectTimeout
	}
	if len(hostsOf(c)) > 1 && c.ValidateConnect == nil { // of several hosts only the primary takes changes
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.DialFunc = (&net.Dialer{KeepAliveConfig: aliveness}).DialContext
}

// afterConnect prepares a session: times are read in UTC, and the server ends the session when its client vanished or
// holds a transaction open for longer than a change may take. Such a session would keep its row locks from other nodes.
func afterConnect(ctx context.Context, c *pgx.Conn, inTransaction time.Duration) error {
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	settings := []string{
		"tcp_keepalives_idle", seconds(aliveness.Idle), "tcp_keepalives_interval", seconds(aliveness.Interval), "tcp_keepalives_count", strconv.Itoa(aliveness.Count),
	}
	const idle = "idle_in_transaction_session_timeout"
	if _, chosen := c.Config().RuntimeParams[idle]; !chosen {
		settings = append(settings, idle, milliseconds(inTransaction))
	}
	ctx, cancel := context.WithTimeout(ctx, c.Config().ConnectTimeout)
	defer cancel()
	return Set(ctx, c, settings...)
}

// Set changes settings of a session, given as names and values.
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

func seconds(d time.Duration) string      { return strconv.Itoa(int(d / time.Second)) }
func milliseconds(d time.Duration) string { return strconv.Itoa(int(d / time.Millisecond)) }

// host is one server of a URL that may name several, with the ways to encrypt the connection to it in the order to try.
type host struct {
	name string
	port uint16
	tls  []*tls.Config
}

func (h host) is(other host) bool { return h.name == other.name && h.port == other.port }

// hostsOf lists the servers of a URL.
func hostsOf(c *pgx.ConnConfig) []host {
	all := []host{{c.Host, c.Port, []*tls.Config{c.TLSConfig}}}
	for _, f := range c.Fallbacks {
		if last := &all[len(all)-1]; last.is(host{name: f.Host, port: f.Port}) {
			last.tls = append(last.tls, f.TLSConfig)
			continue
		}
		all = append(all, host{f.Host, f.Port, []*tls.Config{f.TLSConfig}})
	}
	return all
}

// tryHosts sets which servers a connection tries, in order.
func tryHosts(c *pgx.ConnConfig, hosts ...host) {
	var all []*pgconn.FallbackConfig
	for _, h := range hosts {
		for _, t := range h.tls {
			all = append(all, &pgconn.FallbackConfig{Host: h.name, Port: h.port, TLSConfig: t})
		}
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
}

// preferring moves one server to the front.
func preferring(first host, hosts []host) []host {
	if i := slices.IndexFunc(hosts, first.is); i > 0 {
		return slices.Concat(hosts[i:i+1], hosts[:i], hosts[i+1:])
	}
	return hosts
}

// tracker knows the network connections of the pool, and can close those that queries wait on.
type tracker struct {
	dial pgconn.DialFunc
	mu   sync.Mutex
	open map[*tracked]struct{}
}

// tracked is a connection that its tracker knows until it is closed.
type tracked struct {
	net.Conn
	by *tracker
}

func (t *tracker) dialTracked(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := t.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &tracked{conn, t}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[c] = struct{}{}
	return c, nil
}

// Close closes the connection.
func (c *tracked) Close() error {
	c.by.mu.Lock()
	delete(c.by.open, c)
	c.by.mu.Unlock()
	return c.Conn.Close()
}

// closeAll closes every connection at once. Queries on them fail.
func (t *tracker) closeAll() {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.open))
	t.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}
