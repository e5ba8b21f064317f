package agent

import (
	"encoding/hex"
	"time"

	"go.etcd.io/bbolt"
	"latchkey.dev/internal/agent/doorkeeper"
	"latchkey.dev/internal/smartkey"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// Operations that a SmartKey can request.
const (
	operationSmartKeyUnlock = "smartkeyUnlock"
	operationSmartKeyCheck  = "smartkeyCheck"
)

// smartKeys is the name of the capability in Hello of a bridge that verifies SmartKeys. It is also the reason in the event of an opening
// with one.
const smartKeys = "smartkey"

// newDoorkeeper creates the verifier of SmartKeys from the stored issuer keys and status list. Before any are stored, it uses those of the
// enrolment. Its doors are the locks that can be opened remotely.
func (b *Bridge) newDoorkeeper() (*doorkeeper.Verifier, error) {
	held, err := b.store.readKeyState()
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
		Property: b.id.PropertyID, Site: b.id.Site, Bridge: b.id.BridgeID, Doors: doors, Stored: held,
		Save: b.store.updateKeyState, Now: b.clock.Now, Log: b.log,
	})
}

// admit reports whether the lock must execute c. Commands without a SmartKey are always admitted. A command to unlock with a SmartKey is
// admitted if the key is valid: admit makes it a plain unlock command, and moves its deadline to the end of the permission if that is
// earlier. If the key is refused, or the command only checks it, admit returns false and sets the outcome in rec. It journals a refusal. A
// verified presentation cannot be used a second time.
func (r *commandRunner) admit(c *command, rec *commandRecord) bool {
	op := smartkey.Unlock
	switch c.operation {
	case operationSmartKeyUnlock:
	case operationSmartKeyCheck:
		op = smartkey.Check
	default:
		return true
	}
	d := r.bridge.doorkeeper
	p, err := smartkey.DecodePresentation(c.presentation)
	if err != nil {
		rec.Outcome, rec.Reason = outcomeFailed, string(smartkey.ReasonOf(err))
		r.bridge.reportRefusedKey(c.address, smartkey.Verdict{Reason: smartkey.ReasonOf(err)})
		return false
	}
	v := d.Verify(p, d.Door(c.address), op)
	rec.Reason, rec.List = string(v.Reason), v.ListNumber
	if len(v.Token.Raw) > 0 {
		rec.Token = hex.EncodeToString(v.Token.ID[:])
	}
	switch {
	case !v.Accepted():
		rec.Outcome = outcomeFailed
		r.bridge.reportRefusedKey(c.address, v)
		return false
	case op == smartkey.Check:
		rec.Outcome = outcomeDone
		return false
	}
	c.operation = operationUnlock
	if until := d.Until(v); until.Before(c.deadline) {
		c.deadline = until
	}
	return true
}

// answerSmartKey processes a message about SmartKeys: new issuer keys, a new status list, new door rules, or a request for a greeting. It
// returns the message to send back; nil after door rules. Issuer keys or a list that it refuses are no error: the message says why.
func (s *session) answerSmartKey(m *lockv1.ConnectResponse) (*lockv1.ConnectRequest, error) {
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
		return nil, d.UpdateRules(ages)
	case *lockv1.ConnectResponse_IssuerKeySets:
		state = d.UpdateKeySets(k.IssuerKeySets.GetKeySets())
	case *lockv1.ConnectResponse_StatusList:
		state = d.UpdateList(k.StatusList.GetList())
	}
	return &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SmartkeyState{SmartkeyState: &lockv1.SmartKeyState{
		KeySetVersion: state.KeySetVersion, ListNumber: state.ListNumber, Refused: string(state.Refused),
	}}}, nil
}

// onSmartKeyMessage processes a message about SmartKeys and sends the answer, if there is one. An error ends the session.
func (s *session) onSmartKeyMessage(m *lockv1.ConnectResponse) error {
	answer, err := s.answerSmartKey(m)
	if err != nil || answer == nil {
		return err
	}
	return s.send(answer)
}

var (
	keysBucket  = []byte("smartkey")
	keyStateKey = []byte("held")
)

// readKeyState returns the stored issuer keys, status list and rules of SmartKeys; empty if nothing is stored.
func (s *store) readKeyState() (h doorkeeper.Stored, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error { return s.loadKeyState(tx, &h) })
	return h, err
}

// loadKeyState does the work of readKeyState inside a transaction. It leaves h unchanged if nothing is stored.
func (s *store) loadKeyState(tx *bbolt.Tx, h *doorkeeper.Stored) error {
	sealed := tx.Bucket(keysBucket).Get(keyStateKey)
	if sealed == nil {
		return nil
	}
	return s.openSealed(keysBucket, keyStateKey, sealed, h)
}

// updateKeyState changes what is stored to verify SmartKeys, durably. change gets the stored value, zero if nothing is stored, and runs in
// the transaction. After an error nothing has changed.
func (s *store) updateKeyState(change func(*doorkeeper.Stored)) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		var h doorkeeper.Stored
		if err := s.loadKeyState(tx, &h); err != nil {
			return err
		}
		change(&h)
		return s.putSealed(tx, keysBucket, keyStateKey, h)
	})
}
