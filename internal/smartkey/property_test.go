package smartkey

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMintedOpensJustItsGrant: whatever the grant, its token opens its doors in
// its window by a right clock, and nothing else at no other time.
func TestMintedOpensJustItsGrant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, uint64(rapid.IntRange(0, 1<<20).Draw(t, "seed")))
		span := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(-40*3600, 60*3600).Draw(t, name)) * time.Second
		}
		w.grant.Start = noon.Add(span("start"))
		w.grant.End = w.grant.Start.Add(time.Duration(rapid.IntRange(1, 90*3600).Draw(t, "length")) * time.Second)
		w.grant.Generation = rapid.Uint64Range(0, maxNumber).Draw(t, "generation")
		w.grant.StatusIndex = rapid.Uint32Range(0, 4095).Draw(t, "index")
		doors := []Door{w.room, w.gate, w.foreign}
		w.grant.Doors = doors[:rapid.IntRange(1, 3).Draw(t, "doors")]
		token, err := w.issuer.Mint(w.grant, noon)
		if errors.Is(err, ErrGrantOver) || errors.Is(err, ErrGrantEarly) {
			if w.grant.End.After(noon) && w.grant.Start.Before(noon.Add(MaxLife)) {
				t.Fatalf("no token for %v until %v", w.grant.Start, w.grant.End)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if token.NotBefore.Before(w.grant.Start) || token.Expires.After(w.grant.End) || token.Expires.Sub(token.IssuedAt) > MaxLife {
			t.Fatalf("window %v until %v leaves the grant", token.NotBefore, token.Expires)
		}
		w.phone.SetToken(token.Raw)
		door := rapid.SampledFrom(doors).Draw(t, "door")
		in := w.useAt(door, rapid.SampledFrom([]Operation{Unlock, Check, 3}).Draw(t, "operation"))
		in.Trust.Doors[w.gate] = DoorRule{}
		in.Clock.Now = noon.Add(span("now"))
		in.Clock.Error = time.Duration(rapid.IntRange(0, 7200).Draw(t, "error")) * time.Second
		low, high := in.Clock.Now.Add(-in.Clock.Error), in.Clock.Now.Add(in.Clock.Error)
		want := slices.Contains(w.grant.Doors, door) && door != w.foreign && in.Operation != 3 &&
			!low.Before(token.NotBefore) && high.Before(token.Expires) && !high.Add(IssuerSkew).Before(noon)
		if got := Verify(in); got.Accepted() != want {
			t.Fatalf("%s: %s, want accepted %v", got.Reason, got.Detail, want)
		}
	})
}

// TestClockErrorCountsAgainstTheBearer: no accepted use can be outside the
// window, wherever in its error the true time is.
func TestClockErrorCountsAgainstTheBearer(t *testing.T) {
	w := newWorld(t, 11)
	token := must(w.trust.Keys.OpenToken(w.phone.token))(t)
	rapid.Check(t, func(t *rapid.T) {
		c := Clock{
			Now:     noon.Add(time.Duration(rapid.Int64Range(-30*3600_000, 30*3600_000).Draw(t, "now")) * time.Millisecond),
			Error:   time.Duration(rapid.Int64Range(-1, 30*3600_000).Draw(t, "error")) * time.Millisecond,
			Quality: rapid.SampledFrom([]Quality{Synchronized, Drifting, Untrusted, ""}).Draw(t, "quality"),
		}
		err := c.checkWindow(token, w.trust)
		for _, truth := range []time.Time{c.Now.Add(-c.Error), c.Now, c.Now.Add(c.Error)} {
			if err == nil && (c.Error < 0 || truth.Before(token.NotBefore) || !truth.Before(token.Expires)) {
				t.Fatalf("accepted at %v ± %v; window %v until %v", c.Now, c.Error, token.NotBefore, token.Expires)
			}
		}
		switch ReasonOf(err) {
		case NotYetValid:
			if !c.Now.Add(-c.Error).Before(token.NotBefore) {
				t.Fatal("says notYetValid when the window has begun")
			}
		case Expired:
			if c.Now.Add(c.Error).Before(token.Expires) {
				t.Fatal("says expired when the window is not over")
			}
		case OK, ClockUntrusted:
		default:
			t.Fatalf("reason %s", ReasonOf(err))
		}
	})
}

