package staff

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// house is an API of a property with rooms, whose person has the rights.
type house struct {
	propertyv1.SessionServiceClient
	propertyv1.PropertyServiceClient
	propertyv1.SpaceServiceClient
	propertyv1.IntegrationServiceClient
	propertyv1.MappingServiceClient
	propertyv1.LockServiceClient
	propertyv1.GateServiceClient
	rights   []string
	rooms    []*propertyv1.Space
	atPMS    []*propertyv1.PartnerSpace
	locks    []*propertyv1.Lock
	gates    []*propertyv1.Gate
	lockAsks int
}

func (h *house) GetSession(context.Context, *propertyv1.GetSessionRequest, ...grpc.CallOption) (*propertyv1.GetSessionResponse, error) {
	return &propertyv1.GetSessionResponse{Data: &propertyv1.CurrentSession{
		Session: &propertyv1.Session{Id: "ses_1"}, Properties: []*propertyv1.PersonProperty{{PropertyId: "prp_1", Name: "Hotel", Rights: h.rights}},
	}}, nil
}

func (h *house) GetProperty(context.Context, *propertyv1.GetPropertyRequest, ...grpc.CallOption) (*propertyv1.GetPropertyResponse, error) {
	return &propertyv1.GetPropertyResponse{Data: &propertyv1.Property{TimeZone: "Europe/Madrid"}}, nil
}

func (h *house) ListSpaces(context.Context, *propertyv1.ListSpacesRequest, ...grpc.CallOption) (*propertyv1.ListSpacesResponse, error) {
	return &propertyv1.ListSpacesResponse{Data: &propertyv1.SpaceList{List: h.rooms}}, nil
}

func (h *house) ListIntegrations(context.Context, *propertyv1.ListIntegrationsRequest, ...grpc.CallOption) (*propertyv1.ListIntegrationsResponse, error) {
	return &propertyv1.ListIntegrationsResponse{Data: &propertyv1.IntegrationList{List: []*propertyv1.Integration{{Id: "int_1", AppId: new("app_1"), Name: "PMS"}}}}, nil
}

func (h *house) ListPartnerSpaces(context.Context, *propertyv1.ListPartnerSpacesRequest, ...grpc.CallOption) (*propertyv1.ListPartnerSpacesResponse, error) {
	return &propertyv1.ListPartnerSpacesResponse{Data: &propertyv1.PartnerSpaceList{List: h.atPMS}}, nil
}

func (h *house) ListConflicts(context.Context, *propertyv1.ListConflictsRequest, ...grpc.CallOption) (*propertyv1.ListConflictsResponse, error) {
	return &propertyv1.ListConflictsResponse{}, nil
}

func (h *house) ListLocks(_ context.Context, r *propertyv1.ListLocksRequest, _ ...grpc.CallOption) (*propertyv1.ListLocksResponse, error) {
	h.lockAsks++
	if len(r.GetDoorIds()) == 0 || len(r.GetDoorIds()) > wholePage {
		return nil, fault.New(fault.Invalid, "", "want the doors of the page")
	}
	return &propertyv1.ListLocksResponse{Data: &propertyv1.LockList{List: h.locks}}, nil
}

func (h *house) ListGates(context.Context, *propertyv1.ListGatesRequest, ...grpc.CallOption) (*propertyv1.ListGatesResponse, error) {
	return &propertyv1.ListGatesResponse{Data: &propertyv1.GateList{List: h.gates}}, nil
}

