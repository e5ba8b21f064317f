package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/test/porttest"
)

const (
	rooms = 12
	gate  = "GATE"
)

// site is a hotel: a server, a bridge, rooms with locks, and a partner.
type site struct {
	t              *testing.T
	dir            string
	server, bridge *process
	base, keypads  string
	public         *grpc.ClientConn
	client         *http.Client

	partner map[string]string // headers
	staff   string
	spaces  []string // of the rooms
}

func address(i int) string { return fmt.Sprintf("ROOM%d", i) }

// open starts the site and sets it up as people would.
func open(t *testing.T, database string) *site {
	t.Helper()
	dir := t.TempDir()
	at := porttest.ReserveN(t, 5)
	s := &site{t: t, dir: dir, base: "http://" + at[0], keypads: "http://" + at[4]}
	s.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.server = newProcess(t, "latchkey", "http://"+at[3]+"/readyz", "serve", "--data-dir", filepath.Join(dir, "data"),
		"--listen-http", at[0], "--listen-grpc", at[1], "--listen-bridge", at[2], "--listen-ops", at[3], "--drain", "10ms",
		"--rate-per-minute", "100000000", "--rate-burst", "10000000", "--log-level", "warn")
	s.server.Env = []string{"LATCHKEY_DATABASE=" + database}
	locks := []string{gate + "=nuki"}
	for i := range rooms {
		locks = append(locks, address(i)+"=zwave")
	}
	s.bridge = newProcess(t, "latchkey-bridge", s.keypads+"/", "--dir", filepath.Join(dir, "bridge"), "--log-level", "warn", "run",
		"--sim-locks", strings.Join(locks, ","), "--sim-keypads", at[4])
	s.server.start()
	conn, err := grpc.NewClient(at[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s.public = conn
	s.settle(at[1])
	return s
}

func (s *site) settle(grpcAddr string) {
	t, ctx := s.t, s.t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	admin, err := grpc.NewClient("unix:"+filepath.Join(s.dir, "data", "operator.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	defer func() { _ = admin.Close() }()
	name, zone := "Grand Hotel", "Europe/Vienna"
	p, err := adminv1.NewPropertyServiceClient(admin).CreateProperty(ctx, &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}})
	must(err)
	token, err := adminv1.NewTokenServiceClient(admin).CreateStaffToken(ctx, &adminv1.CreateStaffTokenRequest{PropertyId: p.GetData().GetId(), Role: "owner"})
	must(err)
	s.staff = token.GetToken()
	app, err := adminv1.NewAppServiceClient(admin).CreateApp(ctx, &adminv1.CreateAppRequest{Name: "PMS"})
	must(err)
	staff := s.as(ctx)
	in, err := propertyv1.NewIntegrationServiceClient(s.public).ConnectApp(staff, &propertyv1.ConnectAppRequest{AppId: app.GetData().GetId()})
	must(err)
	s.partner = map[string]string{"client-token": app.GetClientToken(), "access-token": in.GetAccessToken()}
	doors := map[string]string{}
	for i := range rooms {
		r, err := propertyv1.NewSpaceServiceClient(s.public).CreateSpace(staff, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Room", Name: address(i)}})
		must(err)
		s.spaces = append(s.spaces, r.GetData().GetId())
		doors[address(i)] = r.GetData().GetId()
	}
	g, err := propertyv1.NewGateServiceClient(s.public).CreateGate(staff, &propertyv1.CreateGateRequest{Name: gate})
	must(err)
	doors[gate] = g.GetData().GetId()
	b, err := propertyv1.NewBridgeServiceClient(s.public).CreateBridge(staff, &propertyv1.CreateBridgeRequest{Name: "Cellar"})
	must(err)
	must(program.Run(ctx, []string{"LATCHKEY_JOIN_CODE=" + b.GetJoinCode()}, "latchkey-bridge", "--dir", filepath.Join(s.dir, "bridge"), "enroll", "--plaintext", grpcAddr))
	s.bridge.start()
	var found []*propertyv1.Lock
	await(t, "the bridge shows its locks", func() (bool, error) {
		found, err = s.locks()
		return len(found) == len(doors), err
	})
	for _, l := range found {
		door := doors[l.GetAddress()]
		_, err := propertyv1.NewLockServiceClient(s.public).AssignLock(staff, &propertyv1.AssignLockRequest{Id: l.GetId(), DoorId: &door})
		must(err)
	}
}

// as calls as the owner of the hotel.
func (s *site) as(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.staff)
}

func (s *site) locks() ([]*propertyv1.Lock, error) {
	l, err := propertyv1.NewLockServiceClient(s.public).ListLocks(s.as(s.t.Context()), &propertyv1.ListLocksRequest{PageSize: 200})
	return l.GetData().GetList(), err
}

// answer is a REST answer.
type answer struct {
	status int
	data   map[string]any
	raw    []byte
}

// call calls the REST API as the partner. An error is from the connection: the server may or may not have acted.
func (s *site) call(ctx context.Context, method, path, key string, content any) (answer, error) {
	var body io.Reader
	if content != nil {
		raw, err := json.Marshal(content)
		if err != nil {
			return answer{}, err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range s.partner {
		req.Header.Set(k, v)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		return answer{}, err
	}
	var whole struct {
		Data map[string]any `json:"data"`
	}
	err = json.Unmarshal(a.raw, &whole)
	a.data = whole.Data
	return a, err
}

// opens types a PIN at a lock's keypad.
func (s *site) opens(lock, pin string) (bool, error) {
	raw, err := json.Marshal(map[string]string{"pin": pin})
	if err != nil {
		return false, err
	}
	res, err := s.client.Post(s.keypads+"/"+lock, "application/json", bytes.NewReader(raw))
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()
	var p struct {
		Opened bool `json:"opened"`
	}
	return p.Opened, json.NewDecoder(res.Body).Decode(&p)
}

// codes counts what the locks really hold, by lock.
func (s *site) codes() (map[string]int, error) {
	raw, err := os.ReadFile(filepath.Join(s.dir, "bridge", "sim-locks.json"))
	if err != nil {
		return nil, err
	}
	var cells []struct {
		Address string `json:"address"`
	}
	out := map[string]int{}
	err = json.Unmarshal(raw, &cells)
	for _, c := range cells {
		out[c.Address]++
	}
	return out, err
}
