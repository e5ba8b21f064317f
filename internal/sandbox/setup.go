package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
)

// The property has three private rooms, a dorm with four beds that each have a locker, and a front door.
const (
	DormName  = "Dorm 4"
	FrontDoor = "Front door"
)

// RoomNames are the names of the private rooms, at the PMS and in the property.
var RoomNames = []string{"Room 101", "Room 102", "Room 103"}

// BedNames are the names of the beds in the dorm, at the PMS and in the property.
var BedNames = []string{"Bed A", "Bed B", "Bed C", "Bed D"}

// PMSSpaces returns the rooms and beds of the property as the PMS lists them.
func PMSSpaces() []Space {
	var out []Space
	for i, name := range RoomNames {
		out = append(out, Space{ID: fmt.Sprintf("R%d", 101+i), Type: "Room", Name: name, IsPrivate: true, IsActive: true})
	}
	out = append(out, Space{ID: "D4", Type: "Dorm", Name: DormName, IsActive: true})
	for _, name := range BedNames {
		out = append(out, Space{ID: "D4-" + name[len(name)-1:], Type: "Bed", Name: name, IsActive: true, ParentID: "D4"})
	}
	return out
}

// bedsPerDorm is the number of beds of a dorm that Config.Dorms adds.
const bedsPerDorm = 8

// furtherDorms returns n more dorms with their beds, named Dorm 5, Dorm 6 and so on.
func furtherDorms(n int) (out []Space) {
	for dorm := 5; dorm < 5+n; dorm++ {
		id := fmt.Sprintf("D%d", dorm)
		out = append(out, Space{ID: id, Type: "Dorm", Name: fmt.Sprintf("Dorm %d", dorm), IsActive: true})
		for i := range bedsPerDorm {
			bed := string(rune('A' + i))
			out = append(out, Space{ID: id + "-" + bed, Type: "Bed", Name: fmt.Sprintf("Bed %d%s", dorm, bed), IsActive: true, ParentID: id})
		}
	}
	return out
}

// furtherRooms returns n more private rooms. FurtherRoom(i) is the id of the i-th, from 0 on.
func furtherRooms(n int) (out []Space) {
	for i := range n {
		out = append(out, Space{ID: FurtherRoom(i), Type: "Room", Name: FurtherRoomName(i), IsPrivate: true, IsActive: true})
	}
	return out
}

// firstFurtherRoom is the number of the first room that Config.Rooms adds, above those of RoomNames.
const firstFurtherRoom = 1001

// FurtherRoom returns the PMS's id of a room that Config.Rooms adds, by its number from 0 on.
func FurtherRoom(i int) string { return fmt.Sprintf("R%d", firstFurtherRoom+i) }

// FurtherRoomName returns the name of a room that Config.Rooms adds, by its number from 0 on.
func FurtherRoomName(i int) string { return fmt.Sprintf("Room %d", firstFurtherRoom+i) }

// setUp creates the property, its spaces, bridge, locks and integration. With Play it also prepares self check-in and opens the play page.
func (w *World) setUp(ctx context.Context, c Config) error {
	for _, step := range []func(context.Context, Config) error{w.createProperty, w.createSpaces, w.createBridge, w.connectPMS, w.mapSpaces} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	if !c.Play {
		return nil
	}
	if err := w.setUpCheckIn(ctx, c.MandatoryGroups); err != nil {
		return err
	}
	return w.openPlay()
}

// mostTokenMinutes is the longest life of a token: a playground may run for weeks.
const mostTokenMinutes = 366 * 24 * 60

// createProperty creates the property and a staff token of its owner.
func (w *World) createProperty(ctx context.Context, _ Config) error {
	name, zone := demoProperty, demoZone
	p, err := adminv1.NewPropertyServiceClient(w.admin).CreateProperty(ctx, &adminv1.CreatePropertyRequest{
		Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone},
	})
	if err != nil {
		return err
	}
	w.PropertyID = p.GetData().GetId()
	t, err := adminv1.NewTokenServiceClient(w.admin).CreateStaffToken(ctx, &adminv1.CreateStaffTokenRequest{PropertyId: w.PropertyID, Name: "demo", Role: "owner", TtlMinutes: mostTokenMinutes})
	if err != nil {
		return err
	}
	w.StaffToken = t.GetToken()
	return nil
}

// Staff returns ctx with the staff token of the property's owner, for gRPC calls.
func (w *World) Staff(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+w.StaffToken)
}

// createSpaces creates the rooms, the dorm with its beds, and the front door.
func (w *World) createSpaces(ctx context.Context, _ Config) error {
	ctx = w.Staff(ctx)
	spaces := propertyv1.NewSpaceServiceClient(w.public)
	ids := map[string]string{} // ids has the property's id of each space by the PMS's id
	for _, s := range w.layout {
		r := &propertyv1.NewSpace{Type: s.Type, Name: s.Name, ParentSpaceId: ids[s.ParentID]}
		created, err := spaces.CreateSpace(ctx, &propertyv1.CreateSpaceRequest{Space: r})
		if err != nil {
			return fmt.Errorf("create %s: %w", s.Name, err)
		}
		ids[s.ID] = created.GetData().GetId()
		w.Spaces[s.Name] = ids[s.ID]
	}
	g, err := propertyv1.NewGateServiceClient(w.public).CreateGate(ctx, &propertyv1.CreateGateRequest{Name: FrontDoor})
	if err != nil {
		return err
	}
	w.Spaces[FrontDoor] = g.GetData().GetId()
	return nil
}

