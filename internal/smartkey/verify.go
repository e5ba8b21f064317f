package smartkey

import (
	"time"
)

// Quality says how far a clock can be trusted.
type Quality string

// The qualities. An untrusted clock may still know how wrong it can be at most.
const (
	Synchronized Quality = "synchronized"
	Drifting     Quality = "drifting"
	Untrusted    Quality = "untrusted"
)

// Clock is a verifier's time and what it knows of its error. The true time is
// within Now ± Error; a negative Error means that no bound is known.
type Clock struct {
	Now     time.Time
	Error   time.Duration
	Quality Quality
}

// DoorRule holds the requirements of one door.
type DoorRule struct {
	// MaxListAge is how old the status list may be; 0: DefaultMaxListAge.
	MaxListAge time.Duration
}

// Trust is the state that a verifier keeps between calls.
type Trust struct {
	Bridge string // its id
	Site   string // another audience it belongs to; may be empty
	Keys   KeySet
	List   List
	Doors  map[Door]DoorRule // the doors it drives
}

// Input is everything a verdict depends on.
type Input struct {
	Trust Trust
	Token []byte
	Proof []byte
	// Door and Operation are what would be done now. Where the request names
	// nothing beside the proof, they are ReadProof's.
	Door      Door
	Operation Operation
	Clock     Clock
	Elapsed   time.Duration // monotonic, since the bridge started
	Nonces    Nonces
}

// Verdict is the result of Verify.
type Verdict struct {
	Reason Reason
	Detail string // for people; holds no identifier and no key

	// Token is set once its issuer was verified, also when it is refused.
	Token Token
	// Proof is set once the phone's signature was verified.
	Proof Proof
	// ListNumber and ListAge tell by which status list it was judged. The age is the oldest it can be.
	ListNumber uint64
	ListAge    time.Duration
	// Until is when, on the clock of Elapsed, an accepted proof is over: what it
	// opens must have been sent to the lock by then.
	Until time.Duration
	// Nonces is the memory to go on with, whatever the reason.
	Nonces Nonces
}

// Accepted reports whether the door may be opened.
func (v Verdict) Accepted() bool { return v.Reason == OK }

// Verify decides on one use of a SmartKey. It checks in a fixed order and stops at the first failure, so that the reason is
// stable: docs/smartkey.md, section "Verification".
func Verify(in Input) Verdict {
	v := Verdict{Nonces: in.Nonces}
	err := v.judge(in)
	v.Reason, v.Detail = ReasonOf(err), detailOf(err)
	return v
}

func (v *Verdict) judge(in Input) error {
	token, err := in.Trust.Keys.OpenToken(in.Token)
	if err != nil {
		return err
	}
	v.Token = token
	proof, err := ReadProof(in.Proof)
	if err != nil {
		return err
	}
	if err := proof.holder(token); err != nil {
		return err
	}
	v.Proof = proof
	if err := in.Trust.addressed(token, proof); err != nil {
		return err
	}
	if v.Nonces, v.Until, err = in.Nonces.spend(proof.Nonce, in.Elapsed); err != nil {
		return err
	}
	if err := covered(in, token, proof); err != nil {
		return err
	}
	if err := in.Clock.within(token, in.Trust); err != nil {
		return err
	}
	return v.status(in, token)
}

// addressed checks that both the token and the proof are meant for this bridge.
func (t Trust) addressed(token Token, proof Proof) error {
	switch {
	case proof.Bridge != t.Bridge:
		return refuse(WrongBridge, "the proof is for another bridge")
	case token.Audience != t.Bridge && token.Audience != t.Site:
		return refuse(WrongBridge, "the token is for another bridge or site")
	}
	return nil
}

// covered checks that what would be done is what was signed for, and that the token covers it.
func covered(in Input, token Token, proof Proof) error {
	if _, driven := in.Trust.Doors[in.Door]; !driven {
		return refuse(WrongDoor, "the bridge does not drive this door")
	}
	switch {
	case proof.Door != in.Door:
		return refuse(WrongDoor, "the proof is for another door")
	case !token.Opens(in.Door):
		return refuse(WrongDoor, "the token does not cover this door")
	case in.Operation != Unlock && in.Operation != Check:
		return refuse(WrongOperation, "the operation is not known here")
	case proof.Operation != in.Operation:
		return refuse(WrongOperation, "the proof is for another operation")
	case !token.Allows(in.Operation):
		return refuse(WrongOperation, "the token does not cover this operation")
	}
	return nil
}

// within checks the validity window, and counts the error of the clock against the bearer.
func (c Clock) within(token Token, trust Trust) error {
	if c.Error < 0 {
		return refuse(ClockUntrusted, "the bridge does not know the time")
	}
	earliest, latest := c.Now.Add(-c.Error), c.Now.Add(c.Error)
	// Signed documents from the future prove that the clock is behind.
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

// status checks the status list. A revocation counts however old the list is.
func (v *Verdict) status(in Input, token Token) error {
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

// listFor returns the list that may judge a token, and none when its signer was
// taken out of the key set or it is not the list the token names.
func (t Trust) listFor(token Token) List {
	if !t.Keys.vouches(t.List) || t.List.uri != token.StatusURI {
		return List{}
	}
	return t.List
}
