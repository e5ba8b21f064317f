package server_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/dbtest"
)

// cluster starts a NATS server as nodes reach it.
func cluster(t *testing.T) *natsserver.Server {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS did not start")
	}
	return s
}

// installation is two nodes on one database; the bridge of the one property is connected to B, and everybody else to A.
type installation struct {
	*sandbox.World // of node A
	b              *node
	bridges        *balancer
	bus            *natsserver.Server
	rows           *db.Tx
}

func install(t *testing.T) *installation {
	t.Helper()
	database, bus, key := dbtest.URL(t, "postgres"), cluster(t), filepath.Join(t.TempDir(), "key")
	of := func() config.Config {
		c := settings(t, database)
		c.NATS.URL, c.KeyFile = bus.ClientURL(), key
		c.Partner.Allow = []string{"127.0.0.1"} // either node may read the PMS's listing
		return c
	}
	in := &installation{b: open(t, of(), server.Options{}), bus: bus}
	in.bridges = balance(t, in.b.BridgeAddr())
	in.World = world(t, sandbox.Config{Server: of(), RouteBridge: func(string) (string, error) { return in.bridges.address(), nil }})
	d, err := db.Open(t.Context(), db.Config{URL: database, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	in.rows = d.View(t.Context())
	return in
}

// session tells which node holds the bridge, and under which epoch.
func (in *installation) session(t *testing.T) (string, int64) {
	t.Helper()
	b, err := in.rows.Bridge.Query().Only(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b.Node, b.Epoch
}

// stay has the PMS check a guest in at node A, waits until the code is on the lock, and returns how long that took.
func (in *installation) stay(t *testing.T, id, room string) time.Duration {
	t.Helper()
	begun := time.Now()
	a, err := in.PMS.Push(t.Context(), id, map[string]any{
		"pmsNumber": id, "booker": map[string]any{"lastName": "Lovelace"}, "state": "started", "roomId": room,
		"fromDate": time.Now().Format(time.DateOnly), "toDate": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
	})
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	await(t, in.World, "the code of "+id+" is verified", func(ctx context.Context) (bool, error) {
		a, err := in.PMS.Do(ctx, "GET", "/v1/reservations/find?pmsId="+id+"&extend=access", nil)
		if err != nil || a.Status != 200 {
			return false, fmt.Errorf("%v %w", a.Status, err)
		}
		access, _ := a.Data()["access"].(map[string]any)
		doors, _ := access["doors"].([]any)
		for _, d := range doors {
			if d.(map[string]any)["pin"] != "verified" {
				return false, nil
			}
		}
		return len(doors) > 0, nil
	})
	return time.Since(begun)
}

// unlock opens a door through a node and returns what became of it.
func (in *installation) unlock(t *testing.T, s *server.Server, room string) string {
	t.Helper()
	conn, err := grpc.NewClient(s.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+in.StaffToken)
	locks := propertyv1.NewLockServiceClient(conn)
	all, err := locks.ListLocks(ctx, &propertyv1.ListLocksRequest{PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all.GetData().GetList() {
		if l.GetAddress() == room {
			act, err := locks.UnlockLock(ctx, &propertyv1.UnlockLockRequest{Id: l.GetId()})
			if err != nil {
				t.Fatal(err)
			}
			return act.GetData().GetResult()
		}
	}
	t.Fatalf("no lock %s", room)
	return ""
}

// watchesBoth changes something at one node, and waits until a stream at the other node shows it. The stream ends with its node.
func (in *installation) watchesBoth(t *testing.T) (ended func() error) {
	t.Helper()
	staff := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+in.StaffToken)
	stream, err := propertyv1.NewEventServiceClient(connect(t, in.b.GRPCAddr())).Watch(staff, &propertyv1.WatchRequest{Topics: []string{"spaces"}})
	if err != nil {
		t.Fatal(err)
	}
	receive := func() *propertyv1.WatchedChange {
		for {
			m, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if len(m.GetChanges()) > 0 {
				return m.GetChanges()[0]
			}
		}
	}
	if first := receive(); !first.GetEverything() {
		t.Errorf("the first message is %v", first)
	}
	gate, err := propertyv1.NewGateServiceClient(connect(t, in.Server.GRPCAddr())).CreateGate(staff, &propertyv1.CreateGateRequest{Name: "Side door"})
	if err != nil {
		t.Fatal(err)
	}
	for c := receive(); !slices.Contains(c.GetIds(), gate.GetData().GetId()); c = receive() {
		if c.GetEverything() {
			break // the node has just met the other one
		}
	}
	return func() error {
		for {
			if _, err := stream.Recv(); err != nil {
				return err
			}
		}
	}
}

func TestTwoNodes(t *testing.T) {
	in := install(t)
	node, epoch := in.session(t)
	streamEnds := in.watchesBoth(t)

	// The bus notifies the bridge's node: by itself the node would check only after minutes, and the test waits less.
	t.Logf("a code through the other node took %v", in.stay(t, "S1", "R101"))
	if state := in.unlock(t, in.Server, "Room 101"); state != "opened" {
		t.Errorf("unlock asked for at the other node: %s", state)
	}
	if n := in.Site.UnlockCount("Room 101"); n != 1 {
		t.Errorf("opened %d times", n)
	}
	if state := in.unlock(t, in.b.Server, "Room 102"); state != "opened" {
		t.Errorf("unlock asked for at the bridge's own node: %s", state)
	}

	// The link to B is cut, and B does not learn of it from the bridge: what it still does has no effect.
	in.bridges.route(in.Server.BridgeAddr())
	var moved int64
	await(t, in.World, "the bridge is connected to A", func(context.Context) (bool, error) {
		now, e := in.session(t)
		moved = e
		return now != node, nil
	})
	if moved <= epoch {
		t.Errorf("epoch %d after %d", moved, epoch)
	}
	t.Logf("a code through the same node took %v", in.stay(t, "S2", "R102"))
	if state := in.unlock(t, in.b.Server, "Room 102"); state != "opened" {
		t.Errorf("unlock asked for at the node that lost the bridge: %s", state)
	}

	if err := in.b.stop(); err != nil {
		t.Errorf("stop B: %v", err)
	}
	if err := streamEnds(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream at B: %v", err)
	}
	in.stay(t, "S3", "R103")
	if state := in.unlock(t, in.Server, "Room 103"); state != "opened" {
		t.Errorf("unlock with one node left: %s", state)
	}
}

// A node that leaves sends its bridges elsewhere, and what is done for all is taken over.
func TestNodeLeaves(t *testing.T) {
	in := install(t)
	before, _ := in.session(t)
	in.bridges.mu.Lock()
	in.bridges.to = in.Server.BridgeAddr() // the name no longer leads to B; the connection stays until B ends it
	in.bridges.mu.Unlock()
	if err := in.b.stop(); err != nil {
		t.Errorf("stop B: %v", err)
	}
	await(t, in.World, "the bridge is connected to A", func(context.Context) (bool, error) {
		now, _ := in.session(t)
		return now != before, nil
	})
	in.stay(t, "S1", "R101")

	events := func(waiting bool) int {
		t.Helper()
		all, err := in.rows.Event.Query().All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := in.rows.QueryContext(t.Context(), "SELECT position FROM event_cursors") // of the only subscriber
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		received := int64(0)
		for rows.Next() {
			if err := rows.Scan(&received); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for _, e := range all {
			if (e.Position == nil || *e.Position > received) == waiting {
				n++
			}
		}
		return n
	}
	await(t, in.World, "the remaining node delivers every event", func(context.Context) (bool, error) {
		return events(true) == 0 && events(false) > 0, nil
	})
}

// Without the bus each node goes on with its own bridges, and no reservation is refused.
func TestBusIsAway(t *testing.T) {
	in := install(t)
	in.bus.Shutdown()
	in.bus.WaitForShutdown()
	await(t, in.World, "the node says so, and still answers calls", func(context.Context) (bool, error) {
		code, text := get(t, "http://"+in.b.OpsAddr()+"/readyz")
		if code != http.StatusOK {
			t.Errorf("%d %q", code, text)
		}
		return strings.HasPrefix(text, "degraded: ") && strings.Contains(text, "NATS"), nil
	})
	before, _ := in.session(t)
	in.bridges.route(in.Server.BridgeAddr())
	await(t, in.World, "the bridge is connected to A", func(context.Context) (bool, error) {
		now, _ := in.session(t)
		return now != before, nil
	})
	in.stay(t, "S1", "R101")
	if state := in.unlock(t, in.Server, "Room 101"); state != "opened" {
		t.Errorf("unlock: %s", state)
	}
}

func TestKeysOfAnotherInstallation(t *testing.T) {
	database := dbtest.URL(t, "postgres")
	open(t, settings(t, database), server.Options{})
	s, err := server.New(t.Context(), settings(t, database), server.Options{Logger: logger(t)})
	if err == nil {
		_ = s.Close()
		t.Fatal("a second node with a key of its own would seal what the first cannot read")
	}
	if !strings.Contains(err.Error(), "key") {
		t.Errorf("does not say why: %v", err)
	}
}
