package access

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entbridge "latchkey.dev/ent/bridge"
	entdoorrule "latchkey.dev/ent/doorrule"
	entissuer "latchkey.dev/ent/issuer"
	entkeystatus "latchkey.dev/ent/keystatus"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/lock/slot"
)

// Token is what is known of the tokens of one phone at one lock.
type Token struct {
	Valid       bool // the phone holds one that is not over, and that this door shall open to
	BridgeKnows bool // the lock's bridge has said that it holds the keys and the list by which it finds one good
	Checked     bool // the bridge found one good at this lock
	Opened      bool // one opened it
	Stale       bool // the stay's access changed since: the phone has to renew
	Gone        bool // all are over, or the bridge has said that it holds the list that takes them back
}

// climb are the words for SmartKeys at a lock that the stay has a right to, each saying more than the one before.
var keyLadder = []slot.Evidence{slot.Planned, slot.Sent, slot.Accepted, slot.Verified, slot.Used}

// reached is how far the tokens of a phone have come on the way that climb is.
func (t Token) rung() int {
	switch {
	case !t.Valid:
		return 0
	case t.Opened:
		return 4
	case t.Checked:
		return 3
	case t.BridgeKnows:
		return 2
	}
	return 1
}

// KeyEvidence says what is known of SmartKeys at a lock that the stay has a right to. It climbs while some phone holds a good
// token, and begins anew without one: a phone has to renew.
func KeyEvidence(tokens []Token) slot.Evidence {
	most := 0
	for _, t := range tokens {
		most = max(most, t.rung())
	}
	return keyLadder[most]
}

// KeyLeft says what is known of SmartKeys at a lock that the stay has no right to.
func RemainingKeyEvidence(tokens []Token) slot.Evidence {
	if slices.ContainsFunc(tokens, func(t Token) bool { return !t.Gone }) {
		return slot.Removing
	}
	return slot.Removed
}

func (f Facts) tokensAt(d Door) []Token {
	if d.Lock == nil {
		return nil
	}
	return f.Tokens[d.Lock.ID]
}

// keyLeftAt is KeyLeft for a door that is not the stay's: of the lock that is on it, and of those that codes of the stay
// were on there.
func (f Facts) remainingKeysAt(doorID string) slot.Evidence {
	var tokens []Token
	for lockID, at := range f.Tokens {
		held := func(h Held) bool { return h.LockID == lockID && h.currentDoorID() == doorID }
		if f.KeyDoors[lockID] == doorID || slices.ContainsFunc(f.allHeld(), held) {
			tokens = append(tokens, at...)
		}
	}
	return RemainingKeyEvidence(tokens)
}

// staleKey says whether a door may open to a SmartKey from before the last change of the stay's access.
func (f Facts) hasStaleKey(d Door) bool {
	return slices.ContainsFunc(f.tokensAt(d), func(t Token) bool { return t.Stale && !t.Gone })
}

// takesKeys says whether the lock of a door opens to SmartKeys at all.
func (d Door) takesKeys() bool { return d.Lock != nil && d.Lock.SmartKey }

// keyOpen is the evidence at a door that the stay has a right to.
func (f Facts) keyOpen(d Door) slot.Evidence {
	switch {
	case !d.takesKeys():
		return None
	case d.Lock.Bridge != "": // nobody can tell its bridge anything
		return slot.Planned
	}
	return KeyEvidence(f.tokensAt(d))
}

// keyClosed is the evidence at a door of a stay that has no right to enter now. had: a code was on the door; planned: the
// stay is yet to be checked in.
func (f Facts) keyClosed(d Door, had, planned bool) slot.Evidence {
	tokens := f.tokensAt(d)
	left := RemainingKeyEvidence(tokens)
	switch {
	case len(tokens) == 0 && !d.takesKeys():
		return None
	case had || left == slot.Removing:
		return left
	case planned:
		return slot.Planned
	case len(tokens) > 0:
		return left
	}
	return None
}

// tokens finds what phones hold of a stay, by lock, and the doors of these locks. Without a phone nothing is asked.
func (w *grantRun) loadTokens() (tokens map[string][]Token, doors map[string]string, err error) {
	ids := grantsWithKeys(append([]*ent.Grant{w.grant}, w.olderGrants...))
	if len(ids) == 0 {
		return nil, nil, nil
	}
	rows, err := w.tx.KeyStatus.Query().Where(entkeystatus.PropertyID(w.propertyID), entkeystatus.GrantIDIn(ids...)).
		Order(entkeystatus.ByID()).All(w.ctx())
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	at, err := w.loadTokenFacts(rows)
	if err != nil {
		return nil, nil, err
	}
	out := map[string][]Token{}
	for _, s := range rows {
		for _, lockID := range s.LockIds {
			out[lockID] = append(out[lockID], at.token(s, lockID))
		}
	}
	return out, at.doors, nil
}