// TestNoncesAgainstAModel: a nonce serves once, within thirty seconds, at the
// start that gave it out, in any order of giving and using.
func TestNoncesAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := chance(uint64(rapid.IntRange(0, 1<<20).Draw(t, "seed")))
		type given struct {
			nonce []byte
			at    time.Duration
			start int
			spent bool
		}
		var all []*given
		now, start := time.Duration(0), 0
		memory := must(NewNonces(random, testBridge))(t)
		t.Repeat(map[string]func(*rapid.T){
			"issue": func(t *rapid.T) {
				all = append(all, &given{nonce: must(memory.Issue(random, now))(t), at: now, start: start})
			},
			"wait": func(t *rapid.T) {
				now += time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond
			},
			"restart": func(t *rapid.T) {
				start, now = start+1, 0
				memory = must(NewNonces(random, testBridge))(t)
			},
			"use": func(t *rapid.T) {
				if len(all) == 0 {
					return
				}
				g := rapid.SampledFrom(all).Draw(t, "nonce")
				before := len(memory.spent)
				next, until, err := memory.spend(g.nonce, now)
				fresh := g.start == start && now-g.at < NonceLife
				if want := fresh && !g.spent; (err == nil) != want {
					t.Fatalf("%v, want accepted %v", err, want)
				}
				if fresh && g.spent && ReasonOf(err) != Replayed {
					t.Fatalf("a nonce used again: %v", err)
				}
				if len(memory.spent) != before {
					t.Fatal("the value that went in was changed")
				}
				if err == nil {
					g.spent = true
					if until != g.at+NonceLife {
						t.Fatalf("serves until %v, want %v", until, g.at+NonceLife)
					}
				}
				memory = next
			},
			"": func(t *rapid.T) {
				for _, s := range memory.spent {
					if s.issued > now {
						t.Fatal("remembers the future")
					}
				}
			},
		})
	})
}

// TestVersionsOnlyGrow offers key sets and lists in any order.
func TestVersionsOnlyGrow(t *testing.T) {
	r := newRotation(t)
	sets := [][]byte{r.v1, r.v2, r.v3, r.v4, r.resign(r.v4)}
	lists := [][]byte{r.list(1, noon), r.list(2, noon), r.list(3, noon), r.resign(r.list(9, noon))}
	rapid.Check(t, func(t *rapid.T) {
		trust := r.trust
		for range rapid.IntRange(1, 12).Draw(t, "offers") {
			before := trust
			trust = trust.Refresh(Presentation{
				List:    rapid.SampledFrom(lists).Draw(t, "list"),
				KeySets: [][]byte{rapid.SampledFrom(sets).Draw(t, "set")},
			})
			if trust.Keys.Version() < before.Keys.Version() || trust.List.Number() < before.List.Number() || trust.List.Number() > 3 {
				t.Fatalf("key set %d → %d, list %d → %d",
					before.Keys.Version(), trust.Keys.Version(), before.List.Number(), trust.List.Number())
			}
		}
	})
}

// TestEveryByteOfEveryDocument flips each bit of a token and of a proof.
func TestEveryByteOfEveryDocument(t *testing.T) {
	w := newWorld(t, 12)
	good := w.use()
	for i := range len(good.Token) * 8 {
		in := good
		in.Token = slices.Clone(good.Token)
		in.Token[i/8] ^= 1 << (i % 8)
		if _, err := in.Trust.Keys.OpenToken(in.Token); err == nil {
			t.Fatalf("token with bit %d flipped: taken", i)
		}
	}
	for i := range len(good.Proof) * 8 {
		in := good
		in.Proof = slices.Clone(good.Proof)
		in.Proof[i/8] ^= 1 << (i % 8)
		if v := Verify(in); v.Accepted() {
			t.Fatalf("proof with bit %d flipped: accepted", i)
		}
	}
}
