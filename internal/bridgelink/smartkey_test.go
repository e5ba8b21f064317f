package bridgelink

import (
	"testing"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/phone"
	"latchkey.dev/internal/smartkey"
)

// TestWhatABridgeHoldsOfSmartKeysIsStored hears it in Hello and whenever the bridge has taken, or refused, what is newer.
func TestWhatABridgeHoldsOfSmartKeysIsStored(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		_, address := s.node("nod_a")
		b := s.enrol("front")
		holds := func() (h lock.HeldKeys) {
			row := b.row()
			if row.KeySetVersion == nil {
				return lock.HeldKeys{Version: -100}
			}
			return lock.HeldKeys{Version: *row.KeySetVersion, List: row.KeyListNumber}
		}
		if h := holds(); h.Version != -100 {
			t.Errorf("before it ever connected: %+v", h)
		}
		b.connect(address)
		if h := holds(); h.Version != lock.NoSmartKeys {
			t.Errorf("software that knows no SmartKeys: %+v", h)
		}
		b.open(address)
		hello := b.hello()
		h := hello.GetHello()
		h.Capabilities, h.SmartkeyKeySetVersion, h.SmartkeyListNumber = []string{smartKeys}, 3, 7
		b.send(hello)
		if b.epoch = b.next().GetWelcome().GetEpoch(); b.epoch == 0 {
			t.Fatal("no Welcome")
		}
		if h := holds(); h != (lock.HeldKeys{Version: 3, List: 7}) {
			t.Errorf("as Hello says: %+v", h)
		}
		for _, want := range []lock.HeldKeys{{Version: 4, List: 7}, {Version: 4, List: 9}, {Version: 2, List: 1}} { // the last was restored from a backup
			b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: &lockv1.SmartKeyState{
				KeySetVersion: uint64(want.Version), ListNumber: uint64(want.List), Refused: "notNewer",
			}}})
			s.until("it is stored", func() bool { return holds() == want })
		}
	})
}

// TestABridgeThatHoldsMoreThanWasPublishedIsOvertaken has a bridge say, in Hello and later, that it holds a list that the service
// never made: it is told one of a greater number.
func TestABridgeThatHoldsMoreThanWasPublishedIsOvertaken(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.change(func(tx *db.Tx) error { return phone.Ensure(tx, s.keys, s.house) })
		_, address := s.node("nod_a")
		b := s.enrol("front")
		b.open(address)
		hello := b.hello()
		h := hello.GetHello()
		h.Capabilities, h.SmartkeyKeySetVersion, h.SmartkeyListNumber = []string{smartKeys}, 1, 600
		b.send(hello)
		b.epoch = b.next().GetWelcome().GetEpoch()
		p, err := phone.Since(t.Context(), s.db.Read(), s.house, 0, 0)
		s.must(err)
		keys, err := smartkey.PinKeySet(p.KeySets[0], s.house)
		s.must(err)
		toldList := func(number uint64) {
			for {
				m := b.next().GetStatusList()
				if m == nil {
					continue
				}
				list, err := keys.OpenList(m.List)
				s.must(err)
				if list.Number() == number {
					return
				}
				t.Errorf("told list %d", list.Number())
			}
		}
		toldList(601)
		b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: &lockv1.SmartKeyState{KeySetVersion: 1, ListNumber: 700}}})
		toldList(701)
	})
}
