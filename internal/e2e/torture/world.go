package torture

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/porttest"
	"latchkey.dev/internal/test/proxytest"
)

// hotelDoor is a door of the simulated hotel: of a room, which the PMS also knows, or a gate.
type hotelDoor struct {
	id, name string
	pmsID    string // the PMS's id of the room; empty: a gate
}

// site is a bridge with its locks. A proxy disturbs its network.
type site struct {
	name   string
	locks  *sim.Site
	link   *proxytest.Proxy
	bridge *program.Process

	// manualChanges is locked from a change by hand until the bridge has stored the lock's report, because killing the bridge before may
	// lose the report.
	manualChanges sync.Mutex
	lateOps       chan string // for killBridge: addresses of locks whose operation timed out at the bridge and possibly still runs

	mu    sync.Mutex
	kills []time.Time
}

// recordKill records that the bridge was killed at a time.
func (s *site) recordKill(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kills = append(s.kills, t)
}

// mayHaveLostReport reports whether a lock's report at time t may be lost because the bridge was killed: before it stored the report, or so
// shortly before t that the lock sent the report to the dead process.
func (s *site) mayHaveLostReport(t time.Time) bool {
	return s.killedBetween(t.Add(-killNoticeTime), t.Add(reportStoreTime))
}

// killedBetween reports whether the bridge was killed at from or later, and before to.
func (s *site) killedBetween(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.kills, func(k time.Time) bool { return !k.Before(from) && k.Before(to) })
}

// killNoticeTime is the longest time for which virtual locks still send reports to a bridge that was killed. Such reports are lost.
const killNoticeTime = 200 * time.Millisecond

// reportStoreTime is the longest time that a bridge needs to store a lock's report. A kill within that time may lose the report.
const reportStoreTime = 2 * time.Second

// lockSpec describes a virtual lock: its address, profile and first door.
type lockSpec struct{ address, profile, door string }

// locksOfSites are the virtual locks of each site. Locks without a door are spare.
var locksOfSites = [][]lockSpec{
	{{"A1", sim.ZWave, "101"}, {"A2", sim.Matter, "102"}, {"A3", sim.Nuki, "103"}, {"A4", sim.Zigbee2MQTT, "104"}, {"A5", sim.TTLock, "105"}, {"AG", sim.ZWaveUser, "Front"}},
	{{"B1", sim.Matter, "106"}, {"B2", sim.TTLock, "107"}, {"B3", sim.ZWave, "108"}, {"BG", sim.Nuki, "Garage"}, {"BX", sim.Zigbee2MQTT, ""}, {"BY", sim.TTLock, ""}},
}

// latency is the duration of a lock operation.
const latency = 20 * time.Millisecond

// world is the simulated hotel of a run: server, bridges, locks, PMS, stays and codes.
type world struct {
	*e2etest.API
	t             testing.TB
	seed          uint64
	began         time.Time
	faultDuration time.Duration // time from the first fault to the last
	dir           string

	server      *program.Process
	sites       []*site
	pms         *sandbox.PMS
	partner     e2etest.Caller
	staff       e2etest.Caller
	property    string
	integration string
	rooms       []*hotelDoor
	doors       []*hotelDoor // rooms and gates
	locks       []*lockState
	byAddress   map[string]*lockState
	stays       []*stay
	codes       codes
	count       counters
	report      *report
	atRest      bool // the faults have ended and all changes are complete

	// lockMoves is write-locked while a lock is assigned to another door, and read-locked during a press.
	lockMoves sync.RWMutex
	// spaceChanges is locked while mappings or spaces change.
	spaceChanges sync.Mutex
}

// newWorld starts the server, the bridges and the PMS of a run, and sets up the hotel. seed is the seed of all random faults; database is a
// URL; engine is only logged.
func newWorld(t testing.TB, seed uint64, engine, database string) *world {
	t.Helper()
	dir := t.TempDir()
	at := porttest.ReserveN(t, 4)
	w := &world{t: t, seed: seed, began: time.Now(), dir: dir, byAddress: map[string]*lockState{}}
	w.report = newReport(w)
	w.pms = sandbox.NewPMS("pms-secret", nil)
	pms := httptest.NewServer(w.pms.Handler())
	t.Cleanup(pms.Close)
	w.server = program.New(t, "latchkey", "http://"+at[3]+"/readyz", "serve", "--data-dir", filepath.Join(dir, "data"),
		"--listen-http", at[0], "--listen-grpc", at[1], "--listen-bridge", at[2], "--listen-ops", at[3], "--drain", "10ms",
		"--rate-per-minute", "100000000", "--rate-burst", "10000000", "--rate-batch-per-minute", "1000000",
		"--partner-allow", pms.Listener.Addr().String(), "--log-level", "warn")
	w.server.Env = []string{"LATCHKEY_DATABASE=" + database}
	w.failOnError(w.server.Start(t.Context()))
	w.API = e2etest.Dial(t, at[0], at[1], filepath.Join(dir, "data", "operator.sock"))
	w.createProperty()
	w.createDoors()
	for i, plot := range locksOfSites {
		w.startSite(i, plot, at[1], at[2])
	}
	w.assignLocks()
	w.connectPMS(pms.URL)
	t.Logf("seed %d on %s", seed, engine)
	return w
}

