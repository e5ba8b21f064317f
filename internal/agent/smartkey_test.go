package agent

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"latchkey.dev/internal/agent/doorkeeper"
	"latchkey.dev/internal/smartkey"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// TestOnlySignedSmartKeysOpen lets a service without the issuer's key try all forgeries.
func TestOnlySignedSmartKeysOpen(t *testing.T) {
	m := newMint(t, keyProperty)
	m.revoked = []uint32{7}
	r, c := keyed(t, m)
	front, elsewhere := smartkey.DoorID("brg_1", "front"), smartkey.DoorID("brg_2", "front")
	foreign := newMint(t, "prp_2")
	false1 := newMint(t, keyProperty) // claims to be the issuer of the property
	holder, thief := keyPhone(t), keyPhone(t)
	day := grant{bridge: "brg_1", door: front, end: 12 * time.Hour, start: -time.Hour}
	with := func(change func(*grant)) grant { g := day; change(&g); return g }

	good := m.token(holder, day)
	for _, tc := range []struct {
		name   string
		phone  *smartkey.Phone
		token  []byte
		change func(*smartkey.Presentation)
		door   smartkey.Door
		reason smartkey.Reason
	}{
		{name: "genuine", token: good, reason: smartkey.OK},
		{name: "of the site", token: m.token(holder, with(func(g *grant) { g.bridge = keyProperty })), reason: smartkey.OK},
		{name: "forged", token: false1.token(holder, day), reason: smartkey.UnknownIssuer},
		{name: "changed", token: good, change: func(p *smartkey.Presentation) { p.Token = flipped(p.Token) }, reason: smartkey.BadSignature},
		{name: "proof changed", token: good, change: func(p *smartkey.Presentation) { p.Proof = flipped(p.Proof) }, reason: smartkey.BadSignature},
		{name: "expired", token: m.token(holder, with(func(g *grant) { g.made = 13 * time.Hour })), reason: smartkey.Expired},
		{name: "not yet", token: m.token(holder, with(func(g *grant) { g.start, g.end = time.Hour, 2*time.Hour })), reason: smartkey.NotYetValid},
		{name: "foreign property", token: foreign.token(holder, day), reason: smartkey.UnknownIssuer},
		{name: "foreign bridge", token: m.token(holder, with(func(g *grant) { g.bridge, g.door = "brg_2", elsewhere })), reason: smartkey.WrongBridge},
		{name: "another door", token: m.token(holder, with(func(g *grant) { g.door = smartkey.DoorID("brg_1", "back") })), reason: smartkey.WrongDoor},
		{name: "revoked", token: m.token(holder, with(func(g *grant) { g.index = 7 })), reason: smartkey.Revoked},
		{name: "an index beyond the list", token: m.token(holder, with(func(g *grant) { g.index = 999 })), reason: smartkey.StaleList},
		{name: "cloned", token: good, phone: thief, reason: smartkey.Cloned},
		{name: "nothing", token: good, change: func(p *smartkey.Presentation) { p.Token, p.Proof = []byte{1}, []byte{1} }, reason: smartkey.Malformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := tc.phone
			if p == nil {
				p = holder
			}
			p.SetToken(tc.token)
			pr, err := p.Present(c.greeting(), front, smartkey.Unlock, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(&pr)
			}
			opened := r.locks.UnlockCount("front")
			got := c.carry("front", operationSmartKeyUnlock, encoded(t, pr))
			want := outcomeFailed
			if tc.reason == smartkey.OK {
				want = outcomeDone
			}
			if got.GetSmartkeyReason() != string(tc.reason) || got.GetOutcome() != want {
				t.Errorf("%s, %s; want %s, %s", got.GetSmartkeyReason(), got.GetOutcome(), tc.reason, want)
			}
			if moved := r.locks.UnlockCount("front") - opened; (moved == 1) != (tc.reason == smartkey.OK) {
				t.Errorf("opened %d times", moved)
			}
			if again := c.carry("front", operationSmartKeyUnlock, encoded(t, pr)); tc.reason == smartkey.OK && again.GetSmartkeyReason() != string(smartkey.Replayed) {
				t.Errorf("once more: %s", again.GetSmartkeyReason())
			}
		})
	}
}

func flipped(raw []byte) []byte {
	out := bytes.Clone(raw)
	out[len(out)-40] ^= 1
	return out
}

