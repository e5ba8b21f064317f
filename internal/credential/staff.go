package credential

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
)

// Roles of staff. Each includes the rights of the previous one.
const (
	RoleViewer   = "viewer"
	RoleOperator = "operator"
	RoleOwner    = "owner"
)

var roles = []string{RoleViewer, RoleOperator, RoleOwner}

// Suffices reports whether a role includes the rights of the needed role. It is false for unknown roles.
func Suffices(role, needed string) bool {
	at := slices.Index(roles, needed)
	return at >= 0 && slices.Index(roles, role) >= at
}

// CreateStaffToken creates a token for the staff or a script of a property (lkp_), and returns its row and its secret, of which only a hash
// is stored. It refuses names with sessionPrefix and unknown roles and properties, and fails if the property has too many valid staff
// tokens. A ttl of zero means that it never expires.
func CreateStaffToken(tx *db.Tx, keys *keyring.Ring, propertyID, name, role string, ttl time.Duration) (*ent.Token, string, error) {
	if strings.HasPrefix(name, sessionPrefix) {
		return nil, "", fault.Fields(fault.Field{Path: "name", Reason: fault.WrongValue, Message: fmt.Sprintf("must not begin with %q: the service uses such names itself", sessionPrefix)})
	}
	return createStaffToken(tx, keys, propertyID, name, role, ttl)
}

// createStaffToken is CreateStaffToken for any name, also one with sessionPrefix, which attributes the token's calls to an operator. So its
// callers choose or check the name. It fails for an unknown role or property. With a ttl of zero the token never expires.
func createStaffToken(tx *db.Tx, keys *keyring.Ring, propertyID, name, role string, ttl time.Duration) (*ent.Token, string, error) {
	if !slices.Contains(roles, role) {
		return nil, "", fault.Fields(fault.Field{Path: "role", Reason: fault.WrongValue, Message: "must be viewer, operator or owner"})
	}
	if err := requireProperty(tx.Context(), tx.Property, propertyID); err != nil {
		return nil, "", err
	}
	return Mint(tx, keys, Spec{Kind: Staff, Name: name, PropertyID: propertyID, Role: role, TTL: ttl})
}

// sessionPrefix is the prefix of the stored name of a token of [CreateCommandToken]; the operator's Subject follows (see [actor.Actor]).
const sessionPrefix = actor.SessionName + " of "

// maxSession is the maximum lifetime of a token of [CreateCommandToken].
const maxSession = time.Hour

// CreateCommandToken creates a staff token for one command of an operator, whose Subject (see [actor.Actor]) is operator. A ttl that is not
// positive or exceeds maxSession is an error. Changes made with it are attributed to the operator, because the token itself soon disappears
// from lists.
func CreateCommandToken(tx *db.Tx, keys *keyring.Ring, propertyID, operator, role string, ttl time.Duration) (*ent.Token, string, error) {
	if ttl <= 0 || ttl > maxSession {
		return nil, "", fault.Fields(fault.Field{Path: "ttlMinutes", Reason: fault.OutOfRange, Message: fmt.Sprintf("must be 1 to %.0f for a token with the name %q; use another name for a longer one", maxSession.Minutes(), actor.SessionName)})
	}
	return createStaffToken(tx, keys, propertyID, sessionPrefix+operator, role, ttl)
}

// StaffTokens returns the valid staff tokens of a property, also those of [CreateCommandToken], oldest first, at most 2000.
func StaffTokens(tx *db.Tx, propertyID string, now time.Time) ([]*ent.Token, error) {
	return List(tx, now, token.Kind(string(Staff)), token.PropertyID(propertyID))
}

// RevokeStaffToken revokes a staff token of a property immediately. If the property has no such token, it returns a not-found fault; it is
// not an error if the token has already ended.
func RevokeStaffToken(tx *db.Tx, propertyID, tokenID string) (*ent.Token, error) {
	return Revoke(tx, tokenID, token.Kind(string(Staff)), token.PropertyID(propertyID))
}

