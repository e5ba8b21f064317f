package bridgelink

import (
	"testing"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/keyring/pinseal"
)

// A database that was restored to an older state does not know what the bridge reports: the session sends the slots again.
func TestForgottenGenerationsAreIssuedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		s.put(n, b.lock("front"), "grt_a", "123456")
		known := b.next().GetLockDelta().Slots[0]
		forgotten := known.Generation + 1_000_000
		b.report("front", &lockv1.DesiredSlot{Slot: 1, Generation: forgotten, Present: true}, &lockv1.DesiredSlot{Slot: 2, Generation: forgotten, Present: true})
		sent := map[uint32]*lockv1.DesiredSlot{}
		for len(sent) < 2 {
			for _, d := range b.next().GetLockDelta().GetSlots() {
				sent[d.Slot] = d
			}
		}
		pins := pinseal.Opener{Private: b.seal}
		pin, err := pins.Open(pinseal.Target{Address: "front", Slot: 1, Generation: int64(sent[1].Generation)}, sent[1].SealedPin)
		if err != nil || pin != "123456" || sent[1].Generation <= forgotten {
			t.Errorf("slot 1: generation %d after %d, error %v", sent[1].Generation, forgotten, err)
		}
		if d := sent[2]; d.Present || d.Generation <= forgotten {
			t.Errorf("slot 2, which the database does not know: %v, want its removal", d)
		}
	})
}
