package bridgelink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/phone"
	"latchkey.dev/internal/smartkey"
)

// smartKeys is the capability of bridges that verify SmartKeys.
const smartKeys = "smartkey"

const (
	greetingWait = 5 * time.Second
	asksMax      = 64
)

// errNoSmartKeys answers for a bridge whose software does not know SmartKeys.
var errNoSmartKeys = fault.New(fault.Precondition, fault.Unsupported, "the door's bridge runs software without SmartKeys; update it")

// keysHeld is how new the key set and the list are that the bridge holds, as far as it was told or said.
type keysHeld struct {
	understood      bool
	version, number uint64
	stored          lock.InstalledKeys // what the bridge said last that it holds
	newest          lock.InstalledKeys // what was published when the bridge was told last
	ahead           lock.InstalledKeys // of what the bridge said it holds, the last that was not published here
	digest          []byte             // of the list that the bridge said in Hello it holds
	published       [sha256.Size]byte  // the same of the newest list
}

// heldKeys is what the bridge said in Hello that it holds.
func heldKeys(h *lockv1.Hello) lock.InstalledKeys {
	if !slices.Contains(h.Capabilities, smartKeys) {
		return lock.InstalledKeys{Version: lock.NoSmartKeys}
	}
	return said(h.SmartkeyKeySetVersion, h.SmartkeyListNumber)
}

func said(version, list uint64) lock.InstalledKeys {
	return lock.InstalledKeys{Version: int64(min(version, math.MaxInt64)), List: int64(min(list, math.MaxInt64))}
}

// meetKeys takes from Hello what the bridge holds, and has it told what is newer.
func (s *session) meetKeys(h *lockv1.Hello) {
	s.keys = keysHeld{understood: slices.Contains(h.Capabilities, smartKeys), version: h.SmartkeyKeySetVersion, number: h.SmartkeyListNumber, stored: heldKeys(h), digest: h.SmartkeyListDigest}
	s.desk.open(s.keys.understood)
	if s.keys.understood {
		s.box.touch(lock.KeysChanged)
	}
}

// tellKeys tells the bridge of newer issuer keys, the newer list, and what its doors ask. false: it could not be read.
func (s *session) tellKeys() bool {
	if !s.keys.understood {
		return true
	}
	ctx, c := s.stream.Context(), s.node.cfg.DB.Read()
	p, err := phone.Since(ctx, c, s.open.PropertyID, s.keys.version, s.keys.number)
	var rules []phone.Rule
	if err == nil && p.Version > 0 {
		rules, err = phone.Rules(ctx, c, s.open.PropertyID, s.open.BridgeID)
	}
	if err != nil {
		s.log.Warn("reading what a bridge shall know of SmartKeys failed; trying again", "error", err)
		return false
	}
	if p.Version == 0 {
		return true
	}
	s.keys.newest, s.keys.published = said(p.Version, p.ListNumber), p.ListDigest
	if !s.overtake() {
		return false
	}
	if len(p.KeySets) > 0 {
		s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_IssuerKeySets{IssuerKeySets: &lockv1.IssuerKeySets{KeySets: p.KeySets}}})
	}
	if len(p.List) > 0 {
		s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_StatusList{StatusList: &lockv1.StatusList{List: p.List}}})
	}
	s.keys.number = p.ListNumber
	if s.keys.version == 0 {
		s.keys.version = p.Version
	} else if s.keys.version += uint64(len(p.KeySets)); s.keys.version < p.Version {
		s.box.touch(lock.KeysChanged) // there are more sets than are told at once
	}
	m := &lockv1.DoorRules{}
	for _, r := range rules {
		m.Rules = append(m.Rules, &lockv1.DoorRule{Address: r.Address, MaxListAgeSeconds: uint32(r.ListAge / time.Second)})
	}
	s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_DoorRules{DoorRules: m}})
	return true
}

// foreign says that the bridge holds what was never published here, as far as that is known: of a greater number, or another list
// of the same.
func (k keysHeld) foreign() (keys, list bool) {
	other := k.stored.List == k.newest.List && len(k.digest) > 0 && !bytes.Equal(k.digest, k.published[:])
	return k.stored.Version > k.newest.Version, k.stored.List > k.newest.List || other
}

// overtake has a newer status list made where the bridge holds one that was never published here: it would take no other of a
// number up to that. false: it could not be made.
func (s *session) overtake() bool {
	k := s.keys
	keys, list := k.foreign()
	if !keys && !list || k.stored == k.ahead {
		return true
	}
	s.log.Warn("a bridge holds issuer keys or a status list that this service never published: was its database restored from an older copy? Should the bridge refuse what it is told from now on, enrol it anew",
		"keySet", k.stored.Version, "list", k.stored.List, "publishedKeySet", k.newest.Version, "publishedList", k.newest.List)
	if list {
		err := s.node.cfg.DB.Write(s.node.Context(s.stream.Context()), func(tx *db.Tx) error {
			return phone.Overtake(tx, s.node.cfg.Keys, s.open.PropertyID, k.stored.List)
		})
		if err != nil {
			s.log.Warn("making a newer status list than a bridge holds failed; trying again", "error", err)
			return false
		}
	}
	s.keys.ahead = k.stored
	return true
}

