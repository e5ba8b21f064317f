package property

import (
	"errors"
	"slices"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

func TestAssignLockReplansBothDoors(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		r1, r2 := a.room("101"), a.room("102")
		floor, entrance := a.gate("Floor", r2), a.gate("Entrance")
		dorm := must(a.Space.CreateSpace(a.ctx, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Dorm", Name: "D4"}}))(t).GetData().GetId()
		bed := must(a.Space.CreateSpace(a.ctx, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Bed", Name: "D4-A", ParentSpaceId: dorm}}))(t).GetData().GetId()
		wing := a.gate("Wing", dorm)
		_, lk := a.lock("L1")
		for _, c := range []struct {
			door, name string
			spaces     []string
			all        bool
		}{
			{r1, "101", []string{r1}, false},
			{r2, "102", []string{r1, r2}, false},
			{floor, "Floor", []string{r2}, false},
			{r1, "101", []string{r1, r2}, false},
			{dorm, "D4", []string{r1, dorm, bed}, false},
			{r1, "101", []string{r1, dorm, bed}, false},
			{wing, "Wing", []string{r1, dorm, bed}, false},
			{entrance, "Entrance", nil, true},
			{"", "", nil, true},
			{"", "", nil, false},
		} {
			a.w.takeReplanned()
			m := must(a.Lock.AssignLock(a.ctx, &propertyv1.AssignLockRequest{Id: lk, DoorId: &c.door}))(t).GetData()
			if m.GetDoorId() != c.door || m.GetDoorName() != c.name {
				t.Errorf("on %q (%q), want %q (%q)", m.GetDoorId(), m.GetDoorName(), c.door, c.name)
			}
			var touched space.AffectedStays
			for _, r := range a.w.takeReplanned() {
				touched = touched.Union(r)
			}
			for _, want := range c.spaces {
				if !slices.Contains(touched.SpaceIDs, want) {
					t.Errorf("assigned to %q: replanned %+v, want %v", c.name, touched, c.spaces)
				}
			}
			same(t, "all stays, at "+c.name, c.all, touched.All)
		}
		must(a.Lock.AssignLock(a.ctx, &propertyv1.AssignLockRequest{Id: lk, DoorId: &r1}))(t)
		same(t, "the room's lock", lk, must(a.Space.GetSpace(a.ctx, &propertyv1.GetSpaceRequest{Id: r1}))(t).GetData().GetLockId())
	})
}

func TestUnlockReturnsTheResult(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		_, lk := a.lock("L1")
		ended := a.w.clock.Now().Add(time.Second)
		for _, c := range []struct{ state, word, result, reason string }{
			{lock.CommandDone, "ok", "opened", ""},
			{lock.CommandFailed, "jammed", "refused", "jammed"},
			{lock.CommandExpired, "", "expired", ""},
			{lock.CommandUnknown, "timeout", "unknown", "timeout"},
		} {
			var asked lock.UnlockCommand
			a.w.act = func(o lock.UnlockCommand) (lock.Outcome, error) {
				asked = o
				return lock.Outcome{CommandID: o.CommandID, LockID: lk, State: c.state, Result: c.word, At: ended}, nil
			}
			act := must(a.Lock.UnlockLock(a.ctx, &propertyv1.UnlockLockRequest{Id: lk}))(t).GetData()
			if act.GetId() != asked.CommandID || act.GetLockId() != lk || act.GetResult() != c.result || act.GetReason() != c.reason || !act.GetFinishedAt().AsTime().Equal(ended) {
				t.Errorf("%s: got %v", c.state, act)
			}
			if in := act.GetDeadline().AsTime().Sub(a.w.clock.Now()); in <= 0 || in > 10*time.Second {
				t.Errorf("deadline in %v", in)
			}
		}
		a.w.act = func(lock.UnlockCommand) (lock.Outcome, error) { return lock.Outcome{}, lock.ErrBridgeOffline }
		refused(a.Lock.UnlockLock(a.ctx, &propertyv1.UnlockLockRequest{Id: lk}))(t, "offline", fault.BridgeOffline)
		a.w.act = func(o lock.UnlockCommand) (lock.Outcome, error) {
			return lock.Outcome{CommandID: o.CommandID, LockID: lk, State: lock.CommandUnknown, At: o.Deadline.Add(time.Millisecond)}, nil
		}
		refused(a.Lock.UnlockLock(a.ctx, &propertyv1.UnlockLockRequest{Id: lk}))(t, "unheard", fault.DeadlineExceeded)
	})
}

func TestRepeatedUnlockReturnsTheKnownResult(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		bridge, lk := a.lock("L1")
		a.w.act = func(o lock.UnlockCommand) (lock.Outcome, error) {
			return lock.Outcome{CommandID: o.CommandID, LockID: lk, State: lock.CommandUnknown}, nil
		}
		act := must(a.Lock.UnlockLock(a.ctx, &propertyv1.UnlockLockRequest{Id: lk}))(t)
		render := Renderers(a.w.deps)[propertyv1.LockService_UnlockLock_FullMethodName]
		// The stored answer of a call whose server crashed has the result unknown. Since then the bridge has carried out the command.
		a.w.write(t, func(tx *db.Tx) error {
			if err := tx.Act.UpdateOneID(act.GetData().GetId()).SetState(lock.CommandClaimed).Exec(tx.Context()); err != nil {
				return err
			}
			_, err := lock.FinishCommand(tx, bridge, act.GetData().GetId(), lock.CommandDone, "ok", tx.Now())
			return err
		})
		if err := render(a.ctx, act); err != nil || act.GetData().GetResult() != "opened" {
			t.Errorf("%v, %v", act, err)
		}
	})
}

