package reservation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// checkIn books a room and checks the guest in, and has the locks hold the code.
func (h *testProperty) checkIn(id, place string, doors ...string) reservation.Stored {
	h.t.Helper()
	h.put(booking(id, place))
	s := h.put(state(id, "started"))
	h.verify(doors...)
	return s
}

func TestIssue(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.put(booking("A", "r1"))
		same(t, "confirmed", access.StatusNone, s.Plan.Status)
		same(t, "doors of a confirmed stay", []string{"r1 planned notCheckedIn", "g1 planned notCheckedIn"}, doorsOf(s.Plan))
		if n := len(h.slots()); n != 0 {
			t.Fatalf("%d slots before check-in", n)
		}

		s = h.put(state("A", "started"))
		same(t, "issued", access.StatusIssued, s.Plan.Status)
		same(t, "doors", []string{"r1 queued", "g1 queued"}, doorsOf(s.Plan))
		if !s.Plan.Window.From.Equal(morning) || !s.Plan.Window.To.Equal(time.Date(2026, 11, 24, 10, 30, 0, 0, time.UTC)) {
			t.Errorf("the window is %+v: it opens now and ends with the late-out minutes", s.Plan.Window)
		}
		shown := h.pins(s.Row.ID)
		if len(shown.PIN) != 8 || len(shown.Gates) != 1 || shown.Gates[0].PIN != shown.PIN || shown.Gates[0].Name != "g1" {
			t.Fatalf("shown: %+v", shown)
		}
		for _, sl := range h.slots() {
			if h.wanted(sl) != shown.PIN {
				t.Errorf("slot on %s holds another PIN", sl.DoorID)
			}
		}

		h.verify("r1", "g1")
		same(t, "doors known to open", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "events", []string{"reservationPinGenerated", "access.issued"}, h.events(s.Row.ID))
		same(t, "events of the lock", []string{"credential.verified"}, h.events(h.at("lck-r1")))
		same(t, "nothing to tell staff", []string(nil), h.notices(s.Row.ID))
	})
}

func TestUsed(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1")
		sl := h.slots()[1]
		h.write(func(tx *db.Tx) error {
			_, learned, err := lock.StoreEvents(tx, h.at("brg"), epoch, []lock.LockEvent{
				{Sequence: 1, Address: "r1", Kind: "opened", Slot: sl.Number, Generation: sl.Generation, OccurredAt: tx.Now()},
			})
			if err != nil {
				return err
			}
			return h.applyEvidence(tx, learned)
		})
		same(t, "doors", []string{"r1 used", "g1 queued"}, doorsOf(h.plan("A")))
	})
}

// What is neither date, space nor state changes nothing on a lock.
func TestNotCheckedInStates(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		before, events := fmt.Sprint(h.slots()), h.events(s.Row.ID)
		h.clock.Advance(time.Hour)
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.LastName: "King", reservation.Adults: 3, reservation.Owing: 2.5, reservation.Currency: "EUR"})
		h.put(state("A", "started"))
		same(t, "slots", before, fmt.Sprint(h.slots()))
		same(t, "events", events, h.events(s.Row.ID))
	})
}

func TestDatesMove(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin, grant := h.pins(s.Row.ID).PIN, h.grantOf(h.slots()[0].GrantID)
		h.clock.Advance(time.Hour)
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-26T11:00:00+01:00"})
		same(t, "status", access.StatusUpdating, moved.Plan.Status)
		if !moved.Plan.Window.From.Equal(morning) || !moved.Plan.Window.To.Equal(time.Date(2026, 11, 26, 10, 30, 0, 0, time.UTC)) {
			t.Errorf("window %+v", moved.Plan.Window)
		}
		for _, sl := range h.slots() {
			if h.wanted(sl) != pin || !sl.NotAfter.Equal(moved.Plan.Window.To) || sl.Evidence != string(slot.Queued) {
				t.Errorf("slot of %s did not follow, or changed its PIN: until %v, %s", sl.DoorID, sl.NotAfter, sl.Evidence)
			}
		}
		if now := h.grantOf(grant.ID); now.KeyGeneration != grant.KeyGeneration+1 || h.pins(s.Row.ID).PIN != pin {
			t.Errorf("SmartKey generation %d after %d", now.KeyGeneration, grant.KeyGeneration)
		}
		h.verify("r1", "g1")
		same(t, "doors", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
		same(t, "events", []string{"reservationPinGenerated", "access.issued", "access.updated"}, h.events(s.Row.ID))
	})
}

