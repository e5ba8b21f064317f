package staff

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/membership"
	"latchkey.dev/ent/personsession"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

const (
	// sessionIdle is how long a session may be unused.
	sessionIdle = 30 * time.Minute
	// sessionLife is how long a session lasts at most.
	sessionLife = 12 * time.Hour
	// usedInterval is how often the last use of a session is stored at most.
	usedInterval = time.Minute
	// maxSessions bounds the sessions of a person. A new one ends the oldest.
	maxSessions = 20
)

// Session is a new session with its token; only a hash of the token is stored.
type Session struct {
	ID, Token, PersonID string
	Challenge           string // set in place of the token if the second factor is missing
	EndsAt              time.Time
}

// SessionRow is a session as stored.
type SessionRow = ent.PersonSession

// sessionMAC returns the keyed hash under which the token of a person's session is stored and found.
func sessionMAC(keys *keyring.Ring, token string) []byte { return keys.MAC("personSession", token) }

// sessionSpec describes a session to create.
type sessionSpec struct {
	personID, device string
	endsAt           time.Time  // zero: sessionLife after now
	secondFactorAt   *time.Time // when the second factor was confirmed; nil: never
	provedAt         *time.Time // the person's last proof of who they are; nil: unknown
	pending          bool       // the second factor is missing
}

// createSession creates a session of a person who has proved who they are, and ends the oldest beyond maxSessions; pending ones are counted
// apart. Without endsAt, it lasts for sessionLife. A pending session has a challenge and no token.
func createSession(tx *db.Tx, keys *keyring.Ring, spec sessionSpec) (Session, error) {
	s := Session{ID: id.New(id.PersonSess), Token: keyring.NewToken(keyring.PersonSession), PersonID: spec.personID, EndsAt: spec.endsAt}
	if s.EndsAt.IsZero() {
		s.EndsAt = tx.Now().Add(sessionLife)
	}
	err := tx.PersonSession.Create().SetID(s.ID).SetPersonID(s.PersonID).SetMAC(sessionMAC(keys, s.Token)).SetDevice(spec.device).SetPending(spec.pending).
		SetNillableSecondFactorAt(spec.secondFactorAt).SetNillableProvedAt(spec.provedAt).SetUsedAt(tx.Now()).SetEndsAt(s.EndsAt).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return Session{}, fmt.Errorf("store a session of a person: %w", err)
	}
	if spec.pending {
		s.Challenge, s.Token = s.Token, ""
	}
	ids, err := tx.PersonSession.Query().Where(personsession.PersonID(s.PersonID), personsession.Pending(spec.pending)).
		Order(ent.Desc(personsession.FieldCreatedAt), ent.Desc(personsession.FieldID)).Offset(maxSessions).Limit(maxSessions).IDs(tx.Context())
	if err != nil {
		return Session{}, fmt.Errorf("list the sessions of a person: %w", err)
	}
	if len(ids) == 0 {
		return s, nil
	}
	return s, endSessions(tx, s.PersonID, personsession.IDIn(ids...))
}

// endSessions ends the sessions of a person that match which; without which, all of them.
func endSessions(tx *db.Tx, personID string, which ...predicate.PersonSession) error {
	if _, err := tx.PersonSession.Delete().Where(append(which, personsession.PersonID(personID))...).Exec(tx.Context()); err != nil {
		return fmt.Errorf("end sessions of a person: %w", err)
	}
	return nil
}

