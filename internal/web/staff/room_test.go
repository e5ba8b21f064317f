package staff

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// twoPMSs is a property with one room and two PMSs. asked is the PMS whose spaces were read last.
type twoPMSs struct {
	house
	asked, mapped string
	one           bool
}

func (h *twoPMSs) ListIntegrations(context.Context, *propertyv1.ListIntegrationsRequest, ...grpc.CallOption) (*propertyv1.ListIntegrationsResponse, error) {
	list := []*propertyv1.Integration{{Id: "int_1", AppId: new("app_1"), Name: "First"}, {Id: "int_2", AppId: new("app_2"), Name: "Second"}}
	if h.one {
		list = list[:1]
	}
	return &propertyv1.ListIntegrationsResponse{Data: &propertyv1.IntegrationList{List: list}}, nil
}

func (h *twoPMSs) ListPartnerSpaces(_ context.Context, r *propertyv1.ListPartnerSpacesRequest, _ ...grpc.CallOption) (*propertyv1.ListPartnerSpacesResponse, error) {
	h.asked = r.GetIntegrationId()
	return &propertyv1.ListPartnerSpacesResponse{Data: &propertyv1.PartnerSpaceList{List: h.atPMS}}, nil
}

func (h *twoPMSs) GetSpace(context.Context, *propertyv1.GetSpaceRequest, ...grpc.CallOption) (*propertyv1.GetSpaceResponse, error) {
	return &propertyv1.GetSpaceResponse{Data: h.rooms[0]}, nil
}

func (h *twoPMSs) BatchSetMappings(_ context.Context, r *propertyv1.BatchSetMappingsRequest, _ ...grpc.CallOption) (*propertyv1.BatchSetMappingsResponse, error) {
	h.mapped = r.GetIntegrationId()
	return &propertyv1.BatchSetMappingsResponse{}, nil
}

func (h *twoPMSs) ListLocks(_ context.Context, r *propertyv1.ListLocksRequest, _ ...grpc.CallOption) (*propertyv1.ListLocksResponse, error) {
	return &propertyv1.ListLocksResponse{Data: &propertyv1.LockList{List: h.locks}}, nil
}

// The page of a room is about the PMS from whose list the person comes.
func TestRoomOfTheChosenPMS(t *testing.T) {
	h := &twoPMSs{house: *largeHouse("readProperty", "manageSpaces", "readLocks", "manageLocks")}
	h.rooms, h.locks = h.rooms[:1], h.locks[:1]
	id := h.rooms[0].GetId()
	api := API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Mappings: h, Locks: h, Gates: h}
	get := func(path string) string { return serve(t, api, path, nil).Body.String() }
	at := "/app/spaces/rooms/" + id
	if list := get("/app/spaces?pms=int_2"); !strings.Contains(list, `href="`+at+`?pms=int_2"`) {
		t.Errorf("the list does not lead to the room at the second PMS: %s", list)
	}
	page := get(at + "?pms=int_2")
	for _, want := range []string{`action="` + at + `?pms=int_2"`, `action="` + at + `/lock?pms=int_2"`, `data-page="` + at + `?pms=int_2"`, `href="/app/spaces?pms=int_2"`, "Second"} {
		if !strings.Contains(page, want) {
			_, main, _ := strings.Cut(page, "<h1>")
			t.Errorf("the room at the second PMS lacks %s: %s", want, main)
		}
	}
	if h.asked != "int_2" {
		t.Errorf("the page shows the spaces of %s", h.asked)
	}
	a := serve(t, api, at+"?pms=int_2", url.Values{"do": {"map"}, "pms": {"int_2"}, "was": {""}, "map": {"pms-room-000"}})
	if to := a.Header().Get("Location"); to != at+"?done=saved&pms=int_2" || h.mapped != "int_2" {
		t.Errorf("mapped at %s, to %q: %s", h.mapped, to, a.Body)
	}
	h.one = true
	if page := get(at); strings.Contains(page, "?pms=") {
		t.Errorf("the room at the only PMS: %s", page)
	}
}

// The page of a room shows its lock with the level and the age of its battery, and leads to the page of the lock. A person who may not
// read locks sees nothing of it.
func TestRoomShowsTheBattery(t *testing.T) {
	for name, c := range map[string]struct {
		rights      []string
		status      *propertyv1.LockStatus
		says, omits []string
	}{
		"fresh": {[]string{"readLocks"}, &propertyv1.LockStatus{Online: true, BatteryPercent: new(int32(64)), BatteryObservedAt: before(2 * time.Hour)},
			[]string{`<a href="/app/locks/lck_1">Lock 1</a>`, "Model 1", "Battery 64 %", "11:00</time>"}, []string{"Offline"}},
		"low": {[]string{"readLocks"}, &propertyv1.LockStatus{BatteryPercent: new(int32(7)), BatteryLow: true, BatteryObservedAt: before(48 * time.Hour)},
			[]string{"Offline", "chip bad", "Battery 7 %", "Sun 22 Nov 13:00"}, nil},
		"not known":          {[]string{"readLocks"}, &propertyv1.LockStatus{Online: true}, []string{"Battery not known"}, []string{" ago"}},
		"without permission": {nil, &propertyv1.LockStatus{BatteryPercent: new(int32(64))}, nil, []string{"Lock", "lck_1", "Battery", "No lock", "its-lock"}},
	} {
		h := &twoPMSs{house: *largeHouse(append(c.rights, "readProperty")...), one: true}
		h.rooms, h.locks = h.rooms[:1], []*propertyv1.Lock{{Id: "lck_1", Name: "Lock 1", Model: "Model 1", DoorId: new(h.rooms[0].GetId()), Status: c.status}}
		api := API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Mappings: h, Locks: h, Gates: h}
		_, main, _ := strings.Cut(serve(t, api, "/app/spaces/rooms/"+h.rooms[0].GetId(), nil).Body.String(), "<h1>")
		main, _, _ = strings.Cut(main, "</main>")
		for _, text := range c.says {
			if !strings.Contains(main, text) {
				t.Errorf("%s: the page lacks %q: %s", name, text, main)
			}
		}
		for _, text := range c.omits {
			if strings.Contains(main, text) {
				t.Errorf("%s: the page says %q: %s", name, text, main)
			}
		}
	}
}
