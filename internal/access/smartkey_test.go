package access

import (
	"testing"

	"latchkey.dev/ent"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

func TestKeyEvidence(t *testing.T) {
	held := Token{Valid: true}
	known := Token{Valid: true, BridgeKnows: true}
	checked := Token{Valid: true, BridgeKnows: true, Checked: true}
	opened := Token{Valid: true, BridgeKnows: true, Checked: true, Opened: true}
	over := Token{BridgeKnows: true, Checked: true, Opened: true, Gone: true}
	taken := Token{BridgeKnows: true, Opened: true} // revoked, which the bridge has not confirmed
	for _, tc := range []struct {
		what       string
		tokens     []Token
		open, left slot.Evidence
	}{
		{"no phone", nil, slot.Planned, slot.Removed},
		{"a phone holds a token", []Token{held}, slot.Sent, slot.Removing},
		{"and the bridge knows the list", []Token{known}, slot.Accepted, slot.Removing},
		{"and the bridge accepted it", []Token{checked}, slot.Verified, slot.Removing},
		{"and it opened the door", []Token{opened}, slot.Used, slot.Removing},
		{"it opened, though the bridge was restored from an older copy", []Token{{Valid: true, Opened: true}}, slot.Used, slot.Removing},
		{"it has expired", []Token{over}, slot.Planned, slot.Removed},
		{"it is revoked", []Token{taken}, slot.Planned, slot.Removing},
		{"one of two has expired", []Token{over, known}, slot.Accepted, slot.Removing},
		{"the strongest phone counts", []Token{held, checked, known}, slot.Verified, slot.Removing},
		{"an expired token that was used does not count", []Token{over, taken, held}, slot.Sent, slot.Removing},
		{"all have expired", []Token{over, over}, slot.Planned, slot.Removed},
	} {
		if got := KeyEvidence(tc.tokens); got != tc.open {
			t.Errorf("%s: %s at a door of the stay, want %s", tc.what, got, tc.open)
		}
		if got := RemainingKeyEvidence(tc.tokens); got != tc.left {
			t.Errorf("%s: %s at a door that is not, want %s", tc.what, got, tc.left)
		}
	}
}

func TestDescribeSmartKeys(t *testing.T) {
	confirmed, over := Right{Reason: NotCheckedIn}, Right{Reason: CheckedOut}
	at := func(door string, tokens ...Token) map[string][]Token { return map[string][]Token{"l-" + door: tokens} }
	live, gone, lives := Token{Valid: true, BridgeKnows: true, Opened: true}, Token{Gone: true}, Token{}
	mute, cut := room("a"), room("a")
	mute.Lock.SmartKey = false
	cut.Lock.Bridge = lock.BridgeRevoked
	kept := func(d Door) map[string]Door { return map[string]Door{d.ID: d} }
	off := room("a")
	off.Inactive = true
	for _, tc := range []struct {
		what  string
		facts Facts
		want  slot.Evidence
	}{
		{"open", Facts{Right: allowed, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Verified)}, Tokens: at("a", live)}, slot.Used},
		{"open without a PIN", Facts{Right: allowed, Doors: []Door{room("a")}, Tokens: at("a", live)}, slot.Used},
		{"another door's", Facts{Right: allowed, Doors: []Door{room("a")}, Tokens: at("b", live)}, slot.Planned},
		{"a lock that takes none", Facts{Right: allowed, Doors: []Door{mute}}, None},
		{"a lock that takes none, before", Facts{Right: confirmed, Doors: []Door{mute}}, None},
		{"a lock that takes none, after", Facts{Right: over, Doors: []Door{mute}, Codes: []SlotCode{code("a", slot.Removing)}}, None},
		{"a bridge that was revoked", Facts{Right: allowed, Doors: []Door{cut}, Tokens: at("a", live)}, slot.Planned},
		{"a door that is switched off", Facts{Right: allowed, Doors: []Door{off}, Tokens: at("a", lives)}, slot.Removing},
		{"before check-in", Facts{Right: confirmed, Doors: []Door{room("a")}}, slot.Planned},
		{"check-in taken back", Facts{Right: confirmed, Doors: []Door{room("a")}, Tokens: at("a", lives)}, slot.Removing},
		{"check-in taken back, and the bridge knows", Facts{Right: confirmed, Doors: []Door{room("a")}, Tokens: at("a", gone)}, slot.Planned},
		{"checked out", Facts{Right: over, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Removed)}, Tokens: at("a", gone, lives)}, slot.Removing},
		{"checked out, and the bridge knows", Facts{Right: over, Doors: []Door{room("a")}, Codes: []SlotCode{code("a", slot.Removing)}, Tokens: at("a", gone)}, slot.Removed},
		{"checked out, without a PIN", Facts{Right: over, Doors: []Door{room("a")}, Tokens: at("a", gone)}, slot.Removed},
		{"a door that was left, and only its SmartKey may open", Facts{Right: allowed, Doors: []Door{room("b")}, Tokens: at("a", lives), KeyDoors: map[string]string{"l-a": "a"}}, slot.Removing},
		{"a door of a stay that is over, and only its SmartKey may open", Facts{Right: over, HadGrant: true, Doors: []Door{room("b")}, Tokens: at("a", lives), KeyDoors: map[string]string{"l-a": "a"}}, slot.Removing},
		{"a door that is left", Facts{Right: allowed, Doors: []Door{room("b")}, Codes: []SlotCode{code("a", slot.Verified)}, Tokens: at("a", lives)}, slot.Removing},
		{"a door that is left, and the bridge knows", Facts{Right: allowed, Doors: []Door{room("b")}, Codes: []SlotCode{code("a", slot.Verified)}, Tokens: at("a", gone)}, slot.Removed},
		{"a door that is kept without a place", Facts{Right: allowed, Codes: []SlotCode{code("a", slot.Verified)}, Names: kept(room("a")), Tokens: at("a", live)}, slot.Used},
		{"a door that is kept, and no phone", Facts{Right: allowed, Codes: []SlotCode{code("a", slot.Verified)}, Names: kept(room("a"))}, slot.Planned},
		{"a door that is kept, and takes none", Facts{Right: allowed, Codes: []SlotCode{code("a", slot.Verified)}, Names: kept(mute)}, None},
	} {
		doors := Describe(tc.facts).Doors
		if len(doors) == 0 || doors[len(doors)-1].SmartKey != tc.want {
			t.Errorf("%s: %+v, want %s", tc.what, doors, tc.want)
		}
	}
}

