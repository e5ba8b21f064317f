package smartkey

import (
	"time"
)

// Quality is how reliable the clock of a verifier is. It never decides whether a token is accepted, which [Clock].Error does: it only
// chooses the reason of a refusal at the edge of the token's window.
type Quality string

// An untrusted clock may still have a known bound of its error.
const (
	Synchronized Quality = "synchronized"
	Drifting     Quality = "drifting"
	Untrusted    Quality = "untrusted"
)

// Clock is a verifier's time and the bound of its error. The true time is within Now ± Error. A negative Error means that no bound
// is known.
type Clock struct {
	Now     time.Time
	Error   time.Duration
	Quality Quality
}

// DoorRule is a rule of the property for one door.
type DoorRule struct {
	// MaxListAge is the greatest age of the status list; 0 means DefaultMaxListAge.
	MaxListAge time.Duration
}

// Trust is the state that a verifier keeps between calls.
type Trust struct {
	Bridge string // Bridge is the bridge's id
	Site   string // Site is the id of the bridge's property; empty: only tokens for the bridge itself are accepted
	Keys   KeySet
	List   List
	Doors  map[Door]DoorRule // Doors are the doors that the bridge drives
}

// Input is everything that a verdict depends on.
type Input struct {
	Trust Trust
	Token []byte // Token is the signed token as the phone sent it
	Proof []byte // Proof is the signed proof as the phone sent it
	// Door and Operation are what the caller is asked to do; Verify refuses a proof for another door or operation. A caller without a
	// request of its own copies them from the parsed proof.
	Door      Door
	Operation Operation
	Clock     Clock
	Elapsed   time.Duration // Elapsed is the monotonic time since the bridge started
	Nonces    Nonces
}

// Verdict is the result of Verify.
type Verdict struct {
	Reason Reason
	Detail string // Detail is for people and has no identifier and no key

	// Token is set if its issuer's signature was verified, even if the request is refused.
	Token Token
	// Proof is set if the phone's signature was verified and the proof is for this token.
	Proof Proof
	// ListNumber and ListAge describe the status list that was checked; number 0 means none, also if a check
	// before it failed. The age is the upper bound; without a list it means nothing.
	ListNumber uint64
	ListAge    time.Duration
	// Until is when an accepted proof expires, on the clock of Elapsed. The command must reach the lock before.
	Until time.Duration
	// Nonces is the state for the next call, even after a refusal.
	Nonces Nonces
}

// Accepted reports whether the request is granted: the door may be opened, unless the operation was Check.
func (v Verdict) Accepted() bool { return v.Reason == OK }

// Verify decides for a bridge on one use of a SmartKey. It checks in a fixed order and stops at the first failure, so that the reason is
// stable: docs/smartkey.md, section "Verification". The caller must pass the verdict's Nonces to the next call, also after a refusal,
// because the nonce may be used up.
func Verify(in Input) Verdict {
	v := Verdict{Nonces: in.Nonces}
	err := v.check(in)
	v.Reason, v.Detail = ReasonOf(err), detailOf(err)
	return v
}

// check runs the checks of [Verify] in their order. It returns the first failure, and fills the verdict with what was verified before.
func (v *Verdict) check(in Input) error {
	token, err := in.Trust.Keys.OpenToken(in.Token)
	if err != nil {
		return err
	}
	v.Token = token
	proof, err := ReadProof(in.Proof)
	if err != nil {
		return err
	}
	if err := proof.verifyHolder(token); err != nil {
		return err
	}
	v.Proof = proof
	if err := in.Trust.checkAudience(token, proof); err != nil {
		return err
	}
	if v.Nonces, v.Until, err = in.Nonces.spend(proof.Nonce, in.Elapsed); err != nil {
		return err
	}
	if err := checkDoorAndOperation(in, token, proof); err != nil {
		return err
	}
	if err := in.Clock.checkWindow(token, in.Trust); err != nil {
		return err
	}
	return v.checkStatus(in, token)
}

// checkAudience checks that the proof is for this bridge, and the token for this bridge or its property.
func (t Trust) checkAudience(token Token, proof Proof) error {
	switch {
	case proof.Bridge != t.Bridge:
		return refuse(WrongBridge, "the proof is for another bridge")
	case token.Audience != t.Bridge && token.Audience != t.Site:
		return refuse(WrongBridge, "the token is for another bridge or site")
	}
	return nil
}