// keysTaken hears how new the key set and the list are that the bridge holds now: a rotation waits for it, and a plan says by
// it what a door opens to.
func (s *session) keysTaken(r *lockv1.SmartKeyState) cause {
	s.keys.version, s.keys.number = r.KeySetVersion, r.ListNumber
	why := one[smartkey.Reason](r.Refused, "", smartkey.NotNewer, smartkey.UnknownIssuer, smartkey.BadSignature, smartkey.WrongProperty,
		smartkey.Malformed, smartkey.UnsupportedAlgorithm)
	if why != "" && why != smartkey.NotNewer {
		s.log.Warn("a bridge refused the issuer keys or the status list of its property: if it was not restored from a backup, enrol it anew", "reason", why)
	}
	now := said(r.KeySetVersion, r.ListNumber)
	if why == smartkey.UnknownIssuer || why == smartkey.BadSignature {
		now = lock.InstalledKeys{} // its numbers count keys and lists of another issuer
	}
	if now == s.keys.stored {
		return ""
	}
	s.keys.stored, s.keys.digest = now, nil
	if keys, list := s.keys.foreign(); keys || list {
		s.box.touch(lock.KeysChanged)
	}
	return s.write("smartkeyState", func(tx *db.Tx) error { return lock.StoreInstalledKeys(tx, s.open.BridgeID, s.open.Epoch, now) })
}

// ask is a greeting that somebody waits for.
type ask struct {
	id       string
	deadline time.Time
	reply    chan<- greeted // of one
}

type greeted struct {
	greeting []byte
	err      error
}

// desk is where greetings are asked for. It is bounded, and empty once the session has ended.
type desk struct {
	mu         sync.Mutex
	understood bool
	closed     bool
	waiting    []*ask
	sent       map[string]*ask
}

func (d *desk) open(understood bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.understood = understood
}

func (d *desk) add(a *ask) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return lock.ErrBridgeOffline
	case !d.understood:
		return errNoSmartKeys
	case len(d.waiting)+len(d.sent) >= asksMax:
		return errBusy
	}
	d.waiting = append(d.waiting, a)
	return nil
}

// take hands out what is to be sent and ends what took too long.
func (d *desk) take(now time.Time) []*ask {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 && len(d.sent) == 0 {
		return nil
	}
	maps.DeleteFunc(d.sent, func(_ string, a *ask) bool {
		over := !now.Before(a.deadline)
		if over {
			a.reply <- greeted{err: errLate}
		}
		return over
	})
	out := d.waiting
	d.waiting = nil
	for _, a := range out {
		if d.sent == nil {
			d.sent = map[string]*ask{}
		}
		d.sent[a.id] = a
	}
	return out
}

func (d *desk) answer(id string, g greeted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.sent[id]; a != nil {
		delete(d.sent, id)
		a.reply <- g
	}
}

// due is when take has to run again at the latest; zero: not as things are.
func (d *desk) due() (at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.sent {
		if at.IsZero() || a.deadline.Before(at) {
			at = a.deadline
		}
	}
	return at
}

func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, a := range d.waiting {
		a.reply <- greeted{err: lock.ErrBridgeOffline}
	}
	for _, a := range d.sent {
		a.reply <- greeted{err: lock.ErrBridgeOffline}
	}
	d.waiting, d.sent = nil, nil
}

// askGreetings sends the questions that wait.
func (s *session) askGreetings(now time.Time) {
	for _, a := range s.desk.take(now) {
		s.out.first(letter{message: &lockv1.ConnectResponse{
			Epoch: uint64(s.open.Epoch), Kind: &lockv1.ConnectResponse_GreetingWanted{GreetingWanted: &lockv1.GreetingWanted{Id: a.id}},
		}})
	}
}

// gaveGreeting passes a bridge's greeting on, as it is: who asked for it looks at it.
func (s *session) gaveGreeting(g *lockv1.Greeting) {
	if len(g.Greeting) == 0 || len(g.Greeting) > 256 {
		s.desk.answer(g.Id, greeted{err: errNoGreeting})
		return
	}
	s.desk.answer(g.Id, greeted{greeting: slices.Clone(g.Greeting)})
}

var (
	errLate       = fault.New(fault.Deadline, fault.DeadlineExceeded, "the door's bridge did not answer in time")
	errNoGreeting = fault.New(fault.Unavailable, fault.BridgeOffline, "the door's bridge has no SmartKeys yet; try again in a moment")
)

// greet leaves a question with the bridge's session here and waits for the answer.
func (n *Node) greet(ctx context.Context, bridgeID string) ([]byte, error) {
	s := n.current(bridgeID)
	if s == nil {
		return nil, lock.ErrBridgeOffline
	}
	reply := make(chan greeted, 1)
	if err := s.desk.add(&ask{id: id.New(id.Request), deadline: time.Now().Add(greetingWait), reply: reply}); err != nil {
		return nil, err
	}
	s.box.poke()
	select {
	case g := <-reply:
		return g.greeting, g.err
	case <-ctx.Done():
		return nil, errLate
	}
}

// judged is the bridge's word on an act's result: for a SmartKey that it refused, why.
func judged(r *lockv1.ActReport) string {
	if r.SmartkeyReason == "" || r.SmartkeyReason == string(smartkey.OK) {
		return printable(r.Result, 32)
	}
	return printable(lock.RefusedKeyPrefix+r.SmartkeyReason, 32)
}
