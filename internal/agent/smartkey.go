package agent

import (
	"encoding/hex"
	"time"

	"latchkey.dev/internal/agent/doorkeeper"
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

// newDoorkeeper goes on with what the bridge holds, at first what it was enrolled with.
func (b *Bridge) newDoorkeeper() (*doorkeeper.Keeper, error) {
	held, err := b.store.keys()
	if err != nil {
		return nil, err
	}
	if held.KeySet == nil {
		held.KeySet = b.id.KeySet
	}
	if held.List == nil {
		held.List = b.id.List
	}
	var doors []string
	for _, l := range b.locks {
		if l.Capabilities().RemoteUnlock {
			doors = append(doors, l.Address())
		}
	}
	return doorkeeper.New(doorkeeper.Config{
		Property: b.id.PropertyID, Site: b.id.Site, Bridge: b.id.BridgeID, Doors: doors, Held: held,
		Keep: b.store.setKeys, Now: b.clock.Now, Log: b.log,
	})
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
	v := d.Judge(p, d.Door(a.address), op)
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
	if until := d.Until(v); until.Before(a.deadline) {
		a.deadline = until
	}
	return true
}

// keyWord answers what the service says of SmartKeys; nil: it did not.
func (s *session) keyWord(m *lockv1.ConnectResponse) (*lockv1.ConnectRequest, error) {
	d := s.bridge.doorkeeper
	var state doorkeeper.State
	switch k := m.GetKind().(type) {
	case *lockv1.ConnectResponse_GreetingWanted:
		g, err := d.Greet()
		if err != nil {
			return nil, err
		}
		return &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Greeting{Greeting: &lockv1.Greeting{Id: k.GreetingWanted.GetId(), Greeting: g.Encode()}}}, nil
	case *lockv1.ConnectResponse_DoorRules:
		ages := map[string]time.Duration{}
		for _, r := range k.DoorRules.GetRules() {
			ages[r.GetAddress()] = time.Duration(r.GetMaxListAgeSeconds()) * time.Second
		}
		return nil, d.TakeRules(ages)
	case *lockv1.ConnectResponse_IssuerKeySets:
		state = d.TakeKeySets(k.IssuerKeySets.GetKeySets())
	case *lockv1.ConnectResponse_StatusList:
		state = d.TakeList(k.StatusList.GetList())
	}
	return &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: &lockv1.SmartKeyState{
		KeySetVersion: state.KeySetVersion, ListNumber: state.ListNumber, Refused: string(state.Refused),
	}}}, nil
}

// heardKeys takes a word on SmartKeys and answers it.
func (s *session) heardKeys(m *lockv1.ConnectResponse) error {
	answer, err := s.keyWord(m)
	if err != nil || answer == nil {
		return err
	}
	return s.send(answer)
}