// TestPresentationCannotBeUsedAtAnotherDoor uses a genuine presentation at another door, for another operation, or too late.
func TestPresentationCannotBeUsedAtAnotherDoor(t *testing.T) {
	m := newMint(t, keyProperty)
	r, c := keyed(t, m)
	front := smartkey.DoorID("brg_1", "front")
	p := keyPhone(t)
	p.SetToken(m.token(p, grant{bridge: "brg_1", door: front, start: -time.Hour, end: time.Hour}))
	use := func(address, operation string, op smartkey.Operation) string {
		t.Helper()
		pr, err := p.Present(c.greeting(), front, op, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return c.carry(address, operation, encoded(t, pr)).GetSmartkeyReason()
	}
	if got := use("back", operationSmartKeyUnlock, smartkey.Unlock); got != string(smartkey.WrongDoor) {
		t.Errorf("at a door that is not here: %s", got)
	}
	if got := use("front", operationSmartKeyUnlock, smartkey.Check); got != string(smartkey.WrongOperation) {
		t.Errorf("a check as an unlock: %s", got)
	}
	if got := c.carry("front", operationSmartKeyUnlock, nil).GetSmartkeyReason(); got != string(smartkey.Malformed) {
		t.Errorf("without a presentation: %s", got)
	}
	if n := r.locks.UnlockCount("front"); n != 0 {
		t.Errorf("opened %d times", n)
	}
	if got := use("front", operationSmartKeyCheck, smartkey.Check); got != string(smartkey.OK) || r.locks.UnlockCount("front") != 0 {
		t.Errorf("a check: %s, opened %d times", got, r.locks.UnlockCount("front"))
	}
	// A nonce becomes invalid when the process that generated it ends.
	pr, err := p.Present(c.greeting(), front, smartkey.Unlock, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.start()
	c = meets(r.service)
	if got := c.carry("front", operationSmartKeyUnlock, encoded(t, pr)).GetSmartkeyReason(); got != string(smartkey.UnknownNonce) {
		t.Errorf("after a restart: %s", got)
	}
}

// TestKeySetAndListNumbersOnlyGrow has a service send old and foreign keys and lists, also across restarts of the bridge.
func TestKeySetAndListNumbersOnlyGrow(t *testing.T) {
	m := newMint(t, keyProperty)
	first := m.raw
	r, c := keyed(t, m)
	old := m.list(0)
	m.revoked = []uint32{3}
	newer := m.list(0)
	front := smartkey.DoorID("brg_1", "front")
	p := keyPhone(t)
	p.SetToken(m.token(p, grant{bridge: "brg_1", door: front, start: -time.Hour, end: time.Hour, index: 3}))
	reason := func() string {
		t.Helper()
		pr, err := p.Present(c.greeting(), front, smartkey.Check, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return c.carry("front", operationSmartKeyCheck, encoded(t, pr)).GetSmartkeyReason()
	}
	if got := reason(); got != string(smartkey.OK) {
		t.Fatalf("before: %s", got)
	}
	if s := c.list(newer); s.GetListNumber() != m.number || s.GetRefused() != "" {
		t.Fatalf("a newer list: %v", s)
	}
	if got := reason(); got != string(smartkey.Revoked) {
		t.Fatalf("revoked: %s", got)
	}
	if s := c.list(old); s.GetListNumber() != m.number || s.GetRefused() != string(smartkey.NotNewer) {
		t.Errorf("an old list: %v", s)
	}
	liar := newMint(t, keyProperty)
	liar.number, liar.sets = 1000, 1000
	_, own := draw(t)
	lie := liar.publish(keyProperty, liar.key, own)
	if s := c.sets(lie); s.GetKeySetVersion() != 1 || s.GetRefused() != string(smartkey.UnknownIssuer) {
		t.Errorf("a key set of no issuer: %v", s)
	}
	if s := c.list(liar.list(0)); s.GetListNumber() != m.number || s.GetRefused() != string(smartkey.UnknownIssuer) {
		t.Errorf("a list of no issuer: %v", s)
	}
	// A new key set is accepted if its predecessor signed it. The predecessor is never accepted again.
	next, public := draw(t)
	second := m.publish(keyProperty, m.key, public)
	m.key = next
	if s := c.sets(second); s.GetKeySetVersion() != 2 || s.GetRefused() != "" {
		t.Fatalf("the next key set: %v", s)
	}
	if s := c.sets(first); s.GetKeySetVersion() != 2 || s.GetRefused() != string(smartkey.NotNewer) {
		t.Errorf("the first key set: %v", s)
	}
	if got := reason(); got != string(smartkey.UnknownIssuer) {
		t.Errorf("a token of the key that left: %s", got)
	}
	held := m.list(0)
	if s := c.list(held); s.GetListNumber() != m.number || s.GetRefused() != "" {
		t.Fatalf("the list of the new key: %v", s)
	}
	r.stop()
	r.start()
	k := r.service.next()
	if k.hello.GetSmartkeyKeySetVersion() != 2 || k.hello.GetSmartkeyListNumber() != m.number {
		t.Errorf("after a restart: version %d, list %d", k.hello.GetSmartkeyKeySetVersion(), k.hello.GetSmartkeyListNumber())
	}
	if sum := sha256.Sum256(held); !bytes.Equal(k.hello.GetSmartkeyListDigest(), sum[:]) {
		t.Errorf("after a restart: digest %x, want that of the list", k.hello.GetSmartkeyListDigest())
	}
	k.welcome(1, 0)
	c = &courier{talk: k}
	if s := c.list(old); s.GetRefused() == "" {
		t.Errorf("an old list after a restart: %v", s)
	}
	if s := c.sets(first); s.GetKeySetVersion() != 2 {
		t.Errorf("the first key set after a restart: %v", s)
	}
}

// TestPhoneDeliversNewerKeysAndList lets a phone deliver a newer status list to a bridge.
func TestPhoneDeliversNewerKeysAndList(t *testing.T) {
	m := newMint(t, keyProperty)
	r, c := keyed(t, m)
	front := smartkey.DoorID("brg_1", "front")
	m.floors = []smartkey.Floor{{Door: front, Generation: 2}}
	p := keyPhone(t)
	p.SetToken(m.token(p, grant{bridge: "brg_1", door: front, start: -time.Hour, end: time.Hour}))
	pr, err := p.Present(c.greeting(), front, smartkey.Unlock, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pr.List = m.list(0)
	if got := c.carry("front", operationSmartKeyUnlock, encoded(t, pr)).GetSmartkeyReason(); got != string(smartkey.Superseded) {
		t.Errorf("under the list that it brought: %s", got)
	}
	r.stop()
	r.start()
	if k := r.service.next(); k.hello.GetSmartkeyListNumber() != m.number {
		t.Errorf("after a restart the list is %d, want %d", k.hello.GetSmartkeyListNumber(), m.number)
	}
}

// TestStaleLists checks that a door refuses SmartKeys if its status list is too old.
func TestStaleLists(t *testing.T) {
	m := newMint(t, keyProperty)
	_, c := keyed(t, m)
	front := smartkey.DoorID("brg_1", "front")
	p := keyPhone(t)
	p.SetToken(m.token(p, grant{bridge: "brg_1", door: front, start: -time.Hour, end: time.Hour}))
	reason := func() string {
		t.Helper()
		pr, err := p.Present(c.greeting(), front, smartkey.Check, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return c.carry("front", operationSmartKeyCheck, encoded(t, pr)).GetSmartkeyReason()
	}
	rules := func(age time.Duration) {
		t.Helper()
		m := &lockv1.DoorRules{Rules: []*lockv1.DoorRule{{Address: "front", MaxListAgeSeconds: uint32(age / time.Second)}, {Address: "none", MaxListAgeSeconds: 1}}}
		c.send(1, &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_DoorRules{DoorRules: m}})
	}
	c.list(m.list(95 * time.Hour))
	if got := reason(); got != string(smartkey.OK) {
		t.Errorf("a list of 95 hours: %s", got)
	}
	rules(10 * time.Minute)
	if got := reason(); got != string(smartkey.StaleList) {
		t.Errorf("at a door that wants 10 minutes: %s", got)
	}
	rules(1000 * time.Hour)
	if got := reason(); got != string(smartkey.OK) {
		t.Errorf("at a door that would take 1000 hours: %s", got)
	}
	c.list(m.list(97 * time.Hour))
	if got := reason(); got != string(smartkey.StaleList) {
		t.Errorf("a list of 97 hours: %s", got)
	}
}

// BenchmarkPresentation is one presentation from its bytes to the verdict; with a list, that is stored before it counts.
func BenchmarkPresentation(b *testing.B) {
	for _, lists := range []bool{false, true} {
		b.Run(fmt.Sprintf("list=%v", lists), func(b *testing.B) {
			m := newMint(b, keyProperty)
			st, err := openStore(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			if err := st.updateKeyState(func(h *doorkeeper.Stored) { h.KeySet, h.List = m.raw, m.list(0) }); err != nil {
				b.Fatal(err)
			}
			begin := func() *doorkeeper.Verifier {
				held, err := st.readKeyState()
				if err != nil {
					b.Fatal(err)
				}
				d, err := doorkeeper.New(doorkeeper.Config{
					Property: keyProperty, Bridge: "brg_1", Doors: []string{"front"}, Stored: held, Save: st.updateKeyState, Now: time.Now, Log: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					b.Fatal(err)
				}
				d.ObserveTime(0)
				return d
			}
			d := begin()
			front := d.Door("front")
			p := keyPhone(b)
			p.SetToken(m.token(p, grant{bridge: "brg_1", door: front, start: -time.Hour, end: time.Hour}))
			n := 0
			for b.Loop() {
				b.StopTimer()
				if n++; n%smartkey.MaxSpent == 0 { // no 30 seconds pass here
					d = begin()
				}
				g, err := d.Greet()
				if err != nil {
					b.Fatal(err)
				}
				pr, err := p.Present(g, front, smartkey.Unlock, time.Now())
				if err != nil {
					b.Fatal(err)
				}
				if lists {
					pr.List = m.list(0)
				}
				raw := encoded(b, pr)
				b.StartTimer()
				got, err := smartkey.DecodePresentation(raw)
				if err != nil {
					b.Fatal(err)
				}
				if v := d.Verify(got, front, smartkey.Unlock); v.Reason != smartkey.OK {
					b.Fatal(v.Reason)
				}
			}
		})
	}
}
