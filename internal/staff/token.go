package staff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/property"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/staff/credential"
)

// Roles of staff, in growing order: each may do all that the one before may.
const (
	Viewer   = "viewer"
	Operator = "operator"
	Owner    = "owner"
)

var roles = []string{Viewer, Operator, Owner}

// Suffices tells whether who has a role may do what another is needed for.
func Suffices(role, needed string) bool {
	at := slices.Index(roles, needed)
	return at >= 0 && slices.Index(roles, role) >= at
}

// CreateToken makes a token for the staff or a script of a property: lkp_, shown once.
// A zero ttl means until it is revoked.
func CreateToken(tx *db.Tx, keys *keyring.Ring, propertyID, name, role string, ttl time.Duration) (*ent.Token, string, error) {
	if strings.HasPrefix(name, sessionOf) {
		return nil, "", fault.Fields(fault.Field{Path: "name", Reason: fault.WrongValue, Message: fmt.Sprintf("must not begin with %q: such names are given by the service", sessionOf)})
	}
	return mint(tx, keys, propertyID, name, role, ttl)
}

func mint(tx *db.Tx, keys *keyring.Ring, propertyID, name, role string, ttl time.Duration) (*ent.Token, string, error) {
	if !slices.Contains(roles, role) {
		return nil, "", fault.Fields(fault.Field{Path: "role", Reason: fault.WrongValue, Message: "must be viewer, operator or owner"})
	}
	if err := mustExist(tx, propertyID); err != nil {
		return nil, "", err
	}
	return credential.Mint(tx, keys, credential.Spec{Kind: credential.Staff, Name: name, PropertyID: propertyID, Role: role, TTL: ttl})
}

// SessionName is the name under which an operator's command makes a staff token for itself.
const SessionName = "command line"

// sessionOf begins the name that such a token is stored under. The operator follows.
const sessionOf = SessionName + " of "

// longestSession is far longer than any command runs.
const longestSession = time.Hour

// CreateSession makes a staff token for one command of an operator, who is named by the actor's subject. What is done with it
// is written down as the operator's, since the token itself is in no list soon after.
func CreateSession(tx *db.Tx, keys *keyring.Ring, propertyID, operator, role string, ttl time.Duration) (*ent.Token, string, error) {
	if ttl <= 0 || ttl > longestSession {
		return nil, "", fault.Fields(fault.Field{Path: "ttlMinutes", Reason: fault.OutOfRange, Message: fmt.Sprintf("must be 1 to %.0f for a token of the name %q; give a lasting one another name", longestSession.Minutes(), SessionName)})
	}
	return mint(tx, keys, propertyID, sessionOf+operator, role, ttl)
}

// Tokens lists the valid staff tokens of a property.
func Tokens(ctx context.Context, c *ent.Client, propertyID string, now time.Time) ([]*ent.Token, error) {
	return credential.List(ctx, c, now, token.Kind(string(credential.Staff)), token.PropertyID(propertyID))
}

// RevokeToken stops a staff token of a property at once.
func RevokeToken(tx *db.Tx, propertyID, tokenID string) (*ent.Token, error) {
	return credential.Revoke(tx, tokenID, token.Kind(string(credential.Staff)), token.PropertyID(propertyID))
}

// CreateOperatorToken makes a token for whoever runs the installation: lko_, shown once.
func CreateOperatorToken(tx *db.Tx, keys *keyring.Ring, name string, ttl time.Duration) (*ent.Token, string, error) {
	return credential.Mint(tx, keys, credential.Spec{Kind: credential.Operator, Name: name, TTL: ttl})
}

// OperatorTokens lists the valid operator tokens.
func OperatorTokens(ctx context.Context, c *ent.Client, now time.Time) ([]*ent.Token, error) {
	return credential.List(ctx, c, now, token.Kind(string(credential.Operator)))
}

// RevokeOperatorToken stops an operator token at once.
func RevokeOperatorToken(tx *db.Tx, tokenID string) (*ent.Token, error) {
	return credential.Revoke(tx, tokenID, token.Kind(string(credential.Operator)))
}

// Authenticate tells who shows a token of the property area (lkp_) or of the admin area
// (lko_). The actor's Kind says which of the two it is; the caller compares it with the area
// of the call. A credential of any other kind is refused.
func Authenticate(ctx context.Context, d *db.DB, keys *keyring.Ring, secret string) (actor.Actor, error) {
	kind, ok := credential.Of(secret)
	if !ok || (kind != credential.Staff && kind != credential.Operator) {
		return actor.Actor{}, credential.Refused()
	}
	row, err := credential.Find(d.View(ctx), keys, kind, secret)
	if err != nil {
		return actor.Actor{}, err
	}
	if kind == credential.Operator {
		return actor.Actor{Kind: actor.Operator, ID: row.ID, TokenID: row.ID}, nil
	}
	a := actor.Actor{Kind: actor.Staff, ID: row.ID, PropertyID: row.PropertyID, Role: row.Role, TokenID: row.ID}
	if operator, ok := strings.CutPrefix(row.Name, sessionOf); ok {
		a.For = operator
	}
	return a, nil
}

func mustExist(tx *db.Tx, propertyID string) error {
	found, err := tx.Property.Query().Where(property.ID(propertyID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("find a property: %w", err)
	}
	if !found {
		return noProperty()
	}
	return nil
}
