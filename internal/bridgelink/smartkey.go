package bridgelink

import (
	"bytes"
	"crypto/sha256"
	"math"
	"slices"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/smartkey"
)

// smartKeys is the name of the capability in Hello of bridges that can verify SmartKeys.
const smartKeys = "smartkey"

const (
	greetingTimeout     = 5 * time.Second // longest wait for a bridge's greeting, which a phone needs to use a SmartKey
	maxGreetingRequests = 64              // open requests for greetings of one session; further ones are refused
)

var errNoSmartKeys = fault.New(fault.Precondition, fault.Unsupported, "the door's bridge runs software without SmartKeys; update it")

// keyState records which issuer keys and status list the bridge has, according to what was sent and what the bridge reported.
type keyState struct {
	supported           bool                 // the bridge verifies SmartKeys
	version, listNumber uint64               // versions of issuer keys and status list that the bridge has when it has received all that was sent
	reported            bridge.InstalledKeys // versions in the bridge's last report, at first its Hello; zero: none, or those of another issuer; version and listNumber, not these, decide what is sent
	published           bridge.InstalledKeys // published versions when sendKeys last read them, to find out whether reported ones were never published
	handledReport       bridge.InstalledKeys // last report of unpublished versions that replaceUnpublishedList has handled
	reportedDigest      []byte               // digest of the status list in the bridge's Hello; nil after a later report
	publishedDigest     [sha256.Size]byte    // digest of the newest published status list
}

// keysInHello returns which issuer keys and status list the bridge has, according to its Hello; bridge.NoSmartKeys as the version if it
// does not support SmartKeys.
func keysInHello(h *lockv1.Hello) bridge.InstalledKeys {
	if !slices.Contains(h.Capabilities, smartKeys) {
		return bridge.InstalledKeys{Version: bridge.NoSmartKeys}
	}
	return installedKeysOf(h.SmartkeyKeySetVersion, h.SmartkeyListNumber)
}

// installedKeysOf converts the two versions of a message to the type that is stored.
func installedKeysOf(version, list uint64) bridge.InstalledKeys {
	return bridge.InstalledKeys{Version: int64(min(version, math.MaxInt64)), List: int64(min(list, math.MaxInt64))}
}

// initKeyState stores in s.keys, from Hello, which issuer keys and status list the bridge has. If the bridge supports SmartKeys, newer ones
// are sent next.
func (s *session) initKeyState(h *lockv1.Hello) {
	s.keys = keyState{supported: slices.Contains(h.Capabilities, smartKeys), version: h.SmartkeyKeySetVersion, listNumber: h.SmartkeyListNumber, reported: keysInHello(h), reportedDigest: h.SmartkeyListDigest}
	s.greetings.setSupported(s.keys.supported)
	if s.keys.supported {
		s.mailbox.markDirty(bridge.KeysChanged)
	}
}

// sendKeys queues the issuer keys and status list that are newer than the bridge's, and all its door rules. It does nothing if the bridge
// has no SmartKeys or the property no issuer. It returns false after a database error, so that the caller retries.
func (s *session) sendKeys() bool {
	if !s.keys.supported {
		return true
	}
	view := s.node.cfg.DB.View(s.stream.Context())
	p, err := mobilekey.PublishedSince(view, s.open.PropertyID, s.keys.version, s.keys.listNumber)
	var rules []mobilekey.ListAgeRule
	if err == nil && p.Version > 0 {
		rules, err = mobilekey.ListAgeRules(view, s.open.PropertyID, s.open.BridgeID)
	}
	if err != nil {
		s.log.Warn("loading SmartKey data for a bridge failed; retrying", "error", err)
		return false
	}
	if p.Version == 0 {
		return true
	}
	s.keys.published, s.keys.publishedDigest = installedKeysOf(p.Version, p.ListNumber), p.ListDigest
	if !s.replaceUnpublishedList() {
		return false
	}
	if len(p.KeySets) > 0 {
		s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_IssuerKeySets{IssuerKeySets: &lockv1.IssuerKeySets{KeySets: p.KeySets}}})
	}
	if len(p.List) > 0 {
		s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_StatusList{StatusList: &lockv1.StatusList{List: p.List}}})
	}
	s.keys.listNumber = p.ListNumber
	if s.keys.version == 0 {
		s.keys.version = p.Version
	} else if s.keys.version += uint64(len(p.KeySets)); s.keys.version < p.Version {
		s.mailbox.markDirty(bridge.KeysChanged) // the remaining key sets are sent in a further message
	}
	m := &lockv1.DoorRules{}
	for _, r := range rules {
		m.Rules = append(m.Rules, &lockv1.DoorRule{Address: r.Address, MaxListAgeSeconds: uint32(r.ListAge / time.Second)})
	}
	s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_DoorRules{DoorRules: m}})
	return true
}