// TokenName returns the name of a property's token, which may have ended, or "" if there is no such token.
func TokenName(tx *db.Tx, propertyID, tokenID string) (string, error) {
	row, err := tx.Token.Query().Where(token.PropertyID(propertyID), token.ID(tokenID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("load a token: %w", err)
	}
	return row.Name, nil
}

// TokenNames returns, by id, the names of those of tokenIDs that are tokens of a property. They may have ended.
func TokenNames(tx *db.Tx, propertyID string, tokenIDs []string) (map[string]string, error) {
	names := map[string]string{}
	if len(tokenIDs) == 0 {
		return names, nil
	}
	rows, err := tx.Token.Query().Where(token.PropertyID(propertyID), token.IDIn(tokenIDs...)).Select(token.FieldID, token.FieldName).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the names of tokens: %w", err)
	}
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, nil
}

// CreateOperatorToken creates a token (lko_) for an operator of the installation, and returns its row and its secret, of which only a hash
// is stored. With the ttl 0 it never expires. It fails if there are too many valid operator tokens.
func CreateOperatorToken(tx *db.Tx, keys *keyring.Ring, name string, ttl time.Duration) (*ent.Token, string, error) {
	return Mint(tx, keys, Spec{Kind: Operator, Name: name, TTL: ttl})
}

// OperatorTokens returns the valid operator tokens, oldest first, at most 2000.
func OperatorTokens(tx *db.Tx, now time.Time) ([]*ent.Token, error) {
	return List(tx, now, token.Kind(string(Operator)))
}

// RevokeOperatorToken revokes an operator token immediately. Sessions opened with it end, too. If there is no such token, it returns a
// not-found fault; it is not an error if the token has already ended.
func RevokeOperatorToken(tx *db.Tx, tokenID string) (*ent.Token, error) {
	return Revoke(tx, tokenID, token.Kind(string(Operator)))
}

// Authenticate returns the caller with a token of the property area (lkp_) or the admin area (lko_). The actor's Kind says which; the
// caller compares it with the area of the call. For all other and for invalid credentials it returns [Refused].
func Authenticate(ctx context.Context, d *db.DB, keys *keyring.Ring, secret string) (actor.Actor, error) {
	kind, ok := Of(secret)
	if !ok || (kind != Staff && kind != Operator) {
		return actor.Actor{}, Refused()
	}
	row, err := Find(d.View(ctx), keys, kind, secret)
	if err != nil {
		return actor.Actor{}, err
	}
	if kind == Operator {
		return actor.Actor{Kind: actor.Operator, ID: row.ID, TokenID: row.ID}, nil
	}
	a := actor.Actor{Kind: actor.Staff, ID: row.ID, PropertyID: row.PropertyID, Role: row.Role, TokenID: row.ID}
	if operator, ok := strings.CutPrefix(row.Name, sessionPrefix); ok {
		a.For = operator
	}
	return a, nil
}

// OfSocket returns the actor of a call on the operators' Unix socket, with the role of an owner of the property, or a not-found fault if
// there is no such property. The call needs no token, because the socket can create tokens for every property. No token is stored, so an
// operator can look things up while the disk is full.
func OfSocket(tx *db.Tx, propertyID string) (actor.Actor, error) {
	if err := requireProperty(tx.Context(), tx.Property, propertyID); err != nil {
		return actor.Actor{}, err
	}
	operator := actor.Actor{Kind: actor.Operator, ID: "socket"}
	return actor.Actor{Kind: actor.Staff, ID: "socket/" + propertyID, PropertyID: propertyID, Role: RoleOwner, For: operator.Subject()}, nil
}

// requireProperty returns a not-found fault if a property does not exist.
func requireProperty(ctx context.Context, c *ent.PropertyClient, propertyID string) error {
	found, err := c.Query().Where(property.ID(propertyID)).Exist(ctx)
	if err != nil {
		return fmt.Errorf("find a property: %w", err)
	}
	if !found {
		return fault.New(fault.NotFound, fault.PropertyNotFound, "no such property")
	}
	return nil
}
