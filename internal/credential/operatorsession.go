package credential

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

const (
	// sessionIdle is how long a session of an operator may be unused.
	sessionIdle = 30 * time.Minute
	// sessionLife is how long a session of an operator lasts at most.
	sessionLife = 12 * time.Hour
	// usedInterval is how often the last use of a session is stored at most.
	usedInterval = time.Minute
)

// OpenSession opens a session with the secret of an operator token, and returns the session's row and secret. device becomes the session's
// name. For an invalid token it returns [Refused]. The session expires after sessionIdle unless [MarkUsed] extends it. The session ends at
// the latest when the token ends. If the token has too many sessions, the oldest one ends.
func OpenSession(tx *db.Tx, keys *keyring.Ring, operatorToken, device string) (*ent.Token, string, error) {
	parent, err := Find(tx, keys, Operator, operatorToken)
	if err != nil {
		return nil, "", err
	}
	open, err := List(tx, tx.Now(), token.Kind(string(Session)), token.ParentID(parent.ID), token.PropertyIDIsNil())
	if err != nil {
		return nil, "", err
	}
	if len(open) >= kinds[Session].most { // the oldest makes room
		if _, err := End(tx, 0, token.ID(open[0].ID), token.Kind(string(Session)), token.PropertyIDIsNil()); err != nil {
			return nil, "", err
		}
	}
	return Mint(tx, keys, Spec{Kind: Session, ParentID: parent.ID, Name: device, TTL: sessionIdle})
}

// AuthenticateSession returns the operator whose valid session has the secret, or [Refused]. A session is valid only as long as its
// operator token. AuthenticateSession does not extend it: see [UseIsOld].
func AuthenticateSession(view *db.Tx, keys *keyring.Ring, secret string) (actor.Actor, error) {
	if !keyring.IsToken(secret, kinds[Session].format) {
		return actor.Actor{}, Refused()
	}
	a := actor.Actor{Kind: actor.Operator}
	var ends time.Time
	found, err := view.ReadOne(findSessionQuery, []any{computeMAC(keys, Session, secret), view.Now(), view.Now().Add(-sessionLife)}, &a.TokenID, &ends, &a.ID)
	if err != nil {
		return actor.Actor{}, fmt.Errorf("find a session of an operator: %w", err)
	}
	if !found {
		return actor.Actor{}, Refused()
	}
	a.UsedAt = ends.Add(-sessionIdle)
	return a, nil
}

// UseIsOld reports whether the stored time of last use of an operator's session is so old that the call must store a new one. a must come
// from [AuthenticateSession]: for a call with a token the result is always true.
func UseIsOld(a actor.Actor, now time.Time) bool { return now.Sub(a.UsedAt) >= usedInterval }

// MarkUsed stores that the operator's session of a call was used now. If valid, it ends sessionIdle from now, but not after [SessionEnd].
func MarkUsed(tx *db.Tx, a actor.Actor) error {
	if _, err := tx.Token.Update().Where(session(a), isValid(tx.Now())).SetExpiresAt(tx.Now().Add(sessionIdle)).Save(tx.Context()); err != nil {
		return fmt.Errorf("store the last use of a session: %w", err)
	}
	return nil
}

// LoadSession returns the session of a call, and the operator token that it was opened with. The session is nil for a call with the token
// itself. Either may have ended already, and is nil if its row is deleted.
func LoadSession(view *db.Tx, a actor.Actor) (opened, with *ent.Token, err error) {
	rows, err := view.Token.Query().Where(token.IDIn(a.TokenID, a.ID), token.KindIn(string(Session), string(Operator)), token.PropertyIDIsNil()).All(view.Context())
	if err != nil {
		return nil, nil, fmt.Errorf("load a session of an operator: %w", err)
	}
	for _, row := range rows {
		if row.Kind == string(Session) {
			opened = row
		} else {
			with = row
		}
	}
	return opened, with, nil
}

// SessionEnd returns when a session ends at the latest, however often it is used.
func SessionEnd(opened *ent.Token) time.Time { return opened.CreatedAt.Add(sessionLife) }

// EndSession ends the session of a call, or returns a not-found fault if the call was made with a token or the session has ended already.
func EndSession(tx *db.Tx, a actor.Actor) error {
	n, err := End(tx, 0, session(a))
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, fault.SessionNotFound, "the call has no session: only a session of SignIn can be ended")
	}
	return err
}

// session selects the session of a call.
func session(a actor.Actor) predicate.Token {
	return token.And(token.ID(a.TokenID), token.Kind(string(Session)), token.ParentID(a.ID), token.PropertyIDIsNil())
}
