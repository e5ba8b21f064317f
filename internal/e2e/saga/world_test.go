package saga

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/porttest"
	"latchkey.dev/internal/test/smtptest"
)

// world is a property with a server as a process, a bridge, a PMS and a mail server.
type world struct {
	*e2etest.API
	t           *testing.T
	engine      string
	server      *program.Process
	desk        *desk
	mail        *smtptest.Server
	staff       string
	integration string

	resending sync.Mutex
	resent    map[string]bool // resent has the ids of the lost mails that staff sent again

	mu     sync.Mutex
	armed  reached       // armed is what kills the server next, or empty
	killed chan struct{} // killed is closed when the server has been killed at the armed point
}

// reached is a point of a guest's check-in.
type reached struct{ point, guestID string }

// open starts the property with a number of rooms, each with a lock.
func open(t *testing.T, engine string, rooms int) *world {
	t.Helper()
	dir := t.TempDir()
	at := porttest.ReserveN(t, 4)
	w := &world{t: t, engine: engine, resent: map[string]bool{}, mail: smtptest.Start(t, false)}
	var spaces []sandbox.Space
	var locks []sim.Spec
	for i := range rooms {
		spaces = append(spaces, sandbox.Space{ID: roomID(i), Type: "Room", Name: roomID(i), IsPrivate: true, IsActive: true})
		locks = append(locks, sim.Spec{Address: roomID(i), Profile: sim.Nuki, Battery: 90})
	}
	pmsDesk, deskURL := newDesk(t, spaces)
	w.desk = pmsDesk
	w.server = program.New(t, "latchkey", "http://"+at[3]+"/readyz", "serve", "--data-dir", filepath.Join(dir, "data"),
		"--listen-http", at[0], "--listen-grpc", at[1], "--listen-bridge", at[2], "--listen-ops", at[3], "--drain", "10ms",
		"--rate-per-minute", "100000000", "--rate-burst", "10000000", "--log-level", "warn",
		"--partner-allow", hostOf(deskURL), "--mail-allow", fmt.Sprintf("127.0.0.1:%d", w.mail.Port))
	w.server.Env = []string{"LATCHKEY_DATABASE=" + dbtest.URL(t, engine)}
	w.must(w.server.Start(t.Context()))
	w.API = e2etest.Dial(t, at[0], at[1], filepath.Join(dir, "data", "operator.sock"))
	w.createProperty()
	w.createDoors(filepath.Join(dir, "bridge"), at[1], locks)
	w.connectDesk(deskURL, rooms)
	w.desk.reach = func(m moment, id string) { w.reach(string(m), id) }
	w.mail.OnStep(func(s smtptest.Step, to string) { w.reach("mail "+string(s), strings.TrimSuffix(to, mailDomain)) })
	return w
}

func roomID(i int) string { return fmt.Sprintf("R%d", i) }

// guestID is the PMS's id of a guest's reservation, and the name in the guest's mail address.
func guestID(i int) string { return fmt.Sprintf("b-%d", i) }

const mailDomain = "@example.com"

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) asStaff() context.Context { return w.withStaff(w.t.Context()) }

// withStaff returns a context with the credentials of a member of the staff.
func (w *world) withStaff(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+w.staff)
}

func (w *world) createProperty() {
	ctx := w.t.Context()
	name, zone := "Grand Hotel", "UTC"
	p, err := adminv1.NewPropertyServiceClient(w.Socket).CreateProperty(ctx, &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}})
	w.must(err)
	token, err := adminv1.NewTokenServiceClient(w.Socket).CreateStaffToken(ctx, &adminv1.CreateStaffTokenRequest{PropertyId: p.GetData().GetId(), Role: "owner"})
	w.must(err)
	w.staff = token.GetToken()
	rule, rules := "none", "Quiet from 22:00."
	_, err = propertyv1.NewCheckInServiceClient(w.Public).UpdateCheckInSettings(w.asStaff(), &propertyv1.UpdateCheckInSettingsRequest{
		Settings: &propertyv1.CheckInSettingsChange{Rule: &rule, HouseRules: &rules},
	})
	w.must(err)
	host, port, security, from := "127.0.0.1", int32(w.mail.Port), "none", "desk@hotel.example"
	_, err = propertyv1.NewMailServiceClient(w.Public).UpdateMailSettings(w.asStaff(), &propertyv1.UpdateMailSettingsRequest{
		Settings: &propertyv1.MailSettingsChange{Host: &host, Port: &port, Security: &security, FromAddress: &from},
	})
	w.must(err)
}