func TestEarlyCheckInOfALaterDay(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		p := with(booking("A", "r1"), reservation.From, "2026-11-22T15:00:00+01:00", reservation.State, "started")
		s := h.put(p)
		same(t, "doors", []string{"r1 queued windowInFuture", "g1 queued windowInFuture"}, doorsOf(s.Plan))
		same(t, "notices", []string{"windowInFuture"}, h.notices(s.Row.ID))
		if want := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC); !h.slots()[0].NotBefore.Equal(want) {
			t.Errorf("opens %v, want %v", h.slots()[0].NotBefore, want)
		}
		s = h.put(reservation.Patch{reservation.PMSID: "A", reservation.From: "2026-11-21T15:00:00+01:00"})
		same(t, "doors today", []string{"r1 queued", "g1 queued"}, doorsOf(s.Plan))
		if !h.slots()[0].NotBefore.Equal(morning) {
			t.Errorf("opens %v, want now", h.slots()[0].NotBefore)
		}
	})
}

func TestRemoved(t *testing.T) {
	for _, c := range []struct {
		to     string
		reason access.Reason
	}{
		{"confirmed", access.NotCheckedIn}, {"optional", access.NotFirm}, {"enquired", access.NotFirm}, {"requested", access.NotFirm},
		{"processed", access.CheckedOut}, {"canceled", access.ReservationCanceled},
	} {
		t.Run(c.to, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				s := h.checkIn("A", "r1", "r1", "g1")
				out := h.put(state("A", c.to))
				same(t, "status", access.StatusRemoving, out.Plan.Status)
				same(t, "doors", []string{"r1 removing " + string(c.reason), "g1 removing " + string(c.reason)}, doorsOf(out.Plan))
				same(t, "shown", access.StayPINs{}, h.pins(s.Row.ID))
				h.reportSlots("r1", slot.Unconfirmed, slot.Timeout)
				h.verify("g1")
				same(t, "status", access.StatusRemoving, h.plan("A").Status)
				if n := h.livePINs(); n != 1 {
					t.Errorf("%d PINs reserved while a lock may hold one", n)
				}
				h.verify("r1")
				same(t, "status", access.StatusRemoved, h.plan("A").Status)
				if kinds := h.events(s.Row.ID); kinds[len(kinds)-1] != "access.removed" || slices.Index(kinds, "access.removed") != len(kinds)-1 {
					t.Errorf("events %v: removed is said once, at the end", kinds)
				}
				if n := h.livePINs(); n != 0 {
					t.Errorf("%d PINs reserved after all locks are known to be empty", n)
				}
			})
		})
	}
}

func TestCheckOutTakenBack(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin := h.pins(s.Row.ID).PIN
		h.put(state("A", "processed"))
		again := h.put(state("A", "started"))
		if next := h.pins(s.Row.ID).PIN; next == pin || next == "" {
			t.Error("a check-out taken back draws a new PIN")
		}
		same(t, "doors", []string{"r1 queued", "g1 queued"}, doorsOf(again.Plan))
		h.verify("r1", "g1")
		same(t, "doors", []string{"r1 verified", "g1 verified"}, doorsOf(h.plan("A")))
		if slices.Contains(h.events(s.Row.ID), "access.removed") {
			t.Errorf("%v: a stay that has access is not removed", h.events(s.Row.ID))
		}
	})
}

// A code of an earlier grant that a lock away still holds is not forgotten because a later one never reached it.
func TestRemovedNeedsAllGrants(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		h.put(state("A", "confirmed"))
		h.online(false)
		h.put(state("A", "started"))
		out := h.put(state("A", "processed"))
		same(t, "status", access.StatusRemoving, out.Plan.Status)
		if slices.Contains(h.events(s.Row.ID), "access.removed") {
			t.Error("removed, and the lock holds the first code")
		}
		h.online(true)
		h.verify("r1", "g1")
		same(t, "status", access.StatusRemoved, h.plan("A").Status)
		if kinds := h.events(s.Row.ID); kinds[len(kinds)-1] != "access.removed" {
			t.Errorf("events %v", kinds)
		}
	})
}

