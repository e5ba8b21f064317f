package bridge

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"sync"
	"time"

	"latchkey.dev/internal/smartkey"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// The acts of a SmartKey.
const (
	keyUnlock = "smartkeyUnlock"
	keyCheck  = "smartkeyCheck"
)

// smartKeys is the capability of a bridge that verifies SmartKeys.
const smartKeys = "smartkey"

// doorkeeper verifies SmartKeys, docs/smartkey.md. The service and every phone are couriers to it: it believes what the
// property's issuer and the phone have signed. All of it is judged under one lock, since two uses of one nonce would
// otherwise both pass.
type doorkeeper struct {
	bridge   *Bridge
	property string
	began    time.Time // its monotonic reading counts
	time     timekeeper

	mu     sync.Mutex
	trust  smartkey.Trust
	nonces smartkey.Nonces

	refusals refusals
}

// newDoorkeeper reads what the bridge holds of issuer keys, list and rules.
func newDoorkeeper(b *Bridge) (*doorkeeper, error) {
	d := &doorkeeper{bridge: b, property: b.id.PropertyID, began: time.Now(), time: timekeeper{kernel: kernelClock, machine: machineClock}}
	held, err := b.store.keys()
	if err != nil {
		return nil, err
	}
	d.time.anchor = held.Anchor
	d.trust = smartkey.Trust{Bridge: b.id.BridgeID, Site: b.id.Site, Doors: map[smartkey.Door]smartkey.DoorRule{}}
	for _, l := range b.locks {
		if l.Capabilities().RemoteUnlock {
			d.trust.Doors[d.door(l.Address())] = rule(held.Rules[l.Address()])
		}
	}
	if held.KeySet == nil {
		held.KeySet = b.id.KeySet
	}
	if held.List == nil {
		held.List = b.id.List
	}
	if held.KeySet != nil {
		if d.trust.Keys, err = smartkey.PinKeySet(held.KeySet, d.property); err != nil {
			return nil, fmt.Errorf("the bridge's store: issuer keys: %w", err)
		}
	}
	if held.List != nil { // one whose signer has left the key set counts as none
		d.trust.List, _ = d.trust.Keys.OpenList(held.List)
	}
	if d.nonces, err = smartkey.NewNonces(rand.Reader, b.id.BridgeID); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *doorkeeper) door(address string) smartkey.Door {
	return smartkey.DoorID(d.trust.Bridge, address)
}

// rule is a door's, never laxer than every door's.
func rule(age time.Duration) smartkey.DoorRule {
	if age <= 0 || age > smartkey.DefaultMaxListAge {
		age = smartkey.DefaultMaxListAge
	}
	return smartkey.DoorRule{MaxListAge: age}
}

// greet draws a nonce for a phone.
func (d *doorkeeper) greet() (smartkey.Greeting, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	nonce, err := d.nonces.Issue(rand.Reader, time.Since(d.began))
	return smartkey.Greeting{
		Bridge: d.trust.Bridge, Nonce: nonce, KeySetVersion: d.trust.Keys.Version(), ListNumber: d.trust.List.Number(),
	}, err
}

// judge takes what is newer of what a presentation brings, and decides on its use for an operation at a door.
func (d *doorkeeper) judge(p smartkey.Presentation, door smartkey.Door, op smartkey.Operation) smartkey.Verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(p.KeySets) > 0 || len(p.List) > 0 {
		d.adopt(d.trust.Freshen(p))
	}
	v := smartkey.Verify(smartkey.Input{
		Trust: d.trust, Token: p.Token, Proof: p.Proof, Door: door, Operation: op,
		Clock: d.clock(), Elapsed: time.Since(d.began), Nonces: d.nonces,
	})
	d.nonces = v.Nonces
	return v
}

// until is a verdict's end as a time.
func (d *doorkeeper) until(v smartkey.Verdict) time.Time { return d.began.Add(v.Until) }

// adopt goes on with newer keys or a newer list once they are stored. What could not be stored does not count: it would be
// forgotten at the next start, and numbers only grow.
func (d *doorkeeper) adopt(next smartkey.Trust) {
	keys, list := next.Keys.Version() != d.trust.Keys.Version(), next.List.Number() != d.trust.List.Number() || next.List.IssuedAt() != d.trust.List.IssuedAt()
	if !keys && !list {
		return
	}
	err := d.bridge.store.setKeys(func(h *heldKeys) {
		if keys {
			h.KeySet = next.Keys.Raw()
		}
		if list {
			h.List = next.List.Raw()
		}
	})
	if err != nil {
		d.bridge.log.Error("newer issuer keys or a newer status list were not stored and do not count", "error", err)
		return
	}
	d.trust.Keys, d.trust.List = next.Keys, next.List
}

