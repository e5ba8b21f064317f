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

// Roles of staff. Each includes the rights of the previous one.
const (
	Viewer   = "viewer"
	Operator = "operator"
	Owner    = "owner"
)

var roles = []string{Viewer, Operator, Owner}

// Suffices reports whether a role includes the rights of the needed role.
func Suffices(role, needed string) bool {
	at := slices.Index(roles, needed)
	return at >= 0 && slices.Index(roles, role) >= at
}

// CreateToken creates a token for the staff or a script of a property (lkp_), which is shown once. A ttl of zero means
// that it never expires.
func CreateToken(tx *db.Tx, keys *keyring.Ring, propertyID, name, role string, ttl time.Duration) (*ent.Token, string, error) {
	if strings.HasPrefix(name, sessionPrefix) {
		return nil, "", fault.Fields(fault.Field{Path: "name", Reason: fault.WrongValue, Message: fmt.Sprintf("must not begin with %q: the service uses such names itself", sessionPrefix)})
	}
	return createToken(tx, keys, propertyID, name, role, ttl)
}

func createToken(tx *db.Tx, keys *keyring.Ring, propertyID, name, role string, ttl time.Duration) (*ent.Token, string, error) {
	if !slices.Contains(roles, role) {
		return nil, "", fault.Fields(fault.Field{Path: "role", Reason: fault.WrongValue, Message: "must be viewer, operator or owner"})
	}
	if err := requireProperty(tx, propertyID); err != nil {
		return nil, "", err
	}
	return credential.Mint(tx, keys, credential.Spec{Kind: credential.Staff, Name: name, PropertyID: propertyID, Role: role, TTL: ttl})
}

// SessionName is the name for the staff token of one operator's command.
const SessionName = "command line"

// sessionPrefix is the prefix of the stored name of such a token; the operator's id follows.
const sessionPrefix = SessionName + " of "

// maxSession is the maximum lifetime of a session token.
const maxSession = time.Hour

// CreateSession creates a staff token for one command of an operator. Changes made with it are attributed to the
// operator, because the token itself soon disappears from lists.
func CreateSession(tx *db.Tx, keys *keyring.Ring, propertyID, operator, role string, ttl time.Duration) (*ent.Token, string, error) {
	if ttl <= 0 || ttl > maxSession {
		return nil, "", fault.Fields(fault.Field{Path: "ttlMinutes", Reason: fault.OutOfRange, Message: fmt.Sprintf("must be 1 to %.0f for a token with the name %q; use another name for a longer one", maxSession.Minutes(), SessionName)})
	}
	return createToken(tx, keys, propertyID, sessionPrefix+operator, role, ttl)
}

// Tokens returns the valid staff tokens of a property.
func Tokens(ctx context.Context, c *ent.Client, propertyID string, now time.Time) ([]*ent.Token, error) {
	return credential.List(ctx, c, now, token.Kind(string(credential.Staff)), token.PropertyID(propertyID))
}

// RevokeToken revokes a staff token of a property immediately.
func RevokeToken(tx *db.Tx, propertyID, tokenID string) (*ent.Token, error) {
	return credential.Revoke(tx, tokenID, token.Kind(string(credential.Staff)), token.PropertyID(propertyID))
}

// CreateOperatorToken creates a token for an operator of the installation (lko_), which is shown once.
func CreateOperatorToken(tx *db.Tx, keys *keyring.Ring, name string, ttl time.Duration) (*ent.Token, string, error) {
	return credential.Mint(tx, keys, credential.Spec{Kind: credential.Operator, Name: name, TTL: ttl})
}

// OperatorTokens returns the valid operator tokens.
func OperatorTokens(ctx context.Context, c *ent.Client, now time.Time) ([]*ent.Token, error) {
	return credential.List(ctx, c, now, token.Kind(string(credential.Operator)))
}

// RevokeOperatorToken revokes an operator token immediately.
func RevokeOperatorToken(tx *db.Tx, tokenID string) (*ent.Token, error) {
	return credential.Revoke(tx, tokenID, token.Kind(string(credential.Operator)))
}

// Authenticate returns the caller with a token of the property area (lkp_) or the admin area (lko_). The actor's Kind
// says which; the caller compares it with the area of the call. All other credentials are refused.
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
	if operator, ok := strings.CutPrefix(row.Name, sessionPrefix); ok {
		a.For = operator
	}
	return a, nil
}

// OfSocket is the operator on the server's machine as an owner of a property. The operators' socket is proof enough: it also
// makes tokens for every property. No token is stored, so an operator can look things up while the disk is full.
func OfSocket(ctx context.Context, c *ent.Client, propertyID string) (actor.Actor, error) {
	if _, err := Property(ctx, c, propertyID); err != nil {
		return actor.Actor{}, err
	}
	operator := actor.Actor{Kind: actor.Operator, ID: "socket"}
	return actor.Actor{Kind: actor.Staff, ID: "socket/" + propertyID, PropertyID: propertyID, Role: Owner, For: operator.Subject()}, nil
}

func requireProperty(tx *db.Tx, propertyID string) error {
	found, err := tx.Property.Query().Where(property.ID(propertyID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("find a property: %w", err)
	}
	if !found {
		return propertyNotFound()
	}
	return nil
}
