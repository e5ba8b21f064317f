// Package doorkeeper verifies SmartKeys at the doors of a bridge, as docs/smartkey.md describes. It trusts only signatures: of the
// property's issuer and of the phone's key. It does not trust the server or the phone that delivers them.
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

// Stored is what a bridge stores to verify SmartKeys: see section 15 of docs/smartkey.md. Nonces are not stored, because they become
// invalid when the process ends.
type Stored struct {
	KeySet []byte                   `json:"keySet,omitempty"` // KeySet is the signed set of issuer keys; nil: none was received yet
	List   []byte                   `json:"list,omitempty"`   // List is the signed status list; empty: none was received yet
	Rules  map[string]time.Duration `json:"rules,omitempty"`  // Rules has the maximum age of the status list by lock address; the default if missing
	Anchor Anchor                   `json:"anchor,omitzero"`
}

// Config configures a Verifier: the bridge, its doors and its stored data.
type Config struct {
	Property, Site, Bridge string   // ids of the property and the bridge; Site is the property's id as SmartKeys contain it (the claim aud)
	Doors                  []string // Doors are the addresses of locks that can be opened remotely
	Stored                 Stored
	Save                   func(change func(*Stored)) error // Save stores a change durably; if it fails, the stored data are unchanged
	Now                    func() time.Time                 // Now returns the time of the machine's clock
	Log                    *slog.Logger
}

// Verifier verifies SmartKeys for the doors of one bridge. It verifies one at a time, so that a nonce cannot be used twice.
type Verifier struct {
	cfg     Config
	started time.Time // start of the process, for monotonic times
	time    timekeeper

	mu     sync.Mutex
	trust  smartkey.Trust
	nonces smartkey.Nonces
}

// New creates a verifier from what the bridge has stored. It fails if the stored issuer keys are not valid for the property. It ignores a
// stored status list that none of these keys signed. Without stored issuer keys, it refuses every SmartKey until UpdateKeySets has received
// some.
func New(cfg Config) (*Verifier, error) {
	k := &Verifier{cfg: cfg, started: time.Now(), time: timekeeper{kernel: kernelClock, machine: machineClock, anchor: cfg.Stored.Anchor}}
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
	if cfg.Stored.List != nil { // a stored list is ignored if the key that signed it is no longer in the key set
		k.trust.List, _ = k.trust.Keys.OpenList(cfg.Stored.List)
	}
	k.nonces, err = smartkey.NewNonces(rand.Reader, cfg.Bridge)
	return k, err
}

// Door returns the door id of the lock at an address, as SmartKeys contain it. It computes the id, also for an unknown address.
func (k *Verifier) Door(address string) smartkey.Door { return smartkey.DoorID(k.cfg.Bridge, address) }

// doorRule returns the rule of a door that accepts status lists up to the age maxListAge. 0, or more than the default, means the default.
func doorRule(maxListAge time.Duration) smartkey.DoorRule {
	if maxListAge <= 0 || maxListAge > smartkey.DefaultMaxListAge {
		maxListAge = smartkey.DefaultMaxListAge
	}
	return smartkey.DoorRule{MaxListAge: maxListAge}
}

// Greet returns a greeting with a new nonce, which is not stored. A phone needs one before it can present a SmartKey: the nonce serves for
// one presentation within smartkey.NonceLife. Greet fails only without random bytes.
func (k *Verifier) Greet() (smartkey.Greeting, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	nonce, err := k.nonces.Issue(rand.Reader, time.Since(k.started))
	return smartkey.Greeting{
		Bridge: k.trust.Bridge, Nonce: nonce, KeySetVersion: k.trust.Keys.Version(), ListNumber: k.trust.List.Number(),
	}, err
}

// Verify verifies a phone's presentation for an operation at a door. It does not open the door: the verdict says whether, and until when,
// the caller may. It first stores newer issuer keys or status lists in the presentation, if they are validly signed. Once token and proof
// are verified, the nonce is used up, also if a later check refuses the SmartKey.
func (k *Verifier) Verify(p smartkey.Presentation, door smartkey.Door, op smartkey.Operation) smartkey.Verdict {
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

// Until converts v.Until of an accepted SmartKey, which counts from the start of the process, to the time until which a lock may carry out
// the allowed operation.
func (k *Verifier) Until(v smartkey.Verdict) time.Time { return k.started.Add(v.Until) }

// adopt replaces the issuer keys and the status list by those in next, if they have changed, after it has stored them. They come from the
// server or from a phone's presentation; the caller has verified them. If storing fails, they are not used, because a version must not
// decrease after a restart. The caller holds k.mu.
func (k *Verifier) adopt(next smartkey.Trust) {
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

// UpdateKeySets applies and stores signed issuer key sets from the server, oldest first. The first set ever is accepted; each later one
// must be signed by its predecessor. A refused one does not stop the others. State.Refused is the reason of the last refused one; it is
// empty if only storing failed.
func (k *Verifier) UpdateKeySets(sets [][]byte) State {
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

// UpdateList applies and stores a signed status list from the server. It refuses, with State.Refused, a list that no issuer key signed, or
// that is not newer than the current one, unless the signer of that was removed. If only storing fails, State.Refused is empty.
func (k *Verifier) UpdateList(raw []byte) State {
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

// State names the versions of issuer keys and status list in use. 0 means that there is none.
type State struct {
	KeySetVersion, ListNumber uint64
	Refused                   smartkey.Reason // Refused is why the last update was refused; empty: it was accepted, or only storing it failed
}

// state returns the versions in use, as the answer to an update. refused is why the update was refused, or nil. The caller holds k.mu.
func (k *Verifier) state(refused error) State {
	s := State{KeySetVersion: k.trust.Keys.Version(), ListNumber: k.trust.List.Number()}
	if refused != nil {
		s.Refused = smartkey.ReasonOf(refused)
		k.cfg.Log.Warn("issuer keys or a status list were refused", "reason", s.Refused)
	}
	return s
}

// UpdateRules sets and stores the maximum age of the status list at each door. ages has it by lock address. Doors that are missing there,
// or have an age of 0, get the default. Unknown addresses are ignored. If storing fails, the previous rules stay in use.
func (k *Verifier) UpdateRules(ages map[string]time.Duration) error {
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

// Versions returns what the bridge reports in Hello: the versions of the issuer keys and of the status list, and the SHA-256 digest of the
// list, nil without a list.
func (k *Verifier) Versions() (version, list uint64, digest []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trust.List.Number() > 0 {
		sum := sha256.Sum256(k.trust.List.Raw())
		digest = sum[:]
	}
	return k.trust.Keys.Version(), k.trust.List.Number(), digest
}