func TestWindowEnds(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		pin := h.pins(s.Row.ID).PIN
		h.clock.Set(time.Date(2026, 11, 24, 10, 30, 0, 0, time.UTC))
		h.online(true)
		same(t, "over and not swept yet", access.StatusRemoving, h.plan("A").Status)
		if n := h.sweep(); n != 1 {
			t.Errorf("%d windows ended", n)
		}
		same(t, "doors", []string{"r1 removing windowPast", "g1 removing windowPast"}, doorsOf(h.plan("A")))
		h.verify("r1", "g1")
		same(t, "status", access.StatusRemoved, h.plan("A").Status)
		same(t, "nothing more to end", 0, h.sweep())

		h.clock.Advance(2 * time.Hour)
		h.online(true)
		s = h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-25T11:00:00+01:00"})
		same(t, "one night more", []string{"r1 queued", "g1 queued"}, doorsOf(s.Plan))
		if h.pins(s.Row.ID).PIN != pin {
			t.Error("one night more changed the PIN")
		}
		h.clock.Set(time.Date(2026, 11, 25, 10, 30, 0, 0, time.UTC))
		h.sweep()
		h.verify("r1", "g1")
		if h.livePINs() != 1 {
			t.Error("the PIN is kept in case the stay goes on")
		}
		h.clock.Advance(24 * time.Hour)
		h.sweep()
		if h.livePINs() != 0 {
			t.Error("the PIN is kept for ever")
		}
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-30T11:00:00+01:00"})
		if h.pins(s.Row.ID).PIN == "" || h.pins(s.Row.ID).PIN == pin {
			t.Error("a day later the stay has a PIN, and another one")
		}
	})
}

func TestCheckedOutAfterTheWindow(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1", "g1")
		h.clock.Set(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
		h.sweep()
		h.verify("r1", "g1")
		out := h.put(state("A", "processed"))
		same(t, "status", access.StatusRemoved, out.Plan.Status)
		if h.livePINs() != 0 {
			t.Error("a stay that is checked out keeps its PIN")
		}
	})
}

// A check-in whose end is past gives nothing, and says so.
func TestCheckInTooLate(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(booking("A", "r1"))
		h.clock.Set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
		s := h.put(state("A", "started"))
		same(t, "reasons", []string{"windowPast"}, reasonsOf(s.Plan))
		same(t, "status", access.StatusNone, s.Plan.Status)
	})
}

// A PMS that takes check-ins back and forth while the lock is away leaves codes of many grants behind: removed is said once
// all are gone.
func TestRemovedOnceNoLockHasACode(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1", "g1")
		h.online(false)
		for range 21 {
			h.put(state("A", "confirmed"))
			h.put(state("A", "started"))
		}
		out := h.put(state("A", "processed"))
		same(t, "while the lock is away", access.StatusRemoving, out.Plan.Status)
		h.online(true)
		h.verify("r1", "g1")
		same(t, "once it was reported", access.StatusRemoved, h.plan("A").Status)
	})
}

// The open grant is the latest, whatever its id, which has the time of the server that created it.
func TestGrantOfAClockAhead(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1", "g1")
		h.put(state("A", "canceled"))
		h.verify("r1", "g1")
		const ahead = "grt_7zzzzzzzzzzzzzzzzzzzzzzzzz"
		h.write(func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), "UPDATE grants SET id = $1", ahead)
			if err == nil {
				_, err = tx.ExecContext(tx.Context(), "UPDATE slots SET grant_id = $1 WHERE grant_id <> ''", ahead)
			}
			return err
		})
		h.clock.Advance(-time.Hour)
		h.put(state("A", "started"))
		h.verify("r1", "g1")
		moved := h.put(reservation.Patch{reservation.PMSID: "A", reservation.To: "2026-11-26T11:00:00+01:00"})
		same(t, "new dates", access.StatusUpdating, moved.Plan.Status)
		h.put(state("A", "processed"))
		h.verify("r1", "g1")
		same(t, "checked out", access.StatusRemoved, h.plan("A").Status)
	})
}