// takeKeySets takes what the service sends: the first one it ever gets from anybody, and then only what the one before has
// signed.
func (d *doorkeeper) takeKeySets(sets [][]byte) *lockv1.SmartKeyState {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.trust
	var refused error
	for _, raw := range sets {
		var err error
		if next.Keys.Version() == 0 {
			next.Keys, err = smartkey.PinKeySet(raw, d.property)
		} else {
			next.Keys, err = next.Keys.Advance(raw)
		}
		if err != nil {
			refused = err
		}
	}
	d.adopt(next)
	return d.state(refused)
}

func (d *doorkeeper) takeList(raw []byte) *lockv1.SmartKeyState {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.trust
	list, err := next.Keys.AdvanceList(next.List, raw)
	if err == nil {
		next.List = list
		d.adopt(next)
	}
	return d.state(err)
}

// state tells the service how new everything is here.
func (d *doorkeeper) state(refused error) *lockv1.SmartKeyState {
	s := &lockv1.SmartKeyState{KeySetVersion: d.trust.Keys.Version(), ListNumber: d.trust.List.Number()}
	if refused != nil {
		s.Refused = string(smartkey.ReasonOf(refused))
		d.bridge.log.Warn("issuer keys or a status list were refused", "reason", s.Refused)
	}
	return s
}

// takeRules has doors ask what the service says of the age of lists; all that it does not name ask what every door does.
func (d *doorkeeper) takeRules(rules []*lockv1.DoorRule) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	named, doors := map[string]time.Duration{}, map[smartkey.Door]smartkey.DoorRule{}
	for door := range d.trust.Doors {
		doors[door] = rule(0)
	}
	for _, r := range rules {
		door := d.door(r.GetAddress())
		if _, driven := doors[door]; driven && r.GetMaxListAgeSeconds() > 0 {
			named[r.GetAddress()] = time.Duration(r.GetMaxListAgeSeconds()) * time.Second
			doors[door] = rule(named[r.GetAddress()])
		}
	}
	if maps.Equal(doors, d.trust.Doors) {
		return nil
	}
	if err := d.bridge.store.setKeys(func(h *heldKeys) { h.Rules = named }); err != nil {
		return fmt.Errorf("store the rules of doors: %w", err)
	}
	d.trust.Doors = doors
	return nil
}

// holds is what Hello says of issuer keys and list.
func (d *doorkeeper) holds() (version, list uint64, digest []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trust.List.Number() > 0 {
		sum := sha256.Sum256(d.trust.List.Raw())
		digest = sum[:]
	}
	return d.trust.Keys.Version(), d.trust.List.Number(), digest
}

// admit decides whether an act goes on to its lock. That of a SmartKey goes on as an unlock of ours once it is verified.
func (r *actor) admit(a *act, rec *actRecord) bool {
	op := smartkey.Unlock
	switch a.operation {
	case keyUnlock:
	case keyCheck:
		op = smartkey.Check
	default:
		return true
	}
	d := r.bridge.doorkeeper
	p, err := smartkey.DecodePresentation(a.presentation)
	if err != nil {
		rec.Outcome, rec.Reason = actFailed, string(smartkey.ReasonOf(err))
		r.bridge.refusedKey(a.address, smartkey.Verdict{Reason: smartkey.ReasonOf(err)})
		return false
	}
	v := d.judge(p, d.door(a.address), op)
	rec.Reason, rec.List = string(v.Reason), v.ListNumber
	if len(v.Token.Raw) > 0 {
		rec.Token = hex.EncodeToString(v.Token.ID[:])
	}
	switch {
	case !v.Accepted():
		rec.Outcome = actFailed
		r.bridge.refusedKey(a.address, v)
		return false
	case op == smartkey.Check:
		rec.Outcome = actDone
		return false
	}
	a.operation = operationAct
	if until := d.until(v); until.Before(a.deadline) {
		a.deadline = until
	}
	return true
}

// keyWord answers what the service says of SmartKeys; nil: it did not.
func (s *session) keyWord(m *lockv1.ConnectResponse) (*lockv1.ConnectRequest, error) {
	d := s.bridge.doorkeeper
	var state *lockv1.SmartKeyState
	switch k := m.GetKind().(type) {
	case *lockv1.ConnectResponse_GreetingWanted:
		g, err := d.greet()
		if err != nil {
			return nil, err
		}
		return &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Greeting{Greeting: &lockv1.Greeting{Id: k.GreetingWanted.GetId(), Greeting: g.Encode()}}}, nil
	case *lockv1.ConnectResponse_DoorRules:
		return nil, d.takeRules(k.DoorRules.GetRules())
	case *lockv1.ConnectResponse_IssuerKeySets:
		state = d.takeKeySets(k.IssuerKeySets.GetKeySets())
	case *lockv1.ConnectResponse_StatusList:
		state = d.takeList(k.StatusList.GetList())
	}
	return &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: state}}, nil
}

// heardKeys takes a word on SmartKeys and answers it.
func (s *session) heardKeys(m *lockv1.ConnectResponse) error {
	answer, err := s.keyWord(m)
	if err != nil || answer == nil {
		return err
	}
	return s.send(answer)
}