// isUnpublished reports whether the bridge has issuer keys or a status list that this database never published, for example because the
// database was restored from a backup: a higher version, or a different list with the same version.
func (k keyState) isUnpublished() (keys, list bool) {
	other := k.reported.List == k.published.List && len(k.reportedDigest) > 0 && !bytes.Equal(k.reportedDigest, k.publishedDigest[:])
	return k.reported.Version > k.published.Version, k.reported.List > k.published.List || other
}

// replaceUnpublishedList checks whether the bridge has an unpublished status list. If so, it makes the property publish one with a higher
// version, because bridges refuse lists with lower versions. Unpublished issuer keys it only logs. It returns false after a database error.
func (s *session) replaceUnpublishedList() bool {
	state := s.keys
	keys, list := state.isUnpublished()
	if !keys && !list || state.reported == state.handledReport {
		return true
	}
	s.log.Warn("a bridge holds issuer keys or a status list that this service never published: was its database restored from an older backup? If the bridge refuses the next update, enrol it again",
		"keySet", state.reported.Version, "list", state.reported.List, "publishedKeySet", state.published.Version, "publishedList", state.published.List)
	if list {
		err := s.node.cfg.DB.Write(s.stream.Context(), func(tx *db.Tx) error {
			return mobilekey.SkipListNumbers(tx, s.node.cfg.Keys, s.open.PropertyID, state.reported.List)
		})
		if err != nil {
			s.log.Warn("publishing a status list newer than a bridge's failed; retrying", "error", err)
			return false
		}
	}
	s.keys.handledReport = state.reported
	return true
}

// onSmartKeyState records the versions of issuer keys and status list that the bridge reports. Key rotation waits for this report, and
// access plans show it. If the bridge refused data as those of another issuer, its versions are stored as zero. It returns a cause if the
// session must end.
func (s *session) onSmartKeyState(r *lockv1.SmartKeyState) cause {
	s.keys.version, s.keys.listNumber = r.KeySetVersion, r.ListNumber
	why := enumOr[smartkey.Reason](r.Refused, "", smartkey.NotNewer, smartkey.UnknownIssuer, smartkey.BadSignature, smartkey.WrongProperty,
		smartkey.Malformed, smartkey.UnsupportedAlgorithm)
	if why != "" && why != smartkey.NotNewer {
		s.log.Warn("a bridge refused the issuer keys or the status list of its property: if it was not restored from a backup, enrol it again", "reason", why)
	}
	held := installedKeysOf(r.KeySetVersion, r.ListNumber)
	if why == smartkey.UnknownIssuer || why == smartkey.BadSignature {
		held = bridge.InstalledKeys{} // zero, for none, is stored: versions of another issuer cannot be compared with those of the property. Nothing is sent because of it
	}
	if held == s.keys.reported {
		return ""
	}
	s.keys.reported, s.keys.reportedDigest = held, nil
	if keys, list := s.keys.isUnpublished(); keys || list {
		s.mailbox.markDirty(bridge.KeysChanged)
	}
	return s.write("smartkeyState", func(tx *db.Tx) error { return bridge.StoreInstalledKeys(tx, s.open.BridgeID, s.open.Epoch, held) })
}

// resultText returns the text of a command's result that is stored, at most 32 bytes: the result in the report, or RefusedKeyPrefix and the
// reason for which the SmartKey was refused.
func resultText(r *lockv1.ActReport) string {
	if r.SmartkeyReason == "" || r.SmartkeyReason == string(smartkey.OK) {
		return printable(r.Result, 32)
	}
	return printable(lock.RefusedKeyPrefix+r.SmartkeyReason, 32)
}
