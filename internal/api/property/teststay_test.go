package property

import (
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
)

// A test stay is booked, checked in and ended. It belongs to one property, and a new one ends the former.
func TestTestStay(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		check(a, a.w.deps.Keys.EnsureKey(a.ctx, a.id))
		open := func(x *tenant) (state, number string) {
			found, err := x.TestStay.GetTestStay(x.ctx, &propertyv1.GetTestStayRequest{})
			if fault.Has(err, fault.ReservationNotFound) {
				return "none", ""
			}
			check(x, err)
			return found.GetData().GetState(), found.GetData().GetNumber()
		}
		if state, _ := open(a); state != "none" {
			a.Errorf("before the first: %s", state)
		}
		if _, err := a.TestStay.StartTestStay(a.ctx, &propertyv1.StartTestStayRequest{SpaceId: b.room("Other")}); !fault.Has(err, fault.SpaceNotFound) {
			a.Errorf("a room of another property: %v", err)
		}
		made, err := a.TestStay.StartTestStay(a.ctx, &propertyv1.StartTestStayRequest{SpaceId: a.room("Room 101")})
		check(a, err)
		first := made.GetData()
		if first.GetState() != "confirmed" || first.GetSpaceName() != "Room 101" || len(first.GetDoors()) != 0 {
			a.Errorf("booked: %v", first)
		}
		link, err := guest.LookUpLink(a.w.d.View(a.ctx), a.w.deps.Keys, made.GetLink())
		check(a, err)
		if link.Reservation.ID != first.GetReservationId() {
			a.Errorf("the link opens %s", link.Reservation.ID)
		}
		started, err := a.TestStay.CheckInTestStay(a.ctx, &propertyv1.CheckInTestStayRequest{})
		check(a, err)
		if started.GetData().GetState() != "started" || len(started.GetData().GetDoors()) != 1 {
			a.Errorf("checked in: %v", started.GetData())
		}
		if state, _ := open(b); state != "none" {
			a.Errorf("another property has the stay, %s", state)
		}
		again, err := a.TestStay.StartTestStay(a.ctx, &propertyv1.StartTestStayRequest{SpaceId: a.room("Room 102")})
		check(a, err)
		if state, number := open(a); state != "confirmed" || number != again.GetData().GetNumber() {
			a.Errorf("after the second: %s %s", state, number)
		}
		former, err := a.Reservation.ListReservations(a.ctx, &propertyv1.ListReservationsRequest{Ids: []string{first.GetReservationId()}})
		check(a, err)
		if got := former.GetData().GetList()[0].GetState(); got != "processed" {
			a.Errorf("the former test stay is %s", got)
		}
		_, err = a.TestStay.CheckInTestStay(a.ctx, &propertyv1.CheckInTestStayRequest{})
		check(a, err)
		a.w.clock.Advance(25 * time.Hour)
		if state, _ := open(a); state != "started" {
			a.Errorf("a test stay that was not ended in time is %s, and cannot be ended", state)
		}
		_, err = a.TestStay.EndTestStay(a.ctx, &propertyv1.EndTestStayRequest{})
		check(a, err)
		if _, err := a.TestStay.EndTestStay(a.ctx, &propertyv1.EndTestStayRequest{}); !fault.Has(err, fault.ReservationNotFound) {
			a.Errorf("after the end: %v", err)
		}
	})
}

func check(x *tenant, err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}
