package bridgelink

import (
	"maps"
	"strings"
	"testing"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/lock/slot"
)

// A lock's name comes from any client of the bridge's MQTT broker, and staff see it.
func TestLockNameIsBounded(t *testing.T) {
	for name, want := range map[string]string{
		"room 101":                   "room 101",
		" Zimmer Süd ":               "Zimmer Süd",
		"a\x1b[2Jb\u202ec\nd":        "a[2Jbcd",
		"\xff":                       "",
		strings.Repeat("é", 1_000):   strings.Repeat("é", maxLockName/2),
		strings.Repeat("x", 65) + "": strings.Repeat("x", 64),
	} {
		s := &lockv1.LockStatus{Name: name}
		reports, ok := helloReports(&lockv1.Hello{Locks: []*lockv1.LockHello{{Address: "front", Status: s}}})
		if !ok || reports[0].Name != want {
			t.Errorf("%.20q in Hello: %q, %v", name, reports[0].Name, ok)
		}
		if got := decodeLockReport(&lockv1.LockReport{Address: "front", Status: s}).Name; got != want {
			t.Errorf("%.20q in a report: %q", name, got)
		}
	}
	if got := decodeLockReport(&lockv1.LockReport{Address: "front"}).Name; got != "" {
		t.Errorf("no status: %q", got)
	}
}

// A bridge hashes the results that it knows, so a server that dropped a newer one would ask for all slots at each connection.
func TestUnknownResultIsKept(t *testing.T) {
	for word, want := range map[string]slot.Result{
		"ok": "", "": "", "timeout": slot.Timeout, "overheated": "overheated", "a b": "", "x1": "", "é": "", strings.Repeat("x", 33): "",
	} {
		o := observations(&lockv1.SlotReport{Slots: []*lockv1.ObservedSlot{{Slot: 1, Evidence: string(slot.Failed), Result: word}}})
		if len(o) != 1 || o[0].Observed.Result != want {
			t.Errorf("%q: %+v, want %q", word, o, want)
		}
	}
	if slot.Result("overheated").Final() {
		t.Error("an unknown result is not retried")
	}
}

func TestUnknownOfflineCauseIsDropped(t *testing.T) {
	for word, want := range map[string]string{"brokerUnreachable": "brokerUnreachable", "gatewayOffline": "gatewayOffline", "x": "", "": ""} {
		if got := decodeStatus(&lockv1.LockStatus{OfflineCause: word}).OfflineCause; got != want {
			t.Errorf("%q is %q", word, got)
		}
	}
}

func TestSlotInBothListsIsOccupied(t *testing.T) {
	for range 20 { // a random order would pass once
		got := unmanagedSlots(&lockv1.UnmanagedSlots{Occupied: []uint32{1, 2}, Empty: []uint32{2, 3}})
		if want := map[int]bool{1: true, 2: true, 3: false}; !maps.Equal(got, want) {
			t.Fatalf("slots %v, want %v", got, want)
		}
	}
}