// Authenticate returns the person whose session has the token, as the actor of a call. It returns [credential.Refused] for a disabled
// person, and for a session that is unknown, pending, past its end or unused for sessionIdle. It does not extend the session: see
// [MarkUsed]. UsedAt is the older of the stored last uses of the session and of the membership; zero: the membership was never used.
// propertyID is the property that the call names; a person without access to it gets a not-found fault. If it is "", the actor has no
// property and no role.
func Authenticate(view *db.Tx, keys *keyring.Ring, token, propertyID string) (actor.Actor, error) {
	if !keyring.IsToken(token, keyring.PersonSession) {
		return actor.Actor{}, credential.Refused()
	}
	var confirmed, proved *time.Time
	a := actor.Actor{Kind: actor.Staff, PropertyID: propertyID}
	found, err := view.ReadOne(findSession, []any{propertyID, sessionMAC(keys, token), view.Now(), view.Now().Add(-sessionIdle)},
		&a.TokenID, &a.PersonID, &a.UsedAt, &confirmed, &proved, &a.SecondFactor.Enrolled, &a.NoAccessProof)
	if err != nil {
		return actor.Actor{}, fmt.Errorf("find a session of a person: %w", err)
	}
	if !found {
		return actor.Actor{}, credential.Refused()
	}
	a.ID = a.PersonID
	if proved != nil {
		a.ProvedAt = *proved
	}
	if confirmed != nil {
		a.SecondFactor.ConfirmedAt = *confirmed
	}
	if propertyID == "" {
		return a, nil
	}
	membership, err := findMembership(view, propertyID, a.PersonID)
	if err != nil {
		return actor.Actor{}, err
	}
	if membership == nil {
		return actor.Actor{}, fault.New(fault.NotFound, fault.PropertyNotFound, "you have no such property: GetSession lists yours")
	}
	a.Role = membership.Role
	// Another call may have stored the use of the session a moment ago, but not that of the membership.
	switch used := membership.UsedAt; {
	case used == nil:
		a.UsedAt = time.Time{}
	case used.Before(a.UsedAt):
		a.UsedAt = *used
	}
	return a, nil
}

// UseIsOld reports whether the stored time of last use, of a session or a membership, is so old that the call must store a new one. It
// returns false for an actor that is not a person.
func UseIsOld(a actor.Actor, now time.Time) bool {
	return a.PersonID != "" && now.Sub(a.UsedAt) >= usedInterval
}

// MarkUsed stores that the session of a call was used now, which keeps it valid for another sessionIdle (not past its end), and that the
// person was active at the property of the call, if it has one.
func MarkUsed(tx *db.Tx, a actor.Actor) error {
	err := tx.PersonSession.Update().Where(personsession.PersonID(a.PersonID), personsession.ID(a.TokenID)).SetUsedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the last use of a session: %w", err)
	}
	err = tx.Membership.Update().Where(membership.PropertyID(a.PropertyID), membership.PersonID(a.PersonID)).SetUsedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the last call of a person at a property: %w", err)
	}
	return nil
}

// valid selects a person's sessions that are not pending, not unused for sessionIdle, and not past their end.
func valid(tx *db.Tx, personID string) predicate.PersonSession {
	return personsession.And(personsession.PersonID(personID), personsession.Pending(false), personsession.EndsAtGT(tx.Now()), personsession.UsedAtGT(tx.Now().Add(-sessionIdle)))
}

// ListSessions lists the valid sessions of a person, the latest first. It omits pending ones.
func ListSessions(view *db.Tx, personID string) ([]*ent.PersonSession, error) {
	rows, err := view.PersonSession.Query().Where(valid(view, personID)).
		Order(ent.Desc(personsession.FieldCreatedAt), ent.Desc(personsession.FieldID)).Limit(maxSessions).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the sessions of a person: %w", err)
	}
	return rows, nil
}

// EndSession ends one session of a person, also a pending one, or returns a fault if there is none.
func EndSession(tx *db.Tx, personID, sessionID string) error {
	n, err := tx.PersonSession.Delete().Where(personsession.PersonID(personID), personsession.ID(sessionID)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("end a session of a person: %w", err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, fault.SessionNotFound, "you have no such session: list the sessions to find it")
	}
	return nil
}

// EndAllSessions ends every session of a person, also that of the call and pending ones.
func EndAllSessions(tx *db.Tx, personID string) error { return endSessions(tx, personID) }

