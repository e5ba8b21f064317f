package access

import (
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entdoorrule "latchkey.dev/ent/doorrule"
	entissuer "latchkey.dev/ent/issuer"
	entkeystatus "latchkey.dev/ent/keystatus"
	"latchkey.dev/internal/lock/slot"
)

// Token is the state of the SmartKey tokens of one phone at one lock.
type Token struct {
	Valid       bool // Valid means that the phone has an unexpired token that this lock must accept
	BridgeKnows bool // BridgeKnows means that the bridge confirmed the keys and the status list by which it accepts the token
	Checked     bool // Checked means that the bridge accepted a token at this lock
	Opened      bool // Opened means that a token opened the lock; false if none was used yet
	Stale       bool // Stale means that access changed after the tokens were issued, so that the phone must renew them
	Gone        bool // Gone means that all tokens have expired, or that the bridge confirmed the status list that revokes them
}

// keyLadder orders the evidence (how much is proven) for SmartKeys at a lock that the guest may open, from weakest to strongest.
var keyLadder = []slot.Evidence{slot.Planned, slot.Sent, slot.Accepted, slot.Verified, slot.Used}

// rung returns how much is proven of a phone's tokens at a lock, as an index in keyLadder.
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

// KeyEvidence returns the strongest evidence for SmartKeys at a lock that the guest may open, among the tokens of all phones there. Without
// a valid token it is Planned again, because the phone must renew its tokens.
func KeyEvidence(tokens []Token) slot.Evidence {
	most := 0
	for _, t := range tokens {
		most = max(most, t.rung())
	}
	return keyLadder[most]
}

// RemainingKeyEvidence returns the evidence for SmartKeys at a lock that the guest may no longer open: Removing while one may still open
// it, then Removed, also without tokens.
func RemainingKeyEvidence(tokens []Token) slot.Evidence {
	if slices.ContainsFunc(tokens, func(t Token) bool { return !t.Gone }) {
		return slot.Removing
	}
	return slot.Removed
}

// tokensAt returns the SmartKey tokens of the reservation's phones for the lock of a door, also those that are no longer valid or still
// have to be removed from it; nil for a door without a lock.
func (f Facts) tokensAt(d Door) []Token {
	if d.Lock == nil {
		return nil
	}
	return f.Tokens[d.Lock.ID]
}

// remainingKeysAt returns Removing while a SmartKey may still open a door that the reservation no longer has, and Removed otherwise. It
// considers the lock that is on the door now, and the locks on which the reservation had codes there.
func (f Facts) remainingKeysAt(doorID string) slot.Evidence {
	var tokens []Token
	for lockID, at := range f.Tokens {
		held := func(h SlotCode) bool { return h.LockID == lockID && h.currentDoorID() == doorID }
		if f.KeyDoors[lockID] == doorID || slices.ContainsFunc(f.allCodes(), held) {
			tokens = append(tokens, at...)
		}
	}
	return RemainingKeyEvidence(tokens)
}

// hasStaleKey reports whether a SmartKey from before the last change of access may still open a door.
func (f Facts) hasStaleKey(d Door) bool {
	return slices.ContainsFunc(f.tokensAt(d), func(t Token) bool { return t.Stale && !t.Gone })
}

// takesKeys reports whether SmartKeys can open the door's lock.
func (d Door) takesKeys() bool { return d.Lock != nil && d.Lock.SmartKey }

// keyOpen returns the evidence for SmartKeys at a door that the guest may open: None if its lock does not support them, and Planned while
// no bridge can receive keys.
func (f Facts) keyOpen(d Door) slot.Evidence {
	switch {
	case !d.takesKeys():
		return None
	case d.Lock.Bridge != "":
		return slot.Planned
	}
	return KeyEvidence(f.tokensAt(d))
}

// keyClosed returns the evidence for SmartKeys at a door that the guest has no right to open now: Removing or Removed after an access,
// Planned before it, else None, as at a lock without SmartKeys. had means that a code of the reservation is or was on the door, planned
// means that the door will open after the check-in.
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

