package bridgelink

import (
	"bytes"
	"crypto/sha256"
	"testing"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/smartkey"
)

// The bridge reports its key state in Hello and after each update that it took or refused.
func TestReportedKeyStateIsStored(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		_, address := s.node("nod_a")
		b := s.enrol("front")
		holds := func() (h bridge.InstalledKeys) {
			row := b.row()
			if row.KeySetVersion == nil {
				return bridge.InstalledKeys{Version: -100}
			}
			return bridge.InstalledKeys{Version: *row.KeySetVersion, List: row.KeyListNumber}
		}
		if h := holds(); h.Version != -100 {
			t.Errorf("before it ever connected: %+v", h)
		}
		b.connect(address)
		if h := holds(); h.Version != bridge.NoSmartKeys {
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
		if h := holds(); h != (bridge.InstalledKeys{Version: 3, List: 7}) {
			t.Errorf("as Hello says: %+v", h)
		}
		for _, want := range []bridge.InstalledKeys{{Version: 4, List: 7}, {Version: 4, List: 9}, {Version: 2, List: 1}} { // the last was restored from a backup
			b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: &lockv1.SmartKeyState{
				KeySetVersion: uint64(want.Version), ListNumber: uint64(want.List), Refused: "notNewer",
			}}})
			s.until("it is stored", func() bool { return holds() == want })
		}
	})
}

// A bridge reports, in Hello and later, a list that the service never made. It is sent one with a higher number.
func TestListNewerThanPublishedIsOutnumbered(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.change(func(tx *db.Tx) error { return mobilekey.EnsureIssuer(tx, s.keys, s.propertyID) })
		_, address := s.node("nod_a")
		b := s.enrol("front")
		b.open(address)
		hello := b.hello()
		h := hello.GetHello()
		h.Capabilities, h.SmartkeyKeySetVersion, h.SmartkeyListNumber = []string{smartKeys}, 1, 600
		b.send(hello)
		b.epoch = b.next().GetWelcome().GetEpoch()
		p, err := mobilekey.PublishedSince(s.db.View(t.Context()), s.propertyID, 0, 0)
		s.must(err)
		keys, err := smartkey.PinKeySet(p.KeySets[0], s.propertyID)
		s.must(err)
		awaitStatusList := func(number uint64) {
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
				t.Errorf("got list %d", list.Number())
			}
		}
		awaitStatusList(601)
		b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: &lockv1.SmartKeyState{KeySetVersion: 1, ListNumber: 700}}})
		awaitStatusList(701)
	})
}

// After a restore from an older backup the service publishes lists until their number is again that of the list which a bridge got
// before.
func TestDifferentListWithTheSameNumberIsOutnumbered(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.change(func(tx *db.Tx) error { return mobilekey.EnsureIssuer(tx, s.keys, s.propertyID) })
		published := func() mobilekey.Published {
			p, err := mobilekey.PublishedSince(s.db.View(t.Context()), s.propertyID, 0, 0)
			s.must(err)
			return p
		}
		_, address := s.node("nod_a")
		b := s.enrol("front")
		sent := published()
		connect := func(digest [sha256.Size]byte) {
			b.open(address)
			hello := b.hello()
			h := hello.GetHello()
			h.Capabilities, h.SmartkeyKeySetVersion, h.SmartkeyListNumber, h.SmartkeyListDigest = []string{smartKeys}, sent.Version, sent.ListNumber, digest[:]
			b.send(hello)
			b.epoch = b.next().GetWelcome().GetEpoch()
		}
		connect(sha256.Sum256(sent.List))
		for b.next().GetDoorRules() == nil { // all has been said
		}
		if now := published(); now.ListNumber != sent.ListNumber {
			t.Errorf("list %d was made after a bridge that holds list %d unchanged", now.ListNumber, sent.ListNumber)
		}
		connect(sha256.Sum256([]byte("of another life")))
		for {
			m := b.next().GetStatusList()
			if m == nil {
				continue
			}
			if now := published(); now.ListNumber != sent.ListNumber+1 || !bytes.Equal(m.List, now.List) {
				t.Errorf("list %d was made, want %d, and sent to the bridge", now.ListNumber, sent.ListNumber+1)
			}
			return
		}
	})
}

// The numbers of another issuer's keys must not count as ours.
func TestKeyStateIsEmptyWhenTheBridgeRefusesTheIssuer(t *testing.T) {
	s := newSite(t, "sqlite")
	_, address := s.node("nod_a")
	b := s.enrol("front")
	b.knows = []string{smartKeys}
	b.connect(address)
	for _, tt := range []struct {
		refused string
		want    bridge.InstalledKeys
	}{{"", bridge.InstalledKeys{Version: 3, List: 9}}, {"unknownIssuer", bridge.InstalledKeys{}}, {"notNewer", bridge.InstalledKeys{Version: 3, List: 9}}, {"badSignature", bridge.InstalledKeys{}}} {
		b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: &lockv1.SmartKeyState{
			KeySetVersion: 3, ListNumber: 9, Refused: tt.refused,
		}}})
		s.until("refused "+tt.refused+" is stored", func() bool {
			row := b.row()
			return *row.KeySetVersion == tt.want.Version && row.KeyListNumber == tt.want.List
		})
	}
}