// largeHouse has 200 rooms that are not mapped and as many spaces at the PMS. The first rooms have locks in different states, the last has
// none.
func largeHouse(rights ...string) *house {
	h := &house{rights: rights}
	at := before(time.Minute)
	for i := range 200 {
		id := fmt.Sprintf("spc_01jd8vx3a2b4c6d8e0f2g4h%03d", i)
		h.rooms = append(h.rooms, &propertyv1.Space{Id: id, Type: "Room", Name: fmt.Sprintf("Deluxe double room %03d", i), Floor: "2", IsActive: true})
		h.atPMS = append(h.atPMS, &propertyv1.PartnerSpace{
			ExternalId: fmt.Sprintf("pms-room-%03d", i), Type: "Room", Name: fmt.Sprintf("Double with terrace %03d", i), State: "unmapped", IsActive: true,
		})
		if i < 199 {
			h.locks = append(h.locks, &propertyv1.Lock{
				Id: fmt.Sprintf("lck_01jd8vx3a2b4c6d8e0f2g4h%03d", i), Name: fmt.Sprintf("Lock %03d", i), DoorId: &id,
				Status: &propertyv1.LockStatus{Online: i%2 == 0, LastSeenAt: at, Bolt: "locked", BatteryPercent: new(int32(12)), BatteryLow: i%2 == 1},
			})
		}
	}
	h.locks[0].Status.BatteryPercent = new(int32(90))
	h.locks[2].Status.Bolt = "jammed"
	h.locks[4].Status.BatteryPercent = nil
	h.gates = []*propertyv1.Gate{
		{Id: "gat_1", Name: "Front door"}, {Id: "gat_2", Name: "Garage", SpaceIds: []string{h.rooms[0].GetId()}}, {Id: "gat_3", Name: "Sauna", SpaceIds: []string{h.rooms[0].GetId()}},
	}
	return h
}