// TestBridgeConfirmed has the issuer at key set 2 and list 500, and an index of list 400, revoked in 490.
func TestBridgeConfirmed(t *testing.T) {
	issuer := &ent.Issuer{KeySetVersion: 2, ListNumber: 500}
	index := &ent.KeyStatus{KeySetVersion: 2, ListNumber: 400, RevokedList: 490}
	said := func(version, list int64) *installedBridge {
		return &installedBridge{keySetVersion: &version, keyListNumber: list}
	}
	for _, tc := range []struct {
		what           string
		bridge         *installedBridge
		known, revoked bool
	}{
		{"no bridge", nil, false, false},
		{"it has said nothing", &installedBridge{keyListNumber: 500}, false, false},
		{"it knows no SmartKeys", said(-1, 0), false, false},
		{"older keys", said(1, 489), false, false},
		{"an older list", said(2, 399), false, false},
		{"all but the revocation", said(2, 489), true, false},
		{"the list that revokes it", said(2, 490), true, true},
		{"all", said(2, 500), true, true},
		{"a list that was never made here", said(2, 600), false, false},
		{"keys that were never made here", said(4, 500), false, false},
	} {
		if known, revoked := bridgeConfirmed(issuer, tc.bridge, index); known != tc.known || revoked != tc.revoked {
			t.Errorf("%s: known %v, revoked %v", tc.what, known, revoked)
		}
	}
}

// TestStaleSmartKeyIsAPendingChange: while a bridge may accept a SmartKey from before a change, or from before the end, the
// status says so.
func TestStaleSmartKeyIsAPendingChange(t *testing.T) {
	verified := []SlotCode{code("a", slot.Verified)}
	gone := []SlotCode{but(code("a", slot.Removed), func(h *SlotCode) { h.Present = false })}
	tokens := func(t Token) map[string][]Token { return map[string][]Token{"l-a": {t}} }
	for _, tc := range []struct {
		what  string
		facts Facts
		want  Status
	}{
		{"a good one", Facts{Right: allowed, Codes: verified, Tokens: tokens(Token{Valid: true})}, StatusIssued},
		{"one from before the change", Facts{Right: allowed, Codes: verified, Tokens: tokens(Token{Stale: true})}, StatusUpdating},
		{"the bridge refuses it", Facts{Right: allowed, Codes: verified, Tokens: tokens(Token{Stale: true, Gone: true})}, StatusIssued},
		{"checked out", Facts{Right: Right{Reason: CheckedOut}, HadGrant: true, Codes: gone, Tokens: tokens(Token{Stale: true})}, StatusRemoving},
		{"checked out, and the bridge refuses it", Facts{Right: Right{Reason: CheckedOut}, HadGrant: true, Codes: gone, Tokens: tokens(Token{Stale: true, Gone: true})}, StatusRemoved},
	} {
		tc.facts.Doors = []Door{room("a")}
		if got := Describe(tc.facts).Status; got != tc.want {
			t.Errorf("%s: %s, want %s", tc.what, got, tc.want)
		}
	}
}
