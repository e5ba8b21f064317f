package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/server"
)

// tenant is a property on a node, and what its owner asks of it.
type tenant struct {
	*node
	bridges propertyv1.BridgeServiceClient
	locks   propertyv1.LockServiceClient
	owner   context.Context
}

func connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func tenantOf(t *testing.T, n *node) *tenant {
	t.Helper()
	admin, public := connect(t, "unix:"+n.SocketPath()), connect(t, n.GRPCAddr())
	name, zone := "Hostel", "Europe/Lisbon"
	p, err := adminv1.NewPropertyServiceClient(admin).CreateProperty(t.Context(), &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := adminv1.NewTokenServiceClient(admin).CreateStaffToken(t.Context(), &adminv1.CreateStaffTokenRequest{PropertyId: p.GetData().GetId(), Name: "test", Role: "owner", TtlMinutes: 60})
	if err != nil {
		t.Fatal(err)
	}
	return &tenant{
		node: n, bridges: propertyv1.NewBridgeServiceClient(public), locks: propertyv1.NewLockServiceClient(public),
		owner: metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token.GetToken()),
	}
}

// add runs a bridge with one lock until the test ends.
func (h *tenant) add(t *testing.T, name string) {
	t.Helper()
	made, err := h.bridges.CreateBridge(h.owner, &propertyv1.CreateBridgeRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := agent.Enrolment{Dir: dir, Address: h.GRPCAddr(), JoinCode: made.GetJoinCode(), Software: "test", Plaintext: true}
	if _, err := agent.Enroll(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	locks, err := sim.NewSite(sim.Config{Locks: []sim.Spec{{Address: name, Profile: sim.ZWave, Battery: 90}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := agent.New(t.Context(), agent.Config{Dir: dir, Driver: locks.Driver(), Log: slog.New(slog.DiscardHandler), Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
		if err := errors.Join(b.Close(), locks.Close()); err != nil {
			t.Error(err)
		}
	})
}

// online waits until so many bridges are, and lists them.
func (h *tenant) online(t *testing.T, count int) map[string]bool {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		all, err := h.bridges.ListBridges(h.owner, &propertyv1.ListBridgesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, b := range all.GetData().GetList() {
			if b.GetState() == "online" {
				out[b.GetId()] = true
			}
		}
		if len(out) == count {
			return out
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d bridges are online, want %d", len(out), count)
		}
	}
}

// While a server drains it lets no bridge in, not even into a connection, so that one that leaves finds the next address
// of the name. A bridge whose turn has not come stays in session, and opens doors.
func TestDrainClosesTheBridgesListenerAndKeepsThoseWhoseTurnHasNotCome(t *testing.T) {
	c := settings(t, "")
	c.Drain = time.Minute
	h := tenantOf(t, open(t, c, server.Options{}))
	h.add(t, "Cellar")
	h.add(t, "Shed")
	h.online(t, 2)
	go func() { _ = h.stop() }() // it ends once the bridges have, and is asked for what came of it then
	stays := h.online(t, 1)
	if conn, err := net.DialTimeout("tcp", h.BridgeAddr(), time.Second); err == nil {
		_ = conn.Close()
		t.Error("the bridges' listener is open")
	}
	all, err := h.locks.ListLocks(h.owner, &propertyv1.ListLocksRequest{PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for _, l := range all.GetData().GetList() {
		if !stays[l.GetBridgeId()] {
			continue
		}
		a, err := h.locks.UnlockLock(h.owner, &propertyv1.UnlockLockRequest{Id: l.GetId()})
		if err != nil || a.GetData().GetResult() != "opened" {
			t.Errorf("%s: %v %v", l.GetAddress(), a, err)
		}
		opened++
	}
	if opened == 0 {
		t.Error("no lock of the bridge that stays was found")
	}
}

// Load balancers send calls to a stopping node until their next health check: until then every listener answers, also
// where no bridge has to leave.
func TestAStoppingNodeAnswersUntilItsGraceIsOver(t *testing.T) {
	c := settings(t, "")
	grace := 5 * time.Second
	c.DrainGrace = &grace
	n := open(t, c, server.Options{})
	health := watch(t, n.GRPCAddr(), "")
	until(t, health, healthv1.HealthCheckResponse_SERVING)
	stopped := make(chan error, 1)
	go func() { stopped <- n.stop() }()
	until(t, health, healthv1.HealthCheckResponse_NOT_SERVING)
	_ = health.close()
	if code, text := get(t, "http://"+n.OpsAddr()+"/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d %q", code, text)
	}
	if code, _ := get(t, "http://"+n.HTTPAddr()+"/docs"); code != http.StatusOK {
		t.Errorf("a call on a new connection: %d", code)
	}
	for _, address := range []string{n.GRPCAddr(), n.BridgeAddr()} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			continue
		}
		_ = conn.Close()
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", n.HTTPAddr()); err == nil {
		_ = conn.Close()
		t.Error("the listener is open after the stop")
	}
}
