package doors

import (
	"context"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/lock/slot"
)

// lockAt is the lock of a door as staff see it, with its slots.
func lockAt(ctx context.Context, t *testing.T, w *e2etest.World, door string) *propertyv1.GetLockResponse {
	t.Helper()
	locks := propertyv1.NewLockServiceClient(w.Public)
	list, err := locks.ListLocks(w.Staff(ctx), &propertyv1.ListLocksRequest{PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list.GetData().GetList() {
		if l.GetDoorName() != door {
			continue
		}
		got, err := locks.GetLock(w.Staff(ctx), &propertyv1.GetLockRequest{Id: l.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	t.Fatalf("no lock at %s", door)
	return nil
}

// A code that was set by hand at the lock is found, listed and not touched; the stay gets another slot.
func TestForeignCodeIsNotTouched(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		const theirs = "864209"
		if err := w.Site.Program("Room 101", 1, slot.PIN(theirs)); err != nil {
			t.Fatal(err)
		}
		before := lockAt(t.Context(), t, w, "Room 101").GetData().GetStatus().GetSlotsFree()
		g := arrives(t, w, "S", room("R101"))
		g.settles("issued")
		g.opens(g.pin(), "Room 101", front)
		l := lockAt(t.Context(), t, w, "Room 101")
		unmanaged := 0
		for _, s := range l.GetSlots() {
			if s.GetUnmanaged() {
				unmanaged++
			}
		}
		if free := l.GetData().GetStatus().GetSlotsFree(); unmanaged != 1 || free != before-2 {
			t.Errorf("%d places with a code that is not ours, %d free; %d were", unmanaged, free, before)
		}
		g.leaves()
		if !types(t, w, "Room 101", theirs) {
			t.Error("a code that is not ours was removed")
		}
	})
}

func TestLockHealthIsReported(t *testing.T) {
	w := e2etest.Open(t)
	seen := func(what string, is func(*propertyv1.LockStatus) bool) {
		t.Helper()
		w.Await(what, func(ctx context.Context) (bool, error) {
			return is(lockAt(ctx, t, w, "Room 101").GetData().GetStatus()), nil
		})
	}
	awaitIncident := func(kind string) {
		t.Helper()
		w.Await("notice "+kind, func(ctx context.Context) (bool, error) {
			n, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(ctx), &propertyv1.ListNoticesRequest{})
			for _, one := range n.GetData().GetList() {
				if one.GetKind() == kind {
					return !one.GetStands(), nil // nothing ends it, so it is no open problem
				}
			}
			return false, err
		})
	}
	seen("the lock is there", func(s *propertyv1.LockStatus) bool {
		return s.GetOnline() && s.OfflineReason == nil && s.GetSlotsFree() > 0 && s.GetBatteryObservedAt() != nil
	})
	w.Site.SetOffline("Room 101", true)
	arrives(t, w, "S", room("R101"))
	seen("the lock is away", func(s *propertyv1.LockStatus) bool {
		return !s.GetOnline() && s.GetOfflineReason() == "lockOffline" && s.GetOfflineSince() != nil
	})
	w.Site.SetOffline("Room 101", false)
	seen("the lock is back", func(s *propertyv1.LockStatus) bool { return s.GetOnline() && s.OfflineReason == nil })
	for range 12 {
		types(t, w, "Room 101", "000111")
	}
	awaitIncident("guessing")
}