// An unlock that is refused before it is stored is counted here; the bridge's session counts the others.
func TestUnlockOfOfflineBridgeIsCounted(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		_, lk := a.lock("L1")
		a.w.act = func(lock.UnlockCommand) (lock.Outcome, error) { return lock.Outcome{}, lock.ErrBridgeOffline }
		refused(a.Lock.UnlockLock(a.ctx, &propertyv1.UnlockLockRequest{Id: lk}))(t, "refused by the session", fault.BridgeOffline)
		if a.w.unsent != 0 {
			t.Errorf("counted %d", a.w.unsent)
		}
		a.w.clock.Advance(5 * time.Minute)
		refused(a.Lock.UnlockLock(a.ctx, &propertyv1.UnlockLockRequest{Id: lk}))(t, "away", fault.BridgeOffline)
		if a.w.unsent != 1 {
			t.Errorf("counted %d, want 1", a.w.unsent)
		}
	})
}

func TestLocksAndBridgesAreListed(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		b1, l1 := a.lock("L1")
		_, l2 := a.lock("L2")
		r1 := a.room("101")
		must(a.Lock.AssignLock(a.ctx, &propertyv1.AssignLockRequest{Id: l1, DoorId: &r1}))(t)
		must(a.Lock.UpdateLock(a.ctx, &propertyv1.UpdateLockRequest{Id: l1, Name: "Door 101"}))(t)
		list := must(a.Lock.ListLocks(a.ctx, &propertyv1.ListLocksRequest{PageSize: 1}))(t).GetData()
		if list.GetTotal() != 2 || len(list.GetList()) != 1 || list.GetNextPageToken() == "" || list.GetList()[0].GetName() != "Door 101" {
			t.Errorf("got %v", list)
		}
		if !list.GetList()[0].GetStatus().GetOnline() {
			t.Error("the lock is not online")
		}
		free := must(a.Lock.ListLocks(a.ctx, &propertyv1.ListLocksRequest{UnassignedOnly: true}))(t).GetData().GetList()
		if len(free) != 1 || free[0].GetId() != l2 {
			t.Errorf("without a door: %v", free)
		}
		at := must(a.Lock.ListLocks(a.ctx, &propertyv1.ListLocksRequest{DoorIds: []string{r1, "spc_0"}}))(t).GetData()
		if at.GetTotal() != 1 || at.GetList()[0].GetId() != l1 {
			t.Errorf("at the door: %v", at)
		}
		for what, c := range map[string]struct {
			first, second *int // charge of the batteries
			low           bool // staff were notified of the first one
			want          []string
		}{
			"not known":        {nil, new(41), false, []string{l1}},
			"at the limit":     {new(41), new(40), false, []string{l2}},
			"low by the alarm": {new(90), new(100), true, []string{l1}},
			"above":            {new(41), new(100), false, nil},
		} {
			a.w.write(t, func(tx *db.Tx) error {
				set := tx.Lock.UpdateOneID(l1).SetStatus(lock.Status{Online: true, BatteryPercent: c.first})
				if c.low {
					set.SetBatteryNotifiedAt(tx.Now())
				} else {
					set.ClearBatteryNotifiedAt()
				}
				return errors.Join(set.Exec(tx.Context()), tx.Lock.UpdateOneID(l2).SetStatus(lock.Status{Online: true, BatteryPercent: c.second}).Exec(tx.Context()))
			})
			for _, r := range []struct {
				request *propertyv1.ListLocksRequest
				among   []string
			}{
				{&propertyv1.ListLocksRequest{}, []string{l1, l2}},
				{&propertyv1.ListLocksRequest{DoorIds: []string{r1}}, []string{l1}},
				{&propertyv1.ListLocksRequest{UnassignedOnly: true}, []string{l2}},
				{&propertyv1.ListLocksRequest{BridgeId: b1}, []string{l1}},
			} {
				r.request.BatteryAtMost = new(int32(40))
				var ids, want []string
				for _, l := range must(a.Lock.ListLocks(a.ctx, r.request))(t).GetData().GetList() {
					ids = append(ids, l.GetId())
				}
				for _, l := range c.want {
					if slices.Contains(r.among, l) {
						want = append(want, l)
					}
				}
				if !slices.Equal(ids, want) {
					t.Errorf("%s, %v: got %v, want %v", what, r.request, ids, want)
				}
			}
		}
		got := must(a.Lock.GetLock(a.ctx, &propertyv1.GetLockRequest{Id: l1}))(t)
		if len(got.GetSlots()) != 0 || got.GetData().GetAbilities().GetSlotsTotal() != 10 {
			t.Errorf("got %v", got)
		}
		bridges := must(a.Bridge.ListBridges(a.ctx, &propertyv1.ListBridgesRequest{}))(t).GetData().GetList()
		if len(bridges) != 2 || bridges[0].GetState() != "online" || bridges[0].GetLocks() != 1 {
			t.Errorf("got %v", bridges)
		}
		a.w.clock.Advance(5 * time.Minute)
		if s := must(a.Bridge.ListBridges(a.ctx, &propertyv1.ListBridgesRequest{}))(t).GetData().GetList()[0].GetState(); s != "offline" {
			t.Errorf("silent for five minutes it is %s", s)
		}
		revoked := must(a.Bridge.RevokeBridge(a.ctx, &propertyv1.RevokeBridgeRequest{Id: b1}))(t).GetData()
		if revoked.GetState() != "revoked" {
			t.Errorf("got %v", revoked)
		}
		code := must(a.Bridge.CreateJoinCode(a.ctx, &propertyv1.CreateJoinCodeRequest{Id: b1}))(t)
		if code.GetJoinCode() == "" || code.GetJoinCodeExpiresAt().AsTime().Sub(a.w.clock.Now()) > time.Hour {
			t.Errorf("expires %v", code.GetJoinCodeExpiresAt())
		}
	})
}
