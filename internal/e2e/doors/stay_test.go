package doors

import (
	"context"
	"slices"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
)

const front = sandbox.FrontDoor

func both(t *testing.T, f func(t *testing.T, w *e2etest.World)) {
	t.Helper()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		t.Parallel()
		f(t, e2etest.Open(t, e2etest.Database(url)))
	})
}

func room(id string) map[string]any { return map[string]any{"roomId": id} }

func state(s string) map[string]any { return map[string]any{"state": s} }

func TestAStayFromBookingToCheckOut(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		g := arrives(t, w, "S", map[string]any{"state": "confirmed", "roomId": "R101"})
		if p, pin := g.sees(); p.status != "none" || pin != "" || p.doors["Room 101"] != "planned" || !slices.Equal(p.reasons, []string{"notCheckedIn"}) {
			t.Fatalf("booked: %+v %q", p, pin)
		}
		if p := g.push(state("started")); p.status != "issued" {
			t.Fatalf("checked in: %+v", p)
		}
		g.settles("issued")
		pin := g.pin()
		g.opens(pin, "Room 101", front)

		until := g.push(map[string]any{"toDate": e2etest.LocalDate(5)})
		if after := g.settles("issued"); until.to != e2etest.LocalDate(5)+"T11:00:00Z" || after.to != until.to || g.pin() != pin {
			t.Errorf("longer: %+v, then %+v; the PIN was %s and is %s", until, after, pin, g.pin())
		}
		g.opens(pin, "Room 101", front)

		writes := w.Site.WriteCount("Room 101")
		g.push(map[string]any{"booker": map[string]any{"email": "ada@example.com"}, "owing": 12, "owingCurrency": "EUR", "adultCount": 2})
		other := arrives(t, w, "OTHER", room("R101"))
		other.settles("issued")
		// The lock has worked off what came after the change that concerns no lock.
		if now := w.Site.WriteCount("Room 101"); now != writes+1 || g.pin() != pin {
			t.Errorf("a change that concerns no lock wrote to it: %d writes, then %d", writes, now)
		}
		other.leaves()

		if p := g.push(state("processed")); p.status != "removing" && p.status != "removed" {
			t.Errorf("checked out: %+v", p)
		}
		if _, shown := g.sees(); shown != "" {
			t.Errorf("the PIN of a guest who left is shown")
		}
		g.settles("removed")
		g.opens(pin)

		// The check-out was a mistake.
		g.push(state("started"))
		g.settles("issued")
		if again := g.pin(); again == pin {
			t.Error("a check-out that is taken back brings the old PIN back")
		} else {
			g.opens(pin)
			g.opens(again, "Room 101", front)
		}
	})
}

func TestStatesWithoutAccess(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		g := arrives(t, w, "S", room("R101"))
		for _, step := range []struct{ state, reason string }{
			{"confirmed", "notCheckedIn"}, {"enquired", "notFirm"}, {"requested", "notFirm"}, {"optional", "notFirm"}, {"processed", "checkedOut"}, {"canceled", "reservationCanceled"},
		} {
			g.push(state("started"))
			g.settles("issued")
			pin := g.pin()
			g.opens(pin, "Room 101", front)
			g.push(state(step.state))
			p := g.settles("removed")
			if !slices.Contains(p.reasons, step.reason) {
				t.Errorf("%s: reasons %v; want %s", step.state, p.reasons, step.reason)
			}
			g.opens(pin)
			if n := len(w.Site.Slots("Room 101")) + len(w.Site.Slots(front)); n != 0 {
				t.Errorf("%s: %d codes are left in the locks", step.state, n)
			}
		}
	})
}

func TestADormBedOpensItsLockerTheDormAndTheGate(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		a := arrives(t, w, "A", map[string]any{"bedId": "D4-A", "pmsMeta": map[string]any{"groupId": "G"}})
		b := arrives(t, w, "B", map[string]any{"bedId": "D4-B", "roomId": "D4", "pmsMeta": map[string]any{"groupId": "G"}})
		a.settles("issued")
		b.settles("issued")
		first, second := a.pin(), b.pin()
		if first == second {
			t.Fatal("two guests have the same PIN")
		}
		a.opens(first, "Bed A", sandbox.DormName, front)
		b.opens(second, "Bed B", sandbox.DormName, front)
		// Another bed of the same dorm: the dorm and the gate do not change.
		writes := w.Site.WriteCount(sandbox.DormName)
		b.push(map[string]any{"bedId": "D4-C"})
		b.settles("issued")
		w.Await("the old locker is empty", func(context.Context) (bool, error) { return len(w.Site.Slots("Bed B")) == 0, nil })
		b.opens(second, "Bed C", sandbox.DormName, front)
		if now := w.Site.WriteCount(sandbox.DormName); now != writes {
			t.Errorf("the dorm's lock was written to %d times for a change of beds", now-writes)
		}
		a.leaves()
		a.opens(first)
		b.opens(second, "Bed C", sandbox.DormName, front)
	})
}