// loadTokens returns the tokens of the reservation's phones, and the ids of the doors, both by the id of the lock. A reservation without a
// phone needs no query.
func (run *stayRun) loadTokens() (tokens map[string][]Token, doors map[string]string, err error) {
	ids := grantsWithKeys(append([]*ent.Grant{run.grant}, run.olderGrants...))
	if len(ids) == 0 {
		return nil, nil, nil
	}
	rows, err := run.Tx.KeyStatus.Query().Where(entkeystatus.PropertyID(run.PropertyID), entkeystatus.GrantIDIn(ids...)).
		Order(entkeystatus.ByID()).All(run.Tx.Context())
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	at, err := run.loadTokenFacts(rows)
	if err != nil {
		return nil, nil, err
	}
	tokens, doors = map[string][]Token{}, map[string]string{}
	for _, s := range rows {
		for _, lockID := range s.LockIds {
			tokens[lockID] = append(tokens[lockID], at.token(s, lockID))
			if l := run.locks[lockID].lock; l != nil && l.DoorID != nil {
				doors[lockID] = *l.DoorID
			}
		}
	}
	return tokens, doors, nil
}

// grantsWithKeys returns the ids of the grants for which a SmartKey was issued.
func grantsWithKeys(grants []*ent.Grant) (ids []string) {
	for _, g := range grants {
		if g != nil && g.Keyed {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// tokenFacts is what the state of tokens is computed from.
type tokenFacts struct {
	run           *stayRun
	issuer        *ent.Issuer
	minGeneration map[string]int64 // minGeneration is the lowest valid generation of tokens, by lock id; no entry: all are valid
}

// loadTokenFacts loads what the state of the tokens is computed from, and, into the run, the locks that they name.
func (run *stayRun) loadTokenFacts(rows []*ent.KeyStatus) (tokenFacts, error) {
	f := tokenFacts{run: run, minGeneration: map[string]int64{}}
	var err error
	if f.issuer, err = run.Tx.Issuer.Query().Where(entissuer.ID(run.PropertyID)).Only(run.Tx.Context()); err != nil {
		return f, fmt.Errorf("load the issuer of SmartKeys: %w", err)
	}
	var ids []string
	for _, s := range rows {
		ids = append(ids, s.LockIds...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rules, err := run.Tx.DoorRule.Query().Where(entdoorrule.PropertyID(run.PropertyID), entdoorrule.IDIn(ids...)).All(run.Tx.Context())
	if err != nil {
		return f, fmt.Errorf("load the rules of doors: %w", err)
	}
	for _, r := range rules {
		f.minGeneration[r.ID] = r.Floor
	}
	return f, run.loadLocks(ids)
}

// token returns the state at one lock of the tokens that share s, an entry of the status list: a phone has one for each version of its
// stay's access.
func (f tokenFacts) token(s *ent.KeyStatus, lockID string) Token {
	g, now := f.run.grant, f.run.Tx.Now()
	current := isLive(g) && s.GrantID == g.ID && s.KeyGeneration == g.KeyGeneration && s.RevokedAt == nil
	t := Token{
		Stale: !current,
		Valid: current && s.EndsAt.After(now) &&
			s.KeySetVersion >= f.issuer.LeastVersion && s.Generation >= f.minGeneration[lockID],
		Checked: slices.Contains(s.CheckedIds, lockID), Opened: slices.Contains(s.OpenedIds, lockID), Gone: !s.EndsAt.After(now),
	}
	known, revoked := bridgeConfirmed(f.issuer, f.run.locks[lockID].bridge, s)
	t.BridgeKnows, t.Gone = known, t.Gone || revoked
	return t
}

// bridgeConfirmed reports whether the bridge of a lock confirmed the keys and the status list by which it accepts a token (known), and the
// list that revokes it (revoked). Both are false without a bridge (nil). It ignores version numbers above the issuer's own: they are from
// before the database was restored from a backup.
func bridgeConfirmed(issuer *ent.Issuer, b *installedBridge, s *ent.KeyStatus) (known, revoked bool) {
	if b == nil || b.keySetVersion == nil || *b.keySetVersion > issuer.KeySetVersion || b.keyListNumber > issuer.ListNumber {
		return false, false
	}
	known = s.ListNumber > 0 && *b.keySetVersion >= s.KeySetVersion && b.keyListNumber >= s.ListNumber
	return known, s.RevokedList > 0 && b.keyListNumber >= s.RevokedList
}