// checkDoorAndOperation checks that the bridge drives the door, and that the token and the proof are for this door and this operation. It
// refuses an operation other than Unlock and Check.
func checkDoorAndOperation(in Input, token Token, proof Proof) error {
	if _, driven := in.Trust.Doors[in.Door]; !driven {
		return refuse(WrongDoor, "the bridge does not drive this door")
	}
	switch {
	case proof.Door != in.Door:
		return refuse(WrongDoor, "the proof is for another door")
	case !token.CoversDoor(in.Door):
		return refuse(WrongDoor, "the token does not cover this door")
	case in.Operation != Unlock && in.Operation != Check:
		return refuse(WrongOperation, "the operation is not known here")
	case proof.Operation != in.Operation:
		return refuse(WrongOperation, "the proof is for another operation")
	case !token.CoversOperation(in.Operation):
		return refuse(WrongOperation, "the token does not cover this operation")
	}
	return nil
}

// checkWindow checks that the token is valid now, whatever the clock's error within its bound: the error counts against the bearer. It
// refuses a clock without a bound, and one that is more than IssuerSkew behind the time of issue of the token or the status list
// (ClockUntrusted). If the window begins or ends within the error, the reason is ClockUntrusted too, unless the clock is Synchronized.
func (c Clock) checkWindow(token Token, trust Trust) error {
	if c.Error < 0 {
		return refuse(ClockUntrusted, "the bridge does not know the time")
	}
	earliest, latest := c.Now.Add(-c.Error), c.Now.Add(c.Error)
	// reach is the latest time that the issuer's clock may show now. A token or status list that was issued after it proves that the
	// bridge's clock is slow.
	reach := latest.Add(IssuerSkew)
	if reach.Before(token.IssuedAt) || reach.Before(trust.listFor(token).issuedAt) {
		return refuse(ClockUntrusted, "the bridge's clock is behind a signed time")
	}
	switch {
	case latest.Before(token.NotBefore):
		return refuse(NotYetValid, "the window has not begun")
	case !earliest.Before(token.Expires):
		return refuse(Expired, "the window is over")
	case !earliest.Before(token.NotBefore) && latest.Before(token.Expires):
		return nil
	case c.Quality != Synchronized:
		return refuse(ClockUntrusted, "the window's edge is within the clock's error")
	case earliest.Before(token.NotBefore):
		return refuse(NotYetValid, "the window may not have begun")
	default:
		return refuse(Expired, "the window may be over")
	}
}

// checkStatus checks that the status list covers the token, is recent enough and has not ended, that it does not revoke the token, and that
// the door accepts the token's generation. A revocation and a generation count even in a list that is too old. Without a list for the token
// it refuses with StaleList. It sets ListNumber and ListAge in v.
func (v *Verdict) checkStatus(in Input, token Token) error {
	list := in.Trust.listFor(token)
	latest := in.Clock.Now.Add(in.Clock.Error)
	v.ListNumber, v.ListAge = list.number, max(0, latest.Sub(list.issuedAt))
	if token.Generation < list.Floor(in.Door) {
		return refuse(Superseded, "the door serves newer generations only")
	}
	revoked, known := list.Revoked(token.StatusIndex)
	limit := in.Trust.Doors[in.Door].MaxListAge
	if limit == 0 {
		limit = DefaultMaxListAge
	}
	switch {
	case revoked:
		return refuse(Revoked, "the token was revoked")
	case !known:
		return refuse(StaleList, "no status list speaks of this token")
	case v.ListAge > limit:
		return refuse(StaleList, "the status list is older than the door accepts")
	case !latest.Before(list.expires):
		return refuse(StaleList, "the status list has ended")
	}
	return nil
}

// listFor returns the status list if it applies to a token: the signer of the list is in the key set, and the token has the URI of the
// list. Otherwise it returns the zero List.
func (t Trust) listFor(token Token) List {
	if !t.Keys.hasSigner(t.List) || t.List.uri != token.StatusURI {
		return List{}
	}
	return t.List
}
