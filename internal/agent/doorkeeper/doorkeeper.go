// Package doorkeeper verifies SmartKeys at the doors of a bridge, docs/smartkey.md. It does not trust the service or the phone that
// deliver them, only the signatures of the property's issuer and the phone's key.
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

// Stored is what a bridge stores for SmartKeys, docs/smartkey.md section 15. Nonces are not stored: they end with the process.
type Stored struct {
	KeySet []byte                   `json:"keySet,omitempty"` // signed
	List   []byte                   `json:"list,omitempty"`   // signed
	Rules  map[string]time.Duration `json:"rules,omitempty"`  // maximum age of the status list, by address
	Anchor Anchor                   `json:"anchor,omitzero"`
}

// Config is the identity of a bridge and its doors.
type Config struct {
	Property, Site, Bridge string
	Doors                  []string // of locks that can be opened remotely
	Stored                 Stored
	Save                   func(change func(*Stored)) error // durable; a change that fails has no effect
	Now                    func() time.Time                 // the machine's clock
	Log                    *slog.Logger
}

// Keeper verifies SmartKeys for the doors of one bridge, one at a time, so that a nonce cannot pass twice.
type Keeper struct {
	cfg     Config
	started time.Time // for its monotonic reading
	time    timekeeper

	mu     sync.Mutex
	trust  smartkey.Trust
	nonces smartkey.Nonces
}

// New returns a Keeper with the stored keys, status list and rules.
func New(cfg Config) (*Keeper, error) {
	k := &Keeper{cfg: cfg, started: time.Now(), time: timekeeper{kernel: kernelClock, machine: machineClock, anchor: cfg.Stored.Anchor}}
	k.trust = smartkey.Trust{Bridge: cfg.Bridge, Site: cfg.Site, Doors: map[smartkey.Door]smartkey.DoorRule{}}
	for _, address := range cfg.Doors {
		k.trust.Doors[k.Door(address)] = doorRule(cfg.Stored.Rules[address])
	}
	var err error
	if cfg.Stored.KeySet != nil {
		if k.trust.Keys, err = smartkey.PinKeySet(cfg.Stored.KeySet, cfg.Property); err != nil {
			return nil, fmt.Errorf("the bridge's store: issuer keys: %w", err)
		}
	}
	if cfg.Stored.List != nil { // a list whose signer has left the key set is ignored
		k.trust.List, _ = k.trust.Keys.OpenList(cfg.Stored.List)
	}
	k.nonces, err = smartkey.NewNonces(rand.Reader, cfg.Bridge)
	return k, err
}

// Door returns the SmartKey id of the door with the lock at an address.
func (k *Keeper) Door(address string) smartkey.Door { return smartkey.DoorID(k.cfg.Bridge, address) }

// doorRule returns the rule of a door that accepts status lists up to maxListAge old: the default if that is 0 or longer than
// the default.
func doorRule(maxListAge time.Duration) smartkey.DoorRule {
	if maxListAge <= 0 || maxListAge > smartkey.DefaultMaxListAge {
		maxListAge = smartkey.DefaultMaxListAge
	}
	return smartkey.DoorRule{MaxListAge: maxListAge}
}

// Greet issues a nonce for a phone.
func (k *Keeper) Greet() (smartkey.Greeting, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	nonce, err := k.nonces.Issue(rand.Reader, time.Since(k.started))
	return smartkey.Greeting{
		Bridge: k.trust.Bridge, Nonce: nonce, KeySetVersion: k.trust.Keys.Version(), ListNumber: k.trust.List.Number(),
	}, err
}

// Verify stores newer keys or lists that a presentation carries, and verifies it for an operation at a door.
func (k *Keeper) Verify(p smartkey.Presentation, door smartkey.Door, op smartkey.Operation) smartkey.Verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(p.KeySets) > 0 || len(p.List) > 0 {
		k.adopt(k.trust.Refresh(p))
	}
	v := smartkey.Verify(smartkey.Input{
		Trust: k.trust, Token: p.Token, Proof: p.Proof, Door: door, Operation: op,
		Clock: k.time.clock(k.cfg.Now()), Elapsed: time.Since(k.started), Nonces: k.nonces,
	})
	k.nonces = v.Nonces
	return v
}

// Until returns the time until which a lock may act on a verdict.
func (k *Keeper) Until(v smartkey.Verdict) time.Time { return k.started.Add(v.Until) }

// adopt stores newer keys or a newer list, and then uses them. What could not be stored is not used, because version numbers must not
// fall at the next start.
func (k *Keeper) adopt(next smartkey.Trust) {
	keys, list := next.Keys.Version() != k.trust.Keys.Version(), next.List.Number() != k.trust.List.Number() || next.List.IssuedAt() != k.trust.List.IssuedAt()
	if !keys && !list {
		return
	}
	err := k.cfg.Save(func(h *Stored) {
		if keys {
			h.KeySet = next.Keys.Raw()
		}
		if list {
			h.List = next.List.Raw()
		}
	})
	if err != nil {
		k.cfg.Log.Error("storing newer issuer keys or a newer status list failed; they are not used", "error", err)
		return
	}
	k.trust.Keys, k.trust.List = next.Keys, next.List
}

// UpdateKeySets processes the service's key sets: the first one ever is accepted, later ones only if signed by their predecessor.
func (k *Keeper) UpdateKeySets(sets [][]byte) State {
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

// UpdateList processes a newer status list.
func (k *Keeper) UpdateList(raw []byte) State {
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

// State is which issuer keys and status list are in use.
type State struct {
	KeySetVersion, ListNumber uint64
	Refused                   smartkey.Reason // why the last update was refused; empty: it was accepted
}

func (k *Keeper) state(refused error) State {
	s := State{KeySetVersion: k.trust.Keys.Version(), ListNumber: k.trust.List.Number()}
	if refused != nil {
		s.Refused = smartkey.ReasonOf(refused)
		k.cfg.Log.Warn("issuer keys or a status list were refused", "reason", s.Refused)
	}
	return s
}

// UpdateRules sets the maximum age of the list for each address. Doors without a rule get the default.
func (k *Keeper) UpdateRules(ages map[string]time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	named, doors := map[string]time.Duration{}, map[smartkey.Door]smartkey.DoorRule{}
	for door := range k.trust.Doors {
		doors[door] = doorRule(0)
	}
	for address, age := range ages {
		door := k.Door(address)
		if _, driven := doors[door]; driven && age > 0 {
			named[address], doors[door] = age, doorRule(age)
		}
	}
	if maps.Equal(doors, k.trust.Doors) {
		return nil
	}
	if err := k.cfg.Save(func(h *Stored) { h.Rules = named }); err != nil {
		return fmt.Errorf("store the rules of doors: %w", err)
	}
	k.trust.Doors = doors
	return nil
}

// Versions are what Hello contains about issuer keys and list.
func (k *Keeper) Versions() (version, list uint64, digest []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trust.List.Number() > 0 {
		sum := sha256.Sum256(k.trust.List.Raw())
		digest = sum[:]
	}
	return k.trust.Keys.Version(), k.trust.List.Number(), digest
}