// sessionOf returns a valid session of a person, or the error [credential.Refused].
func sessionOf(tx *db.Tx, personID, sessionID string) (*ent.PersonSession, error) {
	row, err := tx.PersonSession.Query().Where(valid(tx, personID), personsession.ID(sessionID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, credential.Refused()
	}
	if err != nil {
		return nil, fmt.Errorf("load a session of a person: %w", err)
	}
	return row, nil
}

// LoadSession returns the session with which a call was made, and the profile of its person, or [credential.Refused] if it has ended.
func LoadSession(view *db.Tx, keys *keyring.Ring, a actor.Actor) (*ent.PersonSession, Profile, error) {
	row, err := sessionOf(view, a.PersonID, a.TokenID)
	if err != nil {
		return nil, Profile{}, err
	}
	owner, err := loadPerson(view, a.PersonID)
	if err != nil {
		return nil, Profile{}, err
	}
	profile, err := profileOf(view.Context(), keys, owner)
	return row, profile, err
}

// rotateSession ends every session of a person, and creates one in place of the session of the call, with the same device, end and proofs.
func rotateSession(tx *db.Tx, keys *keyring.Ring, personID, sessionID string) (Session, error) {
	row, err := sessionOf(tx, personID, sessionID)
	if err != nil {
		return Session{}, err
	}
	if err := endSessions(tx, personID); err != nil {
		return Session{}, err
	}
	return createSession(tx, keys, sessionSpec{personID: personID, device: row.Device, endsAt: row.EndsAt, secondFactorAt: row.SecondFactorAt, provedAt: row.ProvedAt})
}

// challengeLife is how long a sign-in waits for the second factor, and a browser has for a passkey.
const challengeLife = 5 * time.Minute

// findPending returns the pending session of a sign-in that waits for the second factor, by its challenge, or [credential.Refused].
func findPending(tx *db.Tx, keys *keyring.Ring, challenge string) (*ent.PersonSession, error) {
	if !keyring.IsToken(challenge, keyring.PersonSession) {
		return nil, credential.Refused()
	}
	row, err := tx.PersonSession.Query().Where(personsession.MAC(sessionMAC(keys, challenge)), personsession.Pending(true), personsession.EndsAtGT(tx.Now())).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, credential.Refused()
	}
	if err != nil {
		return nil, fmt.Errorf("find a sign-in that waits: %w", err)
	}
	return row, nil
}

// replaceSession replaces the session of a call by one with the same end and a second factor confirmed now. Other sessions of the person
// stay valid.
func replaceSession(tx *db.Tx, keys *keyring.Ring, personID, sessionID string) (Session, error) {
	row, err := sessionOf(tx, personID, sessionID)
	if err != nil {
		return Session{}, err
	}
	if err := endSessions(tx, personID, personsession.ID(sessionID)); err != nil {
		return Session{}, err
	}
	now := tx.Now()
	return createSession(tx, keys, sessionSpec{personID: personID, device: row.Device, endsAt: row.EndsAt, secondFactorAt: &now, provedAt: row.ProvedAt})
}

// beginSession creates a session for a person who has signed in. If the person has a second factor, the session is pending: within
// challengeLife, a code of the app or a recovery code must replace it by another ([Service.FinishSignIn]). provedAt is when the person gave
// the password, here or at the identity provider; zero: the provider does not say.
func beginSession(tx *db.Tx, keys *keyring.Ring, who *ent.Person, device string, provedAt time.Time) (Session, error) {
	spec := sessionSpec{personID: who.ID, device: device}
	if !provedAt.IsZero() {
		spec.provedAt = &provedAt
	}
	has, err := hasSecondFactor(tx, who)
	if err != nil {
		return Session{}, err
	}
	if has {
		spec.pending, spec.endsAt = true, tx.Now().Add(challengeLife)
	}
	return createSession(tx, keys, spec)
}
