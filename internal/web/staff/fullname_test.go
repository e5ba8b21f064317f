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
}

func newTwoDorms() *twoDorms {
	h := &twoDorms{house: house{rights: []string{"readProperty", "readReservations", "readLocks", "manageAccess"}}}
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

// Wherever staff read or choose a bed, its name has the dorm, because beds of two dorms may have equal names.
func TestPagesNameTheDormOfABed(t *testing.T) {
	h := newTwoDorms()
	api := API{Sessions: h, Properties: h, Spaces: h, Integrations: h, Locks: h, Gates: h, Reservations: h}
	for path, each := range map[string]int{
		"/app/palette?q=bed":  3, // the stay, the room and the lock
		"/app/reservations":   1,
		"/app/locks":          1,
		"/app/codes/new":      1,
		"/app/palette?q=rm+8": -1,
	} {
		body := serve(t, api, path, nil).Body.String()
		six, eight := strings.Count(body, "Dorm 6 · Bed A"), strings.Count(body, "Dorm 8 · Bed A")
		if each < 0 && eight == 0 || each > 0 && (six != each || eight != each) {
			t.Errorf("%s names the beds %d and %d times, want %d: %s", path, six, eight, each, body)
		}
	}
}
