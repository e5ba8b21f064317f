package staff

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// twoDorms is an API of a property with two dorms. Each has a Bed A with a lock and a guest.
type twoDorms struct {
	house
	propertyv1.ReservationServiceClient
	propertyv1.DayServiceClient
	propertyv1.TestStayServiceClient
}

func newTwoDorms() *twoDorms {
	h := &twoDorms{house: house{rights: []string{"readProperty", "readReservations", "readLocks", "manageAccess", "manageSettings"}}}
	for _, number := range []string{"6", "8"} {
		dorm, bed, name := "spc_dorm"+number, "spc_bed"+number, "Dorm "+number
		h.rooms = append(h.rooms,
			&propertyv1.Space{Id: dorm, Type: "Dorm", Name: name, IsActive: true}, &propertyv1.Space{Id: bed, Type: "Bed", Name: "Bed A", ParentSpaceId: &dorm, IsActive: true})
		h.locks = append(h.locks, &propertyv1.Lock{Id: "lck_" + number, Name: "Lock", DoorId: &bed, DoorName: new("Bed A"), DoorParentName: &name, Status: &propertyv1.LockStatus{}})
	}
	return h
}

func (h *twoDorms) ListLocks(context.Context, *propertyv1.ListLocksRequest, ...grpc.CallOption) (*propertyv1.ListLocksResponse, error) {
	return &propertyv1.ListLocksResponse{Data: &propertyv1.LockList{List: h.locks}}, nil
}

func (h *twoDorms) ListReservations(context.Context, *propertyv1.ListReservationsRequest, ...grpc.CallOption) (*propertyv1.ListReservationsResponse, error) {
	list := &propertyv1.ReservationList{}
	for _, l := range h.locks {
		list.List = append(list.List, &propertyv1.Reservation{Id: "rsv_" + l.GetId(), LastName: "Lovelace", SpaceName: l.DoorName, ParentSpaceName: l.DoorParentName})
	}
	return &propertyv1.ListReservationsResponse{Data: list}, nil
}

func (h *twoDorms) ListDay(context.Context, *propertyv1.ListDayRequest, ...grpc.CallOption) (*propertyv1.ListDayResponse, error) {
	list := &propertyv1.DayList{Date: "2026-11-21", Counts: &propertyv1.DayCounts{}}
	for _, l := range h.locks {
		fix := &propertyv1.ArrivalFix{Severity: "blocks", Text: "Give the door a lock.", DoorName: l.DoorName, DoorParentName: l.DoorParentName}
		list.List = append(list.List, &propertyv1.DayStay{ReservationId: "rsv_" + l.GetId(), Verdict: "notReady", Fixes: []*propertyv1.ArrivalFix{fix}, CheckIn: &propertyv1.DayCheckIn{}})
	}
	return &propertyv1.ListDayResponse{Data: list}, nil
}

func (h *twoDorms) GetTestStay(context.Context, *propertyv1.GetTestStayRequest, ...grpc.CallOption) (*propertyv1.GetTestStayResponse, error) {
	stay := &propertyv1.TestStay{ReservationId: "rsv_1", State: "started"}
	for _, l := range h.locks {
		stay.Doors = append(stay.Doors, &propertyv1.TestDoor{Name: l.GetDoorName(), ParentName: l.GetDoorParentName(), Pin: "verified"})
	}
	return &propertyv1.GetTestStayResponse{Data: stay}, nil
}

// Wherever staff read or choose a bed, its name has the dorm, because beds of two dorms may have equal names.
func TestPagesNameTheDormOfABed(t *testing.T) {
	h := newTwoDorms()
	api := API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Locks: h, Gates: h, Reservations: h, Days: h, TestStays: h}
	for path, each := range map[string]int{
		"/app/palette?q=bed":  3, // the stay, the room and the lock
		"/app/reservations":   1,
		"/app/locks":          1,
		"/app/codes/new":      1,
		"/app/today":          1, // what to fix
		"/app/setup/arrival":  1, // the doors of a test stay
		"/app/palette?q=rm+8": -1,
	} {
		body := serve(t, api, path, nil).Body.String()
		six, eight := strings.Count(body, "Dorm 6 · Bed A"), strings.Count(body, "Dorm 8 · Bed A")
		if each < 0 && eight == 0 || each > 0 && (six != each || eight != each) {
			t.Errorf("%s names the beds %d and %d times, want %d: %s", path, six, eight, each, body)
		}
	}
}