// createDoors creates the rooms, and starts a bridge with a lock for each.
func (w *world) createDoors(dir, grpcAddr string, locks []sim.Spec) {
	ctx, staff := w.t.Context(), w.asStaff()
	doors := map[string]string{}
	for _, l := range locks {
		s, err := propertyv1.NewSpaceServiceClient(w.Public).CreateSpace(staff, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Room", Name: l.Address}})
		w.must(err)
		doors[l.Address] = s.GetData().GetId()
	}
	b, err := propertyv1.NewBridgeServiceClient(w.Public).CreateBridge(staff, &propertyv1.CreateBridgeRequest{Name: "Cellar"})
	w.must(err)
	w.runBridge(agent.Enrolment{Dir: dir, Address: grpcAddr, JoinCode: b.GetJoinCode(), Software: "test", Plaintext: true}, locks)
	api := propertyv1.NewLockServiceClient(w.Public)
	var found []*propertyv1.Lock
	w.must(program.Await(ctx, "the bridge shows its locks", func() (bool, error) {
		l, err := api.ListLocks(staff, &propertyv1.ListLocksRequest{PageSize: 200})
		found = l.GetData().GetList()
		return len(found) == len(locks), err
	}))
	for _, l := range found {
		door := doors[l.GetAddress()]
		_, err := api.AssignLock(staff, &propertyv1.AssignLockRequest{Id: l.GetId(), DoorId: &door})
		w.must(err)
	}
}

// runBridge runs a bridge until the test ends. It reconnects soon after each kill of the server.
func (w *world) runBridge(e agent.Enrolment, locks []sim.Spec) {
	_, err := agent.Enroll(w.t.Context(), e)
	w.must(err)
	site, err := sim.NewSite(sim.Config{Locks: locks})
	w.must(err)
	b, err := agent.New(w.t.Context(), agent.Config{
		Dir: e.Dir, Driver: site.Driver(), Log: slog.New(slog.DiscardHandler), Software: e.Software, Retry: 100 * time.Millisecond,
	})
	w.must(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		<-done
		if err := errors.Join(b.Close(), site.Close()); err != nil {
			w.t.Error(err)
		}
	})
}

// connectDesk connects the PMS, maps its rooms by name and switches invitations on.
func (w *world) connectDesk(url string, rooms int) {
	ctx := w.t.Context()
	app, err := adminv1.NewAppServiceClient(w.Socket).CreateApp(ctx, &adminv1.CreateAppRequest{Name: "PMS"})
	w.must(err)
	in, err := propertyv1.NewIntegrationServiceClient(w.Public).ConnectApp(w.asStaff(), &propertyv1.ConnectAppRequest{AppId: app.GetData().GetId(), Scopes: e2etest.Scopes})
	w.must(err)
	w.integration = in.GetData().GetId()
	w.desk.SetCredentials(w.Base, app.GetClientToken(), in.GetAccessToken())
	w.must(w.desk.Register(ctx, url))
	mappings := propertyv1.NewMappingServiceClient(w.Public)
	w.must(program.Await(ctx, "getSpaces is read", func() (bool, error) {
		l, err := mappings.ListPartnerSpaces(w.asStaff(), &propertyv1.ListPartnerSpacesRequest{IntegrationId: w.integration, PageSize: 200})
		return len(l.GetData().GetList()) == rooms, err
	}))
	_, err = mappings.ApplySuggestions(w.asStaff(), &propertyv1.ApplySuggestionsRequest{IntegrationId: w.integration})
	w.must(err)
	_, err = propertyv1.NewMailServiceClient(w.Public).SetInvitations(w.asStaff(), &propertyv1.SetInvitationsRequest{IntegrationId: w.integration, Enabled: true})
	w.must(err)
}

// book sends a reservation for tonight until the service acknowledges it.
func (w *world) book(ctx context.Context, g *guest) error {
	w.desk.SetConduct(g.id, sandbox.NoUpdate) // the desk sends the update itself, until it is acknowledged
	today := time.Now().UTC()
	return program.Await(ctx, "the reservation "+g.number+" is stored", func() (bool, error) {
		answer, err := w.desk.Push(ctx, g.id, map[string]any{
			"pmsNumber": g.number, "state": "confirmed", "roomId": g.room, "adultCount": 1,
			"fromDate": today.Format(time.DateOnly), "toDate": today.AddDate(0, 0, 2).Format(time.DateOnly),
			"booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": g.email},
		})
		return err == nil && answer.Status == http.StatusOK, err
	})
}

// arm makes the server be killed when a guest reaches a point, and returns a channel that closes then.
func (w *world) arm(point, guestID string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.killed = reached{point, guestID}, make(chan struct{})
	return w.killed
}

// reach kills the server if this point of the guest is armed.
func (w *world) reach(point, guestID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.armed != (reached{point, guestID}) {
		return
	}
	w.armed = reached{}
	w.server.Kill()
	close(w.killed)
}
