package agent

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/lock/slot"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

func TestSessionFromHelloToVerified(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	h := k.hello
	if h.GetProtocolVersion() != 1 || h.GetBootId() == "" || len(h.GetLocks()) != 1 || h.GetLocks()[0].GetAddress() != "front" {
		t.Fatalf("hello: %v", h)
	}
	if !slices.Contains(h.GetCapabilities(), "smartkey") { // otherwise it gets no SmartKeys
		t.Errorf("it does not say smartkey: %v", h.GetCapabilities())
	}
	empty := slot.LockDigest(nil)
	if string(h.GetLocks()[0].GetDigest()) != string(empty[:]) {
		t.Error("the digest of a lock of which nothing is known is not that of no rows")
	}
	k.welcome(7, 0)
	k.snapshot(6, "front", r.desired("front", 2, 1, "666666")) // an old epoch
	k.snapshot(7, "front", r.desired("front", 1, 1, "048151"))
	k.observedAs(1, 1, "verified")
	if p, err := r.locks.Press("front", "048151"); err != nil || !p.Opened {
		t.Errorf("the code does not open: %+v %v", p, err)
	}
	if p, err := r.locks.Press("front", "666666"); err != nil || p.Opened {
		t.Errorf("a code of an old epoch opens: %v", err)
	}
	if r.bridge.Epoch() != 7 || r.bridge.ID() != "brg_1" {
		t.Errorf("epoch %d id %s", r.bridge.Epoch(), r.bridge.ID())
	}
	k.end <- nil
	again := r.service.next()
	rows := []slot.DigestRow{{Slot: 1, Generation: 1, Observed: slot.Observed{Generation: 1, Present: true, Evidence: slot.Verified}}}
	if want := slot.LockDigest(rows); string(again.hello.GetLocks()[0].GetDigest()) != string(want[:]) {
		t.Error("the digest is not that of what was reported")
	}
	if again.hello.GetBootId() != h.GetBootId() {
		t.Error("the boot id changed without a boot")
	}
}

func TestChangesWithoutASessionAreReportedLater(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	k.snapshot(1, "front", r.desired("front", 1, 1, "048151"))
	k.observedAs(1, 1, "sent")
	k.end <- nil // before the lock has answered, or after
	k = r.service.next()
	k.welcome(2, 0)
	k.snapshot(2, "front", r.desired("front", 1, 1, "048151")) // as for a digest that differs
	k.observedAs(1, 1, "verified")
}

// A server that was restored from a backup does not name the slots that it used first after the backup was made.
func TestSlotsThatASnapshotDoesNotNameAreReported(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	k.snapshot(1, "front", r.desired("front", 1, 7, "048151"), &lockv1.DesiredSlot{Slot: 2, Generation: 8})
	k.observedAs(1, 7, "verified")
	k.end <- nil
	k = r.service.next()
	k.welcome(2, 0)
	k.snapshot(2, "front")
	report := until(k, func(m *lockv1.ConnectRequest) (*lockv1.SlotReport, bool) {
		return m.GetSlotReport(), m.GetSlotReport() != nil
	})
	if all := report.GetSlots(); len(all) != 1 || all[0].GetSlot() != 1 || all[0].GetGeneration() != 7 || !all[0].GetPresent() {
		t.Fatalf("reported: %v, want slot 1, which has a code, and not slot 2", all)
	}
	k.snapshot(2, "front", &lockv1.DesiredSlot{Slot: 1, Generation: 8})
	k.observedAs(1, 8, "verified")
	if n := len(r.locks.Slots("front")); n != 0 {
		t.Errorf("%d codes on the lock", n)
	}
}

// A bridge that was started from an older copy of its store removes a code of which the copy knows nothing.
func TestOlderCopyOfTheStoreIsNotTrusted(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	k.snapshot(1, "front", &lockv1.DesiredSlot{Slot: 1, Generation: 2})
	k.observedAs(1, 2, "verified")
	if err := r.locks.ProgramSilently("front", 1, "048151"); err != nil { // the bridge set and reported it after the copy
		t.Fatal(err)
	}
	k.snapshot(1, "front", &lockv1.DesiredSlot{Slot: 1, Generation: 4, Claimed: true, ReportedGeneration: 3})
	k.observedAs(1, 4, "verified")
	if n := len(r.locks.Slots("front")); n != 0 {
		t.Errorf("%d codes on the lock, reported as removed", n)
	}
}

func TestUndecryptablePINIsReportedAsFailed(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	d := r.desired("front", 1, 4, "048151")
	d.Generation = 5 // sealed for another generation
	k.snapshot(1, "front", d)
	o := k.observedAs(1, 5, "failed")
	if o.GetResult() != "invalidFormat" || len(r.locks.Slots("front")) != 0 {
		t.Errorf("%v; %d codes on the lock", o, len(r.locks.Slots("front")))
	}
}