func TestRoomMoveOpensNewDoorFirst(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		g := arrives(t, w, "S", room("R101"))
		g.settles("issued")
		pin := g.pin()
		// The new lock does not answer at first.
		if err := w.Site.Inject("Room 102", sim.Fault{Kind: sim.Lost}, sim.Fault{Kind: sim.Busy, After: 300 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		if p := g.push(room("R102")); p.status != "updating" || p.why["Room 101"] != "movingOut" {
			t.Errorf("moving: %+v", p)
		}
		g.awaitMove(pin, "Room 101", "Room 102")
		g.settles("issued")
		if now := g.pin(); now != pin {
			t.Errorf("the move changed the PIN from %s to %s", pin, now)
		}
		g.opens(pin, "Room 102", front)
	})
}

// Where nothing can be read back, the lock's word has to do, and the rest is the same.
func TestLocksThatCannotBeRead(t *testing.T) {
	for _, profile := range []string{sim.Zigbee2MQTT, sim.TTLock, sim.Nuki, sim.Matter} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := e2etest.Open(t, func(c *sandbox.Config) { c.Profile = profile })
			proof := append([]string{"accepted"}, proven...)
			g := arrives(t, w, "S", room("R101"))
			g.settlesWith("issued", proof)
			pin := g.pin()
			g.opens(pin, "Room 101", front)
			g.push(room("R102"))
			g.awaitMove(pin, "Room 101", "Room 102")
			g.settlesWith("issued", proof)
			g.opens(pin, "Room 102", front)
			g.leaves()
			g.opens(pin)
		})
	}
}

// Gates follow the room's lock; a setting grants them alone.
func TestGatesAlone(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		locks := propertyv1.NewLockServiceClient(w.Public)
		all, err := locks.ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{PageSize: 200})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all.GetData().GetList() {
			if l.GetAddress() != "Room 103" {
				continue
			}
			if _, err := locks.AssignLock(w.Staff(t.Context()), &propertyv1.AssignLockRequest{Id: l.GetId(), DoorId: new(string)}); err != nil {
				t.Fatal(err)
			}
		}
		g := arrives(t, w, "S", room("R103"))
		if p, pin := g.sees(); p.status != "none" || pin != "" || len(p.doors) != 1 || p.why["Room 103"] != "noLock" {
			t.Errorf("a room without a lock: %+v %q", p, pin)
		}
		alone := func(on bool) {
			t.Helper()
			_, err := propertyv1.NewPropertyServiceClient(w.Public).UpdateProperty(w.Staff(t.Context()), &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{GatesAlone: &on}})
			if err != nil {
				t.Fatal(err)
			}
		}
		alone(true)
		w.Await("the gate opens", func(context.Context) (bool, error) {
			p, _ := g.sees()
			return slices.Contains(proven, p.doors[front]), nil
		})
		pin := g.pin()
		if !types(t, w, front, pin) {
			t.Error("the gate stays shut")
		}
		alone(false)
		w.Await("the gate is shut", func(context.Context) (bool, error) { return len(w.Site.Slots(front)) == 0, nil })
		if types(t, w, front, pin) {
			t.Error("the gate opens still")
		}
	})
}

func TestASwapOfRoomsLocksTheOldDoorsAtOnce(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		a, b := arrives(t, w, "A", room("R101")), arrives(t, w, "B", room("R102"))
		a.settles("issued")
		b.settles("issued")
		first, second := a.pin(), b.pin()
		a.push(room("R102"))
		b.push(room("R101"))
		a.settles("issued")
		b.settles("issued")
		for door := range map[string]bool{"Room 101": true, "Room 102": true} {
			w.Await("one code is in "+door, func(context.Context) (bool, error) { return len(w.Site.Slots(door)) == 1, nil })
		}
		a.opens(first, "Room 102", front)
		b.opens(second, "Room 101", front)
	})
}