func grantsWithKeys(grants []*ent.Grant) (ids []string) {
	for _, g := range grants {
		if g != nil && g.Keyed {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// keyFacts is what tokens are judged by.
type tokenFacts struct {
	w             *grantRun
	issuer        *ent.Issuer
	minKeySet     int64                  // tokens made under an older key set count for nothing
	minGeneration map[string]int64       // the least generation, by lock
	bridges       map[string]*ent.Bridge // by lock
	doors         map[string]string      // by lock, of those that are on one
}

func (w *grantRun) loadTokenFacts(rows []*ent.KeyStatus) (tokenFacts, error) {
	f := tokenFacts{w: w, minGeneration: map[string]int64{}, bridges: map[string]*ent.Bridge{}, doors: map[string]string{}}
	issuer, err := w.tx.Issuer.Query().Where(entissuer.ID(w.propertyID)).Only(w.ctx())
	if err != nil {
		return f, fmt.Errorf("load the issuer of SmartKeys: %w", err)
	}
	f.issuer, f.minKeySet = issuer, issuer.LeastVersion
	var ids []string
	for _, s := range rows {
		ids = append(ids, s.LockIds...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rules, err := w.tx.DoorRule.Query().Where(entdoorrule.PropertyID(w.propertyID), entdoorrule.IDIn(ids...)).All(w.ctx())
	if err != nil {
		return f, fmt.Errorf("load the rules of doors: %w", err)
	}
	for _, r := range rules {
		f.minGeneration[r.ID] = r.Floor
	}
	locks, err := w.tx.Lock.Query().Where(entlock.PropertyID(w.propertyID), entlock.IDIn(ids...)).All(w.ctx())
	if err != nil {
		return f, fmt.Errorf("load the locks of SmartKeys: %w", err)
	}
	var of []string
	for _, l := range locks {
		of = append(of, l.BridgeID)
		if l.DoorID != nil {
			f.doors[l.ID] = *l.DoorID
		}
	}
	bridges, err := w.tx.Bridge.Query().Where(entbridge.PropertyID(w.propertyID), entbridge.IDIn(of...)).All(w.ctx())
	if err != nil {
		return f, fmt.Errorf("load the bridges of SmartKeys: %w", err)
	}
	for _, l := range locks {
		if i := slices.IndexFunc(bridges, func(b *ent.Bridge) bool { return b.ID == l.BridgeID }); i >= 0 {
			f.bridges[l.ID] = bridges[i]
		}
	}
	return f, nil
}

// token judges the tokens under one index at one lock.
func (f tokenFacts) token(s *ent.KeyStatus, lockID string) Token {
	g, now := f.w.grant, f.w.tx.Now()
	current := isLive(g) && s.GrantID == g.ID && s.KeyGeneration == g.KeyGeneration && s.RevokedAt == nil
	t := Token{
		Stale: !current,
		Valid: current && s.EndsAt.After(now) &&
			s.KeySetVersion >= f.minKeySet && s.Generation >= f.minGeneration[lockID],
		Checked: slices.Contains(s.CheckedIds, lockID), Opened: slices.Contains(s.OpenedIds, lockID), Gone: !s.EndsAt.After(now),
	}
	known, revoked := bridgeConfirmed(f.issuer, f.bridges[lockID], s)
	t.BridgeKnows, t.Gone = known, t.Gone || revoked
	return t
}

// told says whether a lock's bridge has said that it holds the keys and the list by which it finds an index good, and the list
// that revokes it. Numbers above the issuer's own are of keys and lists that are not known here (the database was restored from
// an older copy), and prove nothing.
func bridgeConfirmed(issuer *ent.Issuer, b *ent.Bridge, s *ent.KeyStatus) (known, revoked bool) {
	if b == nil || b.KeySetVersion == nil || *b.KeySetVersion > issuer.KeySetVersion || b.KeyListNumber > issuer.ListNumber {
		return false, false
	}
	known = s.ListNumber > 0 && *b.KeySetVersion >= s.KeySetVersion && b.KeyListNumber >= s.ListNumber
	return known, s.RevokedList > 0 && b.KeyListNumber >= s.RevokedList
}