func batch(m *lockv1.ConnectRequest) (*lockv1.EventBatch, bool) {
	return m.GetEvents(), m.GetEvents() != nil
}

func TestEventsAreSentInOrderUntilAcknowledged(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	for range 3 {
		if _, err := r.locks.Press("front", "999999"); err != nil {
			t.Fatal(err)
		}
	}
	k.welcome(1, 0)
	seen := uint64(0)
	for seen < 3 {
		for _, e := range until(k, batch).GetEvents() {
			if seen++; e.GetSequence() != seen || e.GetKind() != "denied" || e.GetClockQuality() == "" {
				t.Fatalf("event %d: %v", seen, e)
			}
		}
		if seen < 3 {
			k.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_EventAck{EventAck: &lockv1.EventAck{Sequence: seen}}})
		}
	}
	k.end <- nil // the acknowledgement of the last is lost
	k = r.service.next()
	k.welcome(2, 1)
	first := until(k, batch).GetEvents()[0]
	if first.GetSequence() > 3 || first.GetSequence() < 2 {
		t.Errorf("goes on with %d, want what is not acknowledged", first.GetSequence())
	}
	k.send(2, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_EventAck{EventAck: &lockv1.EventAck{Sequence: 3}}})
	if _, err := r.locks.Press("front", "999999"); err != nil {
		t.Fatal(err)
	}
	next := until(k, func(m *lockv1.ConnectRequest) (uint64, bool) {
		events := m.GetEvents().GetEvents()
		if len(events) == 0 {
			return 0, false
		}
		return events[0].GetSequence(), true
	})
	if next != 4 {
		t.Errorf("goes on with %d, want 4", next)
	}
}

// If the server acknowledges more events than it received, no later event is lost.
func TestTooHighAcknowledgementLosesNoEvent(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	for want := uint64(1); want <= 2; want++ {
		if _, err := r.locks.Press("front", "999999"); err != nil {
			t.Fatal(err)
		}
		if got := until(k, batch).GetEvents()[0].GetSequence(); got != want {
			t.Fatalf("event %d, want %d", got, want)
		}
		k.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_EventAck{EventAck: &lockv1.EventAck{Sequence: 1_000_000}}})
	}
}

func report(m *lockv1.ConnectRequest) (*lockv1.ActReport, bool) {
	return m.GetActReport(), m.GetActReport() != nil
}

func TestCommandOverTheLink(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	order := func(id string, until time.Time) {
		k.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Act{Act: &lockv1.Act{
			Id: id, Address: "front", Operation: "unlock", Deadline: timestamppb.New(until)}}})
	}
	order("act_1", time.Now().Add(5*time.Second))
	if a := until(k, report); a.GetId() != "act_1" || a.GetOutcome() != "done" || a.GetResult() != "ok" {
		t.Errorf("%v", a)
	}
	order("act_1", time.Now().Add(5*time.Second))
	if a := until(k, report); a.GetId() != "act_1" || a.GetOutcome() != "done" {
		t.Errorf("again: %v", a)
	}
	order("act_2", time.Now().Add(-time.Second))
	if a := until(k, report); a.GetId() != "act_2" || a.GetOutcome() != "expired" {
		t.Errorf("too late: %v", a)
	}
	if n := r.locks.UnlockCount("front"); n != 1 {
		t.Errorf("opened %d times, want once", n)
	}
	k.end <- nil
	k = r.service.next()
	k.welcome(2, 0)
	if a := until(k, report); a.GetId() != "act_1" || a.GetOutcome() != "done" { // its end may have been lost
		t.Errorf("after a reconnect: %v", a)
	}
}

func TestOfflineLockIsReported(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	r.locks.SetOffline("front", true)
	k.snapshot(1, "front", r.desired("front", 1, 1, "048151"))
	online := func(want bool) {
		until(k, func(m *lockv1.ConnectRequest) (bool, bool) {
			st := m.GetLockReport().GetStatus()
			return true, st != nil && st.GetOnline() == want
		})
	}
	online(false)
	r.locks.SetOffline("front", false)
	k.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockDelta{LockDelta: &lockv1.LockDelta{
		Address: "front", Slots: []*lockv1.DesiredSlot{r.desired("front", 1, 2, "048152")}}}})
	online(true)
}

func TestUnknownMessagesAreIgnored(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	k.send(1, &lockv1.ConnectResponse{})
	k.snapshot(1, "nowhere", r.desired("nowhere", 1, 1, "048151"))
	k.snapshot(1, "front", &lockv1.DesiredSlot{}, r.desired("front", 1, 1, "048151"))
	k.observedAs(1, 1, "verified")
}