func TestSharedRoomOpensForBothAndNotifiesStaff(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		a, b := arrives(t, w, "A", room("R101")), arrives(t, w, "B", room("R101"))
		if p := b.settles("issued"); !slices.Contains(p.reasons, "spaceShared") {
			t.Errorf("reasons %v", p.reasons)
		}
		a.settles("issued")
		a.opens(a.pin(), "Room 101", front)
		b.opens(b.pin(), "Room 101", front)
		notices, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(t.Context()), &propertyv1.ListNoticesRequest{})
		isShared := func(n *propertyv1.Notice) bool { return n.GetKind() == "spaceShared" && n.GetStands() }
		if err != nil || !slices.ContainsFunc(notices.GetData().GetList(), isShared) {
			t.Errorf("notices %v %v", notices, err)
		}
		pin := b.pin()
		a.leaves()
		b.opens(pin, "Room 101", front)
	})
}

func TestResetGeneratesNewCodes(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		g := arrives(t, w, "S", room("R101"))
		g.settles("issued")
		old := g.pin()
		reset := func(what string) {
			t.Helper()
			if o, err := w.Do(t.Context(), w.Partner(), "POST", "/v1/reservations/resetKeyChain", map[string]any{"pmsId": "S", "reset": what}); err != nil || !o.OK() {
				t.Fatal(o, err)
			}
		}
		reset("pin")
		g.settles("issued")
		w.Await("the old PIN is gone", func(context.Context) (bool, error) {
			return !types(t, w, "Room 101", old) && !types(t, w, front, old), nil
		})
		now := g.pin()
		g.opens(now, "Room 101", front)
		reset("gatesKeyChain")
		w.Await("the gate has a PIN of its own", func(context.Context) (bool, error) { return !types(t, w, front, now), nil })
		g.settles("issued")
		a, err := w.PMS.Do(t.Context(), "GET", "/v1/reservations/find?pmsId=S&extend=gatePins", nil)
		if err != nil {
			t.Fatal(err)
		}
		gates, _ := a.Data()["gatesPins"].([]any)
		if len(gates) != 1 {
			t.Fatal(a)
		}
		g.opens(e2etest.ValueAt(gates[0], "pin").(string), front)
		g.opens(now, "Room 101")
	})
}

// A booking is never lost to a mapping: what is unknown today opens once it is known.
func TestSpaceMappedLater(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		staff := w.Staff(t.Context())
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		locks := propertyv1.NewLockServiceClient(w.Public)
		all, err := locks.ListLocks(staff, &propertyv1.ListLocksRequest{PageSize: 200})
		must(err)
		var lock string
		for _, l := range all.GetData().GetList() {
			if l.GetAddress() == "Room 103" {
				lock = l.GetId()
			}
		}
		// Room 103's lock is taken off: nothing opens, and the plan says so.
		_, err = locks.AssignLock(staff, &propertyv1.AssignLockRequest{Id: lock, DoorId: new(string)})
		must(err)
		g := arrives(t, w, "S", room("R103"))
		if p, _ := g.sees(); p.status != "none" || !slices.Contains(p.reasons, "noLock") {
			t.Errorf("without a lock: %+v", p)
		}
		// The PMS puts the guest into a room that is not mapped yet, which gets that lock.
		g.push(room("R999"))
		if p, _ := g.sees(); !slices.Contains(p.reasons, "spaceUnknown") {
			t.Errorf("in an unknown room: %+v", p)
		}
		w.PMS.SetSpaces(append(sandbox.PMSSpaces(), sandbox.Space{ID: "R999", Type: "Room", Name: "Tower", IsPrivate: true, IsActive: true}))
		_, err = propertyv1.NewIntegrationServiceClient(w.Public).ReadSpaces(staff, &propertyv1.ReadSpacesRequest{Id: w.IntegrationID})
		must(err)
		if p, _ := g.sees(); !slices.Contains(p.reasons, "spaceNotMapped") {
			t.Errorf("in a room that is not mapped: %+v", p)
		}
		tower, err := propertyv1.NewSpaceServiceClient(w.Public).CreateSpace(staff, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Room", Name: "Tower"}})
		must(err)
		_, err = propertyv1.NewMappingServiceClient(w.Public).SetMapping(staff, &propertyv1.SetMappingRequest{IntegrationId: w.IntegrationID, ExternalId: "R999", SpaceId: tower.GetData().GetId()})
		must(err)
		if p, _ := g.sees(); !slices.Contains(p.reasons, "noLock") {
			t.Errorf("in a room without a lock: %+v", p)
		}
		_, err = locks.AssignLock(staff, &propertyv1.AssignLockRequest{Id: lock, DoorId: &tower.Data.Id})
		must(err)
		g.settles("issued")
		pin := g.pin()
		if p, err := w.Site.Press("Room 103", slot.PIN(pin)); err != nil || !p.Opened {
			t.Errorf("the tower's lock: %+v %v", p, err)
		}
		if !types(t, w, front, pin) {
			t.Error("the front door stays shut")
		}
	})
}
