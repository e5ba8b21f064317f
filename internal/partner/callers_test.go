package partner

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
)

func number(i int) (key [sha256.Size]byte) {
	binary.BigEndian.PutUint64(key[:], uint64(i))
	return key
}

func TestCallersAreCachedForASecond(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := newCallerCache()
	_, epoch, ok := c.lookup(number(1), now)
	if ok {
		t.Fatal("found before it was remembered")
	}
	soon := now.Add(300 * time.Millisecond)
	c.store(number(1), epoch, actor.Actor{ID: "a"}, now, nil)
	c.store(number(2), epoch, actor.Actor{ID: "b"}, now, &soon)
	for _, s := range []struct {
		key   int
		after time.Duration
		want  bool
	}{{1, 0, true}, {1, time.Second - 1, true}, {1, time.Second, false}, {2, 299 * time.Millisecond, true}, {2, 300 * time.Millisecond, false}} {
		if _, _, ok := c.lookup(number(s.key), now.Add(s.after)); ok != s.want {
			t.Errorf("%d after %v: found %v", s.key, s.after, ok)
		}
	}
}

func TestLookupFromBeforeAChangeIsNotCached(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := newCallerCache()
	_, epoch, _ := c.lookup(number(1), now)
	c.clear()
	c.store(number(1), epoch, actor.Actor{ID: "a"}, now, nil)
	if _, _, ok := c.lookup(number(1), now); ok {
		t.Error("remembered what was read before the change")
	}
}

func TestCallersAreBounded(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := newCallerCache()
	for i := range maxCallers + 10 {
		c.store(number(i), 0, actor.Actor{}, now, nil)
	}
	if len(c.byCredentials) > maxCallers {
		t.Errorf("remembers %d", len(c.byCredentials))
	}
	if _, _, ok := c.lookup(number(maxCallers+9), now); !ok {
		t.Error("the newest is forgotten")
	}
}
