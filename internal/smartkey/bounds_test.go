package smartkey

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// TestSpentNoncesAreForgottenInTime: a spent nonce is stored for thirty seconds, and then deleted.
func TestSpentNoncesAreForgottenInTime(t *testing.T) {
	random := chance(41)
	memory := must(NewNonces(random, testBridge))(t)
	first := must(memory.Issue(random, 0))(t)
	memory, _, err := memory.spend(first, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	use := func(at time.Duration) {
		t.Helper()
		if memory, _, err = memory.spend(must(memory.Issue(random, at))(t), at); err != nil {
			t.Fatal(err)
		}
	}
	use(29 * time.Second)
	if _, _, err := memory.spend(first, 29*time.Second+500*time.Millisecond); ReasonOf(err) != Replayed {
		t.Errorf("used again before its end: %v", err)
	}
	use(31 * time.Second)
	if len(memory.spent) != 2 {
		t.Errorf("%d are remembered, want the 2 of the last thirty seconds", len(memory.spent))
	}
}

// TestAFullMemoryEmptiesItself: busy lasts thirty seconds at most.
func TestAFullMemoryEmptiesItself(t *testing.T) {
	random := chance(42)
	memory := must(NewNonces(random, testBridge))(t)
	for range MaxSpent {
		var err error
		if memory, _, err = memory.spend(must(memory.Issue(random, time.Second))(t), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	late := time.Second + NonceLife
	if _, _, err := memory.spend(must(memory.Issue(random, late-1))(t), late-1); ReasonOf(err) != Busy {
		t.Errorf("one more: %v, want %s", err, Busy)
	}
	next, _, err := memory.spend(must(memory.Issue(random, late))(t), late)
	if err != nil || len(next.spent) != 1 {
		t.Errorf("thirty seconds later: %v, %d remembered", err, len(next.spent))
	}
	if _, err := (Nonces{}).Issue(random, 0); err == nil {
		t.Error("a nonce without a key")
	}
	if _, err := memory.Issue(random, -1); err == nil {
		t.Error("a nonce before the start")
	}
}

// TestSizesComeFirst: a document that is too large is refused before it is parsed.
func TestSizesComeFirst(t *testing.T) {
	w := newWorld(t, 43)
	big := make([]byte, 1<<20)
	q := PossessionSpec{Property: testProperty, Purpose: Enrol, Challenge: make([]byte, 32)}
	for name, err := range map[string]error{
		"token":        second(w.trust.Keys.OpenToken(big[:MaxTokenSize+1])),
		"proof":        second(ReadProof(big[:MaxProofSize+1])),
		"key set":      second(w.trust.Keys.Advance(big[:MaxKeySetSize+1])),
		"list":         second(w.trust.Keys.OpenList(big[:MaxListSize+1])),
		"possession":   second(VerifyPossession(big[:MaxPossessionSize+1], q)),
		"presentation": second(DecodePresentation(big[:MaxPresentationSize+1])),
		"greeting":     second(DecodeGreeting(big[:maxGreetingSize+1])),
		"answer":       second(DecodeAnswer(big[:maxAnswerSize+1])),
	} {
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Detail != "larger than allowed" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestABombStaysSmall: a list that unpacks to 64 MiB costs a fraction of that.
func TestABombStaysSmall(t *testing.T) {
	w := newWorld(t, 44)
	bomb := w.listDoc(func(c *listClaims) { c.Status.Compressed = must(compress(make([]byte, 60<<20)))(t) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := w.trust.Keys.OpenList(bomb)
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; ReasonOf(err) != Malformed || spent > 2<<20 {
		t.Errorf("%v after %d bytes", err, spent)
	}
}
