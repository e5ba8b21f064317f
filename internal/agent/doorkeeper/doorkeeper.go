// Package doorkeeper verifies SmartKeys at the doors of a bridge, docs/smartkey.md. The service and every phone are couriers to
// it: it believes what the property's issuer and the phone have signed.
package doorkeeper

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"latchkey.dev/internal/smartkey"
)

// Held is what a bridge keeps of SmartKeys, docs/smartkey.md section 15. Nonces are not among it: they do not outlive the
// process that drew them.
type Held struct {
	KeySet []byte                   `json:"keySet,omitempty"` // signed
	List   []byte                   `json:"list,omitempty"`   // signed
	Rules  map[string]time.Duration `json:"rules,omitempty"`  // the age a list may have, by address
	Anchor Anchor                   `json:"anchor,omitzero"`
}

// Config says whose doors are kept.
type Config struct {
	Property, Site, Bridge string
	Doors                  []string // addresses of locks that can be opened from afar
	Held                   Held
	Keep                   func(change func(*Held)) error // durably; what it refuses does not count
	Now                    func() time.Time               // the machine's clock
	Log                    *slog.Logger
}

// Keeper judges under one lock, since two uses of one nonce would otherwise both pass.
type Keeper struct {
	cfg   Config
	began time.Time // its monotonic reading counts
	time  timekeeper

	mu     sync.Mutex
	trust  smartkey.Trust
	nonces smartkey.Nonces
}

// New goes on with what was held.
func New(cfg Config) (*Keeper, error) {
	k := &Keeper{cfg: cfg, began: time.Now(), time: timekeeper{kernel: kernelClock, machine: machineClock, anchor: cfg.Held.Anchor}}
	k.trust = smartkey.Trust{Bridge: cfg.Bridge, Site: cfg.Site, Doors: map[smartkey.Door]smartkey.DoorRule{}}
	for _, address := range cfg.Doors {
		k.trust.Doors[k.Door(address)] = rule(cfg.Held.Rules[address])
	}
	var err error
	if cfg.Held.KeySet != nil {
		if k.trust.Keys, err = smartkey.PinKeySet(cfg.Held.KeySet, cfg.Property); err != nil {
			return nil, fmt.Errorf("the bridge's store: issuer keys: %w", err)
		}
	}
	if cfg.Held.List != nil { // one whose signer has left the key set counts as none
		k.trust.List, _ = k.trust.Keys.OpenList(cfg.Held.List)
	}
	k.nonces, err = smartkey.NewNonces(rand.Reader, cfg.Bridge)
	return k, err
}

// Door is the door of a lock.
func (k *Keeper) Door(address string) smartkey.Door { return smartkey.DoorID(k.cfg.Bridge, address) }

// rule is a door's, never laxer than every door's.
func rule(age time.Duration) smartkey.DoorRule {
	if age <= 0 || age > smartkey.DefaultMaxListAge {
		age = smartkey.DefaultMaxListAge
	}
	return smartkey.DoorRule{MaxListAge: age}
}

// Greet draws a nonce for a phone.
func (k *Keeper) Greet() (smartkey.Greeting, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	nonce, err := k.nonces.Issue(rand.Reader, time.Since(k.began))
	return smartkey.Greeting{
		Bridge: k.trust.Bridge, Nonce: nonce, KeySetVersion: k.trust.Keys.Version(), ListNumber: k.trust.List.Number(),
	}, err
}

// Judge takes what is newer of what a presentation brings, and decides on its use for an operation at a door.
func (k *Keeper) Judge(p smartkey.Presentation, door smartkey.Door, op smartkey.Operation) smartkey.Verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(p.KeySets) > 0 || len(p.List) > 0 {
		k.adopt(k.trust.Refresh(p))
	}
	v := smartkey.Verify(smartkey.Input{
		Trust: k.trust, Token: p.Token, Proof: p.Proof, Door: door, Operation: op,
		Clock: k.time.read(k.cfg.Now()), Elapsed: time.Since(k.began), Nonces: k.nonces,
	})
	k.nonces = v.Nonces
	return v
}

// Until is a verdict's end as a time.
func (k *Keeper) Until(v smartkey.Verdict) time.Time { return k.began.Add(v.Until) }

// adopt goes on with newer keys or a newer list once they are stored. What could not be stored does not count: it would be
// forgotten at the next start, and numbers only grow.
func (k *Keeper) adopt(next smartkey.Trust) {
	keys, list := next.Keys.Version() != k.trust.Keys.Version(), next.List.Number() != k.trust.List.Number() || next.List.IssuedAt() != k.trust.List.IssuedAt()
	if !keys && !list {
		return
	}
	err := k.cfg.Keep(func(h *Held) {
		if keys {
			h.KeySet = next.Keys.Raw()
		}
		if list {
			h.List = next.List.Raw()
		}
	})
	if err != nil {
		k.cfg.Log.Error("newer issuer keys or a newer status list were not stored and do not count", "error", err)
		return
	}
	k.trust.Keys, k.trust.List = next.Keys, next.List
}

// TakeKeySets takes what the service sends: the first one it ever gets from anybody, and then only what the one before has
// signed.
func (k *Keeper) TakeKeySets(sets [][]byte) State {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.trust
	var refused error
	for _, raw := range sets {
		var err error
		if next.Keys.Version() == 0 {
			next.Keys, err = smartkey.PinKeySet(raw, k.cfg.Property)
		} else {
			next.Keys, err = next.Keys.Advance(raw)
		}
		if err != nil {
			refused = err
		}
	}
	k.adopt(next)
	return k.state(refused)
}

// TakeList takes a newer status list.
func (k *Keeper) TakeList(raw []byte) State {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.trust
	list, err := next.Keys.AdvanceList(next.List, raw)
	if err == nil {
		next.List = list
		k.adopt(next)
	}
	return k.state(err)
}

// State is how new everything is here.
type State struct {
	KeySetVersion, ListNumber uint64
	Refused                   smartkey.Reason // why what was brought last was not taken; empty: it was
}

func (k *Keeper) state(refused error) State {
	s := State{KeySetVersion: k.trust.Keys.Version(), ListNumber: k.trust.List.Number()}
	if refused != nil {
		s.Refused = smartkey.ReasonOf(refused)
		k.cfg.Log.Warn("issuer keys or a status list were refused", "reason", s.Refused)
	}
	return s
}

// TakeRules has doors ask what the service says of the age of lists, by address; all that it does not name ask what every door
// does.
func (k *Keeper) TakeRules(ages map[string]time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	named, doors := map[string]time.Duration{}, map[smartkey.Door]smartkey.DoorRule{}
	for door := range k.trust.Doors {
		doors[door] = rule(0)
	}
	for address, age := range ages {
		door := k.Door(address)
		if _, driven := doors[door]; driven && age > 0 {
			named[address], doors[door] = age, rule(age)
		}
	}
	if maps.Equal(doors, k.trust.Doors) {
		return nil
	}
	if err := k.cfg.Keep(func(h *Held) { h.Rules = named }); err != nil {
		return fmt.Errorf("store the rules of doors: %w", err)
	}
	k.trust.Doors = doors
	return nil
}

// Holds is what Hello says of issuer keys and list.
func (k *Keeper) Holds() (version, list uint64, digest []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trust.List.Number() > 0 {
		sum := sha256.Sum256(k.trust.List.Raw())
		digest = sum[:]
	}
	return k.trust.Keys.Version(), k.trust.List.Number(), digest
}
