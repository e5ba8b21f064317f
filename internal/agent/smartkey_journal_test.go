package agent

import (
	"strconv"
	"testing"
	"time"

	"latchkey.dev/internal/smartkey"
)

// atDoors are the denials and openings that wait for the server, without the times.
func atDoors(t *testing.T, b *Bridge) (out []journalEntry) {
	t.Helper()
	events, err := b.store.entriesAfter(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == "denied" || e.Kind == "opened" {
			out = append(out, journalEntry{Address: e.Address, Kind: e.Kind, Reason: e.Reason, Phone: e.Phone})
		}
	}
	return out
}

// TestRefusedSmartKeysAreReported shows a bridge what is expired, revoked, forged, copied, foreign and used before, over both ways
// that a presentation may come.
func TestRefusedSmartKeysAreReported(t *testing.T) {
	m := newMint(t, keyProperty)
	m.revoked = []uint32{9}
	r, c := keyed(t, m)
	front, back := smartkey.DoorID("brg_1", "front"), smartkey.DoorID("brg_1", "back")
	n, other := near(t, r.bridge), near(t, r.bridge) // two clients, because the rate limit is per address
	p, thief := keyPhone(t), keyPhone(t)
	name := func(p *smartkey.Phone) string {
		k, err := p.Key()
		if err != nil {
			t.Fatal(err)
		}
		return k.KeyID().String()
	}
	give := func(p *smartkey.Phone, by *mint, g grant) {
		g.bridge, g.door = "brg_1", front
		p.SetToken(by.token(p, g))
	}
	good := grant{start: -time.Hour, end: time.Hour, index: 1}
	var want []journalEntry
	refused := func(reason, phone string) {
		want = append(want, journalEntry{Address: "front", Kind: "denied", Reason: "smartkey:" + reason, Phone: phone})
	}
	give(p, m, good)
	raw := p.Token()
	pr, err := p.Present(c.greeting(), front, smartkey.Check, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.carry("front", operationSmartKeyCheck, encoded(t, pr)) // valid: not reported
	c.carry("front", operationSmartKeyCheck, encoded(t, pr))
	refused("replayed", name(p))
	c.carry("front", operationSmartKeyUnlock, []byte("no presentation"))
	refused("malformed", "")
	thief.SetToken(raw)
	n.use(thief, front, smartkey.Unlock, nil)
	refused("cloned", "")
	give(p, m, grant{start: -time.Hour, end: time.Hour, made: 3 * time.Hour, index: 1})
	n.use(p, front, smartkey.Unlock, nil)
	refused("expired", name(p))
	give(p, m, grant{start: -time.Hour, end: time.Hour, index: 9})
	n.use(p, front, smartkey.Unlock, nil)
	refused("revoked", name(p))
	give(p, newMint(t, keyProperty), good)
	n.use(p, front, smartkey.Unlock, nil)
	refused("unknownIssuer", "")
	give(p, m, good)
	other.use(p, back, smartkey.Unlock, nil) // no door of this bridge: not reported
	other.use(p, front, smartkey.Unlock, nil)
	want = append(want, journalEntry{Address: "front", Kind: "opened", Reason: "smartkey", Phone: name(p)})
	got := atDoors(t, r.bridge)
	if len(got) != len(want) {
		t.Fatalf("reported: %+v\nwant: %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("reported: %+v, want %+v", got[i], want[i])
		}
	}
}

// TestRefusalsDoNotFillTheJournal refuses a key again and again.
func TestRefusalsDoNotFillTheJournal(t *testing.T) {
	r, c := keyed(t, newMint(t, keyProperty))
	for range 3 * doorRefusalsBurst {
		c.carry("front", operationSmartKeyUnlock, []byte("no presentation"))
	}
	if n := len(atDoors(t, r.bridge)); n != doorRefusalsBurst {
		t.Errorf("%d refusals wait for the server, want %d", n, doorRefusalsBurst)
	}
	var l refusals
	now := time.Now()
	count := func(address string, at time.Time) (n int) {
		for l.allow(address, at) {
			n++
		}
		return n
	}
	if a, b := count("front", now), count("side", now); a != doorRefusalsBurst || b != doorRefusalsBurst {
		t.Errorf("each door has its own budget: %d, %d", a, b)
	}
	if n := count("front", now.Add(5*time.Minute)); n != 5*doorRefusalsPerMinute {
		t.Errorf("five minutes later: %d", n)
	}
}

// TestRefusalsAtManyDoorsDoNotFillTheJournal refuses keys at all doors of a bridge, for a day.
func TestRefusalsAtManyDoorsDoNotFillTheJournal(t *testing.T) {
	var l refusals
	noon, reported := time.Now(), 0
	for minute := range 24 * 60 {
		for door := range 30 {
			for range 3 {
				if l.allow(strconv.Itoa(door), noon.Add(time.Duration(minute)*time.Minute)) {
					reported++
				}
			}
		}
	}
	if least, most := 7000, 7300; reported < least || reported > most {
		t.Errorf("%d refusals of a day are reported, want %d to %d of the %d that the journal keeps", reported, least, most, maxJournalEntries)
	}
	other := refusals{}
	for range 10000 {
		other.allow("front", noon)
	}
	if !other.allow("back", noon) {
		t.Error("one door takes what is reported of the others")
	}
}
