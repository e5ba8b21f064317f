package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/dbtest"
)

// get asks over a connection of its own, so that none is left open.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// watch follows the health of a service until the test ends, or it is closed.
func watch(t *testing.T, address, service string) *watching {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return &watching{s, conn.Close}
}

// watching is a client that watches the health.
type watching struct {
	grpc.ServerStreamingClient[healthv1.HealthCheckResponse]
	close func() error
}

// until waits for a status of a service.
func until(t *testing.T, s *watching, want healthv1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	for {
		got, err := s.Recv()
		if err != nil {
			t.Fatalf("waiting for %v: %v", want, err)
		}
		if got.GetStatus() == want {
			return
		}
	}
}

func TestServesAndStops(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		n := open(t, settings(t, url), server.Options{})
		var all []*watching
		for _, name := range []string{"", "latchkey.partner.v1.ReservationService", "latchkey.lock.v1.EnrolmentService"} {
			s := watch(t, n.GRPCAddr(), name)
			until(t, s, healthv1.HealthCheckResponse_SERVING)
			all = append(all, s)
		}
		unknown := watch(t, n.GRPCAddr(), "latchkey.unknown.Service")
		until(t, unknown, healthv1.HealthCheckResponse_SERVICE_UNKNOWN)
		_ = unknown.close()
		for path, want := range map[string]string{"/livez": "alive\n", "/readyz": "ready\n"} {
			if code, text := get(t, "http://"+n.OpsAddr()+path); code != http.StatusOK || text != want {
				t.Errorf("%s: %d %q", path, code, text)
			}
		}
		for _, want := range []string{"latchkey_bridge_sessions", "latchkey_db_change_duration_seconds_count{outcome=", "latchkey_db_connections_in_use",
			`latchkey_bridge_acts_refused_total{cause="offline"} 0`, `latchkey_bridge_sessions_ended_total{cause="noHeartbeat"} 0`,
			`latchkey_rpc_panics_total{method="/latchkey.partner.v1.ReservationService/UpsertReservation"} 0`, `latchkey_events_total{kind="door.opened"} 0`} {
			if _, text := get(t, "http://"+n.OpsAddr()+"/metrics"); !strings.Contains(text, want) {
				t.Errorf("no %s among the metrics", want)
			}
		}
		if code, _ := get(t, "http://"+n.HTTPAddr()+"/readyz"); code != http.StatusNotFound {
			t.Errorf("partners can read /readyz: %d", code)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- n.stop() }()
		for _, s := range all { // each is notified before its stream is cut
			until(t, s, healthv1.HealthCheckResponse_NOT_SERVING)
			_ = s.close()
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// A stop ends within the drain and a little, although a bridge is connected and a client watches the health, whose stream has no end.
func TestStopDoesNotWaitForStreams(t *testing.T) {
	c := settings(t, "")
	c.Drain = 200 * time.Millisecond
	w, err := sandbox.Build(t.Context(), sandbox.Config{Server: c, Dir: t.TempDir(), Options: server.Options{Logger: logger(t)}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, watch(t, w.Server.GRPCAddr(), ""), healthv1.HealthCheckResponse_SERVING)
	begun := time.Now()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > c.Drain+15*time.Second {
		t.Errorf("took %v", took)
	}
}

// removable is a database that can be taken away.
type removable struct {
	t     *testing.T
	admin *pgx.Conn
	name  string
}

func removableAt(t *testing.T, raw string) *removable {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	c := &removable{t: t, name: strings.TrimPrefix(u.Path, "/")}
	u.Path = "/postgres"
	if c.admin, err = pgx.Connect(t.Context(), u.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.admin.Close(context.Background()) })
	return c
}

func (c *removable) run(statement string, args ...any) {
	c.t.Helper()
	if _, err := c.admin.Exec(c.t.Context(), statement, args...); err != nil {
		c.t.Fatal(err)
	}
}

// take takes the database away from everybody.
func (c *removable) take() {
	c.t.Helper()
	c.run("ALTER DATABASE " + pgx.Identifier{c.name}.Sanitize() + " ALLOW_CONNECTIONS false")
	c.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", c.name)
}

// give brings it back.
func (c *removable) give() {
	c.t.Helper()
	c.run("ALTER DATABASE " + pgx.Identifier{c.name}.Sanitize() + " ALLOW_CONNECTIONS true")
}

// Without its database a server says that it is not ready, and when the database is back it serves again.
func TestDatabaseIsAwayForAWhile(t *testing.T) {
	raw := dbtest.URL(t, "postgres")
	n := open(t, settings(t, raw), server.Options{Logger: slog.New(slog.DiscardHandler)})
	status := watch(t, n.GRPCAddr(), "latchkey.partner.v1.ReservationService")
	until(t, status, healthv1.HealthCheckResponse_SERVING)
	c := removableAt(t, raw)
	c.take()
	until(t, status, healthv1.HealthCheckResponse_NOT_SERVING)
	if code, text := get(t, "http://"+n.OpsAddr()+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "database") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := get(t, "http://"+n.OpsAddr()+"/livez"); code != http.StatusOK {
		t.Errorf("not alive: %d", code)
	}
	c.give()
	until(t, status, healthv1.HealthCheckResponse_SERVING)
}

// A database that goes away just when a server begins to serve does not end the server.
func TestDatabaseIsAwayWhenAServerBegins(t *testing.T) {
	raw := dbtest.URL(t, "postgres")
	said := make(chan string, 1000)
	s := build(t, settings(t, raw), server.Options{Logger: slog.New(slog.NewTextHandler(lines(said), &slog.HandlerOptions{Level: slog.LevelWarn}))})
	c := removableAt(t, raw)
	c.take()
	n := run(t, s)
	for tried := false; !tried; {
		select {
		case line := <-said:
			tried = strings.Contains(line, "the job queue cannot start")
		case <-n.ended:
			t.Fatalf("ended: %v", n.stop())
		}
	}
	status := watch(t, n.GRPCAddr(), "latchkey.partner.v1.ReservationService")
	until(t, status, healthv1.HealthCheckResponse_NOT_SERVING)
	if code, _ := get(t, "http://"+n.OpsAddr()+"/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", code)
	}
	c.give()
	until(t, status, healthv1.HealthCheckResponse_SERVING)
	if code, text := get(t, "http://"+n.OpsAddr()+"/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
}

// lines passes on what is written, and drops it without a reader.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// PostgreSQL is migrated by its own command, and a server says which.
func TestRefusesADatabaseThatIsNotMigrated(t *testing.T) {
	s, err := server.New(t.Context(), settings(t, dbtest.Empty(t, "postgres")), server.Options{Logger: logger(t)})
	if err == nil {
		_ = s.Close()
		t.Fatal("started on an empty database")
	}
	if !strings.Contains(err.Error(), "run: latchkey migrate") {
		t.Errorf("does not say what to do: %v", err)
	}
}

func TestSecondServerOnTheSameData(t *testing.T) {
	c := settings(t, "")
	open(t, c, server.Options{})
	for name, second := range map[string]config.Config{"the same data directory": c, "another": settings(t, c.DatabaseURL())} {
		s, err := server.New(t.Context(), second, server.Options{Logger: logger(t)})
		if err == nil {
			_ = s.Close()
			t.Fatalf("%s: two servers share an embedded database", name)
		}
		if !strings.Contains(err.Error(), "in use by another Latchkey process") {
			t.Errorf("%s: does not say why: %v", name, err)
		}
	}
}

func TestPortInUse(t *testing.T) {
	c := settings(t, "")
	first := open(t, c, server.Options{})
	d := settings(t, "")
	d.Listen.GRPC = first.GRPCAddr()
	s, err := server.New(context.Background(), d, server.Options{Logger: logger(t)})
	if err == nil {
		_ = s.Close()
		t.Fatal("listens twice")
	}
	if !strings.Contains(err.Error(), "--listen-grpc") {
		t.Errorf("does not say which: %v", err)
	}
}

// A server that was killed left its bridges online in the database. The next one on SQLite knows better at once.
func TestBridgesOfAKilledServerAreNotOnline(t *testing.T) {
	c := settings(t, "")
	n := open(t, c, server.Options{})
	dbtest.Insert(t, n.Database(), "properties", dbtest.Values{"id": "prp_1"})
	err := n.Database().Write(t.Context(), func(tx *db.Tx) error {
		return tx.Bridge.Create().SetID("brg_1").SetPropertyID("prp_1").SetName("cellar").SetEnrolledAt(tx.Now()).
			SetOnline(true).SetLastSeenAt(tx.Now()).SetEpoch(1).SetNode("nod_killed").Exec(tx.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	n = open(t, c, server.Options{})
	br, err := n.Database().View(t.Context()).Bridge.Get(t.Context(), "brg_1")
	if err != nil || br.Online {
		t.Errorf("online in a server that has just started, %v", err)
	}
}