// failOnError ends the test if err is not nil. It is for the set-up.
func (w *world) failOnError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// asStaff returns a context for gRPC calls with a staff token.
func (w *world) asStaff() context.Context {
	return metadata.NewOutgoingContext(w.t.Context(), metadata.New(w.staff.Headers))
}

// createProperty creates the hotel and a staff token.
func (w *world) createProperty() {
	ctx := w.t.Context()
	name, zone, backups := "Grand Hotel", "Europe/Vienna", true
	p, err := adminv1.NewPropertyServiceClient(w.Socket).CreateProperty(ctx, &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone, BackupCodes: &backups}})
	w.failOnError(err)
	w.property = p.GetData().GetId()
	token, err := adminv1.NewTokenServiceClient(w.Socket).CreateStaffToken(ctx, &adminv1.CreateStaffTokenRequest{PropertyId: w.property, Role: "owner"})
	w.failOnError(err)
	w.staff = e2etest.Bearer("owner", token.GetToken())
}

// createDoors creates the rooms and gates.
func (w *world) createDoors() {
	staff := w.asStaff()
	for _, l := range slices.Concat(locksOfSites...) {
		if l.door == "" {
			continue
		}
		if l.address[1] == 'G' {
			g, err := propertyv1.NewGateServiceClient(w.Public).CreateGate(staff, &propertyv1.CreateGateRequest{Name: l.door})
			w.failOnError(err)
			w.doors = append(w.doors, &hotelDoor{id: g.GetData().GetId(), name: l.door})
			continue
		}
		s, err := propertyv1.NewSpaceServiceClient(w.Public).CreateSpace(staff, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Room", Name: l.door}})
		w.failOnError(err)
		room := &hotelDoor{id: s.GetData().GetId(), name: l.door, pmsID: "R" + l.door}
		w.rooms, w.doors = append(w.rooms, room), append(w.doors, room)
	}
}

// startSite creates the virtual locks of the i-th site, enrols their bridge at grpcAddr and starts it. The bridge connects to bridgeAddr
// through a proxy.
func (w *world) startSite(i int, plot []lockSpec, grpcAddr, bridgeAddr string) {
	s := &site{name: string(rune('A' + i)), link: proxytest.New(w.t), lateOps: make(chan string, 16)}
	c := sim.Config{Seed: w.seed + uint64(i), Odds: calmOdds}
	for _, l := range plot {
		c.Locks = append(c.Locks, sim.Spec{Address: l.address, Profile: l.profile, Latency: latency, NoLockout: true})
		st := &lockState{site: s, address: l.address, ownSchedule: sim.Profiles()[l.profile].Capabilities.Schedule == slot.ScheduleWindow, displaced: map[string]time.Time{}, knownCodes: map[uint32]slotWrite{}}
		w.locks = append(w.locks, st)
		w.byAddress[l.address] = st
	}
	var err error
	s.locks, err = sim.NewSite(c)
	w.failOnError(err)
	w.t.Cleanup(func() { _ = s.locks.Close() })
	handler, err := sim.Serve(recordingDriver{s.locks.Driver(), w, s})
	w.failOnError(err)
	locks := httptest.NewServer(handler)
	w.t.Cleanup(locks.Close)
	between, err := s.link.SetTarget(bridgeAddr)
	w.failOnError(err)
	b, err := propertyv1.NewBridgeServiceClient(w.Public).CreateBridge(w.asStaff(), &propertyv1.CreateBridgeRequest{Name: "Bridge " + s.name})
	w.failOnError(err)
	dir := filepath.Join(w.dir, "bridge-"+s.name)
	w.failOnError(program.Run(w.t.Context(), []string{"LATCHKEY_JOIN_CODE=" + b.GetJoinCode()}, "latchkey-bridge", "--dir", dir, "enroll", "--plaintext", "--connect", between, grpcAddr))
	s.bridge = program.New(w.t, "latchkey-bridge", locks.URL+"/locks", "--dir", dir, "--log-level", "warn", "run", "--sim-site", locks.URL)
	w.failOnError(s.bridge.Start(w.t.Context()))
	w.sites = append(w.sites, s)
}

// assignLocks waits until the service lists all locks, and assigns each lock to its door.
func (w *world) assignLocks() {
	plan := map[string]string{}
	for _, l := range slices.Concat(locksOfSites...) {
		plan[l.address] = l.door
	}
	staff := propertyv1.NewLockServiceClient(w.Public)
	w.failOnError(program.Await(w.t.Context(), "the bridges show their locks", func() (bool, error) {
		found, err := staff.ListLocks(w.asStaff(), &propertyv1.ListLocksRequest{PageSize: 200})
		for _, l := range found.GetData().GetList() {
			w.byAddress[l.GetAddress()].id = l.GetId()
		}
		return len(found.GetData().GetList()) == len(plan), err
	}))
	for _, l := range w.locks {
		door := w.doorNamed(plan[l.address])
		if door == nil {
			l.recordDoor("")
			continue
		}
		_, err := staff.AssignLock(w.asStaff(), &propertyv1.AssignLockRequest{Id: l.id, DoorId: &door.id})
		w.failOnError(err)
		l.recordDoor(door.id)
	}
}

// doorNamed returns the door with a name, or nil.
func (w *world) doorNamed(name string) *hotelDoor {
	for _, d := range w.doors {
		if d.name == name {
			return d
		}
	}
	return nil
}

// connectPMS registers the simulated PMS as a partner and maps its rooms by name.
func (w *world) connectPMS(pmsURL string) {
	ctx := w.t.Context()
	var listing []sandbox.Space
	for _, r := range w.rooms {
		listing = append(listing, sandbox.Space{ID: r.pmsID, Type: "Room", Name: r.name, IsPrivate: true, IsActive: true})
	}
	w.pms.SetSpaces(listing)
	app, err := adminv1.NewAppServiceClient(w.Socket).CreateApp(ctx, &adminv1.CreateAppRequest{Name: "PMS"})
	w.failOnError(err)
	in, err := propertyv1.NewIntegrationServiceClient(w.Public).ConnectApp(w.asStaff(), &propertyv1.ConnectAppRequest{AppId: app.GetData().GetId(), Scopes: e2etest.Scopes})
	w.failOnError(err)
	w.integration = in.GetData().GetId()
	w.partner = e2etest.Caller{Name: "partner", Headers: map[string]string{"client-token": app.GetClientToken(), "access-token": in.GetAccessToken()}}
	w.pms.SetCredentials(w.Base, app.GetClientToken(), in.GetAccessToken())
	w.failOnError(w.pms.Register(ctx, pmsURL))
	mappings := propertyv1.NewMappingServiceClient(w.Public)
	w.failOnError(program.Await(ctx, "getSpaces is read", func() (bool, error) {
		l, err := mappings.ListPartnerSpaces(w.asStaff(), &propertyv1.ListPartnerSpacesRequest{IntegrationId: w.integration, PageSize: 200})
		return len(l.GetData().GetList()) == len(listing), err
	}))
	_, err = mappings.ApplySuggestions(w.asStaff(), &propertyv1.ApplySuggestionsRequest{IntegrationId: w.integration})
	w.failOnError(err)
}

// request sends one request. It returns an error if no valid answer arrived. Status 500 is a violation.
func (w *world) request(ctx context.Context, who e2etest.Caller, verb, path string, content any) (e2etest.Outcome, error) {
	w.count.add("calls", 1)
	o, err := w.Do(ctx, who, verb, path, content)
	if err == nil && o.HTTP == http.StatusInternalServerError {
		w.report.add("a call was answered with 500", "", fmt.Sprintf("%s %s: %v", verb, path, o))
	}
	return o, err
}

// retryable are the HTTP statuses after which a change is retried, except a conflict that isFinalConflict reports.
var retryable = []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// sendUntilAnswered retries a change with the same idempotency key until it is answered, also while the server is killed and restarted. It
// continues after the end of the run, because the effect of an unanswered change is unknown. It returns false, and reports a violation, if
// no answer comes within program.Patience.
func (w *world) sendUntilAnswered(who e2etest.Caller, key, verb, path string, content any) (e2etest.Outcome, bool) {
	deadline := time.Now().Add(program.Patience)
	who = who.WithHeader("idempotency-key", key)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		o, err := w.request(context.Background(), who, verb, path, content)
		repeat := err != nil || slices.Contains(retryable, o.HTTP) && !isFinalConflict(o)
		if !repeat {
			return o, true
		}
		if time.Now().After(deadline) {
			w.report.add("a change was never answered", "", fmt.Sprintf("%s %s: %v %v", verb, path, o, err))
			return o, false
		}
		<-time.After(pause)
	}
}

// isFinalConflict reports whether an answer is a conflict that a retry cannot resolve.
func isFinalConflict(o e2etest.Outcome) bool {
	return o.HTTP == http.StatusConflict && o.Reason != "idempotencyInFlight" && o.Reason != "unavailable"
}

// counters count what happened in a run.
type counters struct {
	mu sync.Mutex
	n  map[string]int
}

// add increases the counter that what names by n.
func (c *counters) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what] += n
}

// String lists all counters.
func (c *counters) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := ""
	for _, k := range slices.Sorted(maps.Keys(c.n)) {
		out += fmt.Sprintf("%s %d, ", k, c.n[k])
	}
	return out
}