// page returns a page of the dashboard as the person sees it. rows is the chosen number of rows.
func (h *house) page(t *testing.T, path, rows string) string {
	t.Helper()
	k, err := kit.New(kit.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Secure: func(*http.Request) bool { return false }, Now: func() time.Time { return noon },
		As:    func(ctx context.Context, _ *http.Request, _ kit.Credential) context.Context { return ctx },
		Fault: func(err error) *fault.Fault { return fault.New(fault.Internal, "", err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := New(k, API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Mappings: h, Locks: h, Gates: h})
	if err != nil {
		t.Fatal(err)
	}
	r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	for name, value := range map[string]string{sessionCookie: "token", rowsCookie: rows} {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	pages.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// rowOf returns the row of the table with this name.
func rowOf(t *testing.T, page, name string) string {
	t.Helper()
	for row := range strings.SplitSeq(page, "<tr>") {
		if strings.Contains(row, name+"</a>") {
			return row[:strings.Index(row, "</tr>")]
		}
	}
	t.Fatalf("the page has no row of %s", name)
	return ""
}

// Each row says what is wrong with its lock, the level of its battery if that is known, and which gates its guests open. The largest page stays small, and needs one call for its locks.
func TestSpacesShowLocksAndGates(t *testing.T) {
	h := largeHouse("readProperty", "readLocks", "manageSpaces")
	first, last := h.page(t, "/app/spaces", "100"), h.page(t, "/app/spaces?page=2", "100")
	if h.lockAsks != 2 {
		t.Errorf("two pages read locks %d times", h.lockAsks)
	}
	for rows, page := range map[int]string{mostSpaces: first, spaceRows: h.page(t, "/app/spaces", "50"), 25: h.page(t, "/app/spaces", "25")} {
		if n := strings.Count(page, "<tr>") - 1; n != rows || len(page) > 150_000 {
			t.Errorf("%d rows, want %d, have %d bytes", n, rows, len(page))
		}
	}
	for _, c := range []struct {
		page, room  string
		says, omits []string
	}{
		{first, "room 000", []string{">Lock 000</a> <span class=\"quiet\">Battery 90 %</span>", "Gates: Front door, Garage", "And 1 more."}, []string{"Offline", "Jammed", "Sauna"}},
		{first, "room 001", []string{"Offline", "chip bad", "Battery 12 %", "Gates: Front door<"}, []string{"more.", `quiet">Battery`}},
		{first, "room 002", []string{"Jammed", `<span class="quiet">Battery 12 %</span>`}, []string{"Offline"}},
		{first, "room 004", []string{">Lock 004</a>"}, []string{"Offline", "Battery"}},
		{last, "room 199", []string{"No lock", "Gates: Front door<"}, []string{"Offline", "Battery"}},
	} {
		row := rowOf(t, c.page, "Deluxe double "+c.room)
		for _, text := range c.says {
			if !strings.Contains(row, text) {
				t.Errorf("%s does not say %q: %s", c.room, text, row)
			}
		}
		for _, text := range c.omits {
			if strings.Contains(row[strings.LastIndex(row, "<td"):], text) {
				t.Errorf("%s says %q: %s", c.room, text, row)
			}
		}
	}
}

// A person who may not read locks sees the gates of a room, and nothing of its lock.
func TestSpacesWithoutLocks(t *testing.T) {
	h := largeHouse("readProperty")
	page := h.page(t, "/app/spaces", "50")
	row := rowOf(t, page, "Deluxe double room 001")
	if h.lockAsks != 0 || strings.Contains(page, "No lock") || strings.Contains(row, "Offline") || !strings.Contains(row, "Gates: Front door") {
		t.Errorf("%d calls for locks: %s", h.lockAsks, row)
	}
}

func TestUnreadSpacesHaveATextForEachReason(t *testing.T) {
	for _, reason := range unreadReasons {
		checkTexts(t, "staff.unread."+string(reason))
	}
}

// Options of equal names have the id of the PMS, or say that the PMS lists the space no more. They are sorted by dorm and bed.
func TestChoicesOfEqualNames(t *testing.T) {
	room := func(id, name, state, at string) *propertyv1.PartnerSpace {
		return &propertyv1.PartnerSpace{ExternalId: id, Type: "Room", Name: name, State: state, SpaceId: &at, IsActive: true}
	}
	bed := func(id, dorm, name string) *propertyv1.PartnerSpace {
		return &propertyv1.PartnerSpace{ExternalId: id, Type: "Bed", Name: name, ParentName: &dorm, State: "unmapped", IsActive: true}
	}
	d := spacesData{listed: []*propertyv1.PartnerSpace{
		room("r-3", "Room 102", "unmapped", ""), room("r-2", "Room 101", "unmapped", ""), room("r-1", "Room 101", "gone", "spc_1"), room("r-5", "Room 103", "unmapped", ""),
		room("r-4", "Room 103", "unmapped", ""), bed("b-3", "Dorm 10", "Bed A"), bed("b-2", "Dorm 6", "Bed B"), bed("b-1", "Dorm 6", "Bed A"),
	}}
	sortByName(d.listed)
	w := (&page{}).Words
	for kind, want := range map[string]string{
		"Room": "r-2 Room 101 (r-2), r-1 Room 101 (no longer listed), r-3 Room 102, r-5 Room 103 (r-5), r-4 Room 103 (r-4)",
		"Bed":  "b-1 Dorm 6 · Bed A, b-2 Dorm 6 · Bed B, b-3 Dorm 10 · Bed A, r-1 Room 101",
	} {
		var got []string
		for _, o := range d.choices(w, &propertyv1.Space{Id: "spc_1", Type: kind}, "", 40)[1:] {
			got = append(got, o.Value+" "+o.Text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("of a %s: %s, want %s", kind, strings.Join(got, ", "), want)
		}
	}
}

func TestGatesOf(t *testing.T) {
	dorm := "d"
	all := []*propertyv1.Gate{{Name: "Front door"}, {Name: "Sauna", SpaceIds: []string{"r1"}}, {Name: "Wing", SpaceIds: []string{"d", "r2"}}}
	for _, c := range []struct {
		space *propertyv1.Space
		want  []string
	}{
		{&propertyv1.Space{Id: "r1"}, []string{"Front door", "Sauna"}},
		{&propertyv1.Space{Id: "r3"}, []string{"Front door"}},
		{&propertyv1.Space{Id: "d"}, []string{"Front door", "Wing"}},
		{&propertyv1.Space{Id: "b1", ParentSpaceId: &dorm}, []string{"Front door", "Wing"}},
	} {
		var names []string
		for _, g := range gatesOf(c.space, all) {
			names = append(names, g.GetName())
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s opens %v", c.space.GetId(), names)
		}
	}
}