// createBridge enrols a bridge with a lock for every door, except those of Config.Rooms, and assigns each lock to its door.
func (w *World) createBridge(ctx context.Context, c Config) error {
	names := []string{FrontDoor}
	for _, s := range w.layout[:len(w.layout)-c.Rooms] {
		names = append(names, s.Name)
	}
	if err := w.createLocks(c, names); err != nil {
		return err
	}
	staff := w.Staff(ctx)
	b, err := propertyv1.NewBridgeServiceClient(w.public).CreateBridge(staff, &propertyv1.CreateBridgeRequest{Name: "Bridge in the office"})
	if err != nil {
		return err
	}
	if err := w.runBridge(ctx, c, b.GetJoinCode()); err != nil {
		return err
	}
	locks := propertyv1.NewLockServiceClient(w.public)
	var found *propertyv1.ListLocksResponse
	err = w.Await(ctx, "the bridge reports its locks", func(ctx context.Context) (bool, error) {
		found, err = locks.ListLocks(w.Staff(ctx), &propertyv1.ListLocksRequest{PageSize: 200})
		return len(found.GetData().GetList()) == len(names), err
	})
	if err != nil {
		return err
	}
	for _, l := range found.GetData().GetList() {
		door := w.Spaces[l.GetAddress()]
		if _, err := locks.AssignLock(staff, &propertyv1.AssignLockRequest{Id: l.GetId(), DoorId: &door}); err != nil {
			return fmt.Errorf("assign the lock of %s: %w", l.GetAddress(), err)
		}
		w.doors[door] = l.GetAddress()
	}
	return nil
}

// pmsName is the name of the PMS's app.
const pmsName = "Sandbox PMS"

// connectPMS connects the PMS as a partner app of the property, and creates the api-key. The PMS registers its endpoints. A second property
// uses the app of the first.
func (w *World) connectPMS(ctx context.Context, _ Config) error {
	if w.app == "" {
		app, err := adminv1.NewAppServiceClient(w.admin).CreateApp(ctx, &adminv1.CreateAppRequest{Name: pmsName})
		if err != nil {
			return err
		}
		w.app, w.ClientToken = app.GetData().GetId(), app.GetClientToken()
	}
	staff := w.Staff(ctx)
	i, err := propertyv1.NewIntegrationServiceClient(w.public).ConnectApp(staff, &propertyv1.ConnectAppRequest{
		AppId:  w.app,
		Scopes: []string{actor.ReservationsWrite, actor.ReservationsRead, actor.PINsRead, actor.GuestsRead, actor.EndpointsWrite, actor.WebhooksWrite},
	})
	if err != nil {
		return err
	}
	w.AccessToken, w.IntegrationID = i.GetAccessToken(), i.GetData().GetId()
	key, err := propertyv1.NewApiKeyServiceClient(w.public).CreateApiKey(staff, &propertyv1.CreateApiKeyRequest{})
	if err != nil {
		return err
	}
	w.APIKey = key.GetApiKey()
	w.PMS.SetCredentials("http://"+w.Server.HTTPAddr(), w.ClientToken, w.AccessToken)
	return w.PMS.Register(ctx, "http://"+w.pms.Addr().String())
}

// mapSpaces makes the service read getSpaces and maps the listed spaces to those of the property by name. It fails unless all are mapped.
func (w *World) mapSpaces(ctx context.Context, _ Config) error {
	mappings := propertyv1.NewMappingServiceClient(w.public)
	read := &propertyv1.ReadSpacesRequest{Id: w.IntegrationID}
	if _, err := propertyv1.NewIntegrationServiceClient(w.public).ReadSpaces(w.Staff(ctx), read); err != nil {
		return fmt.Errorf("read the PMS's spaces: %w", err)
	}
	m, err := mappings.ApplySuggestions(w.Staff(ctx), &propertyv1.ApplySuggestionsRequest{IntegrationId: w.IntegrationID})
	if err != nil {
		return fmt.Errorf("map the PMS's spaces: %w", err)
	}
	if n := len(m.GetData().GetList()); n != len(w.layout) {
		return fmt.Errorf("%d of %d spaces were mapped by name", n, len(w.layout))
	}
	return nil
}

// awaitTimeout is the timeout of Await.
const awaitTimeout = 30 * time.Second

// Await polls holds until it returns true, for at most awaitTimeout. Errors of holds count as false; the timeout error contains the last
// one. what completes its text, "waiting until ...". Await also fails if a part of the World does, and takes that error from Failures.
func (w *World) Await(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	pause := 20 * time.Millisecond
	for {
		ok, err := holds(ctx)
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("waiting until %s: %w", what, err)
			}
			return fmt.Errorf("timeout after %s: waiting until %s", awaitTimeout, what)
		case failed := <-w.failures:
			return fmt.Errorf("a part of the sandbox ended: %w", failed)
		case <-time.After(pause):
			pause = min(2*pause, 250*time.Millisecond)
		}
	}
}

// AddProperty sets up another property on the server of w, with its own PMS, bridge and locks. The PMS is the same partner app, and its
// rooms have the same names and ids. c.Server and c.Options have no effect. The server must allow partners on loopback. The new World ends
// with w; do not close it.
func (w *World) AddProperty(ctx context.Context, c Config) (*World, error) {
	n := &World{
		Server: w.Server, log: w.log, Spaces: map[string]string{}, doors: map[string]string{}, failures: make(chan error, 4),
		app: w.app, ClientToken: w.ClientToken,
	}
	w.mu.Lock()
	w.stops = append(w.stops, func() {
		n.Server = nil
		if err := n.Close(); err != nil {
			w.log.Error("closing a second property failed", slog.Any("error", err))
		}
	})
	w.mu.Unlock()
	if err := n.openPMSAndKeypads(c); err != nil {
		return nil, err
	}
	if err := n.dialServer(); err != nil {
		return nil, err
	}
	if err := n.setUp(ctx, c); err != nil {
		return nil, fmt.Errorf("set up the second property: %w", err)
	}
	return n, nil
}
