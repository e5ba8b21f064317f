// Package credential stores the tokens of partners, scripts, staff and operators. A token is shown once, when it is
// created; only a keyed hash is stored.
package credential

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// Kind is what a token gives access to. A token is never accepted for another kind.
type Kind string

const (
	Client   Kind = "client"   // a partner app, at every property
	Access   Kind = "access"   // a partner app at one property
	APIKey   Kind = "apiKey"   // the scripts of one property
	Operator Kind = "operator" // an operator of the installation
	Staff    Kind = "staff"    // the staff of one property
	Session  Kind = "session"  // an operator on the operators' pages, opened with an operator token
)

// kinds holds the token format of each kind, and how many tokens of one owner may be valid at a time.
var kinds = map[Kind]struct {
	format keyring.Kind
	most   int
}{

	Client:   {keyring.ClientToken, 10},
	Access:   {keyring.AccessToken, 10},
	APIKey:   {keyring.APIKey, 10},
	Operator: {keyring.OperatorToken, 100},
	Staff:    {keyring.StaffToken, 1000},
	Session:  {keyring.OperatorSession, 20},
}

// Of returns the kind of a token by its form alone, without a query. It returns false for a text that is mistyped or not a token.
func Of(secret string) (Kind, bool) {
	format, ok := keyring.ParseToken(secret)
	if !ok {
		return "", false
	}
	for k, v := range kinds {
		if v.format == format {
			return k, true
		}
	}
	return "", false
}

// Refused returns the fault (Unauthenticated) for every invalid credential, whatever is wrong with it.
func Refused() error {
	return fault.New(fault.Unauthenticated, fault.InvalidCredentials, "valid credential required")
}

// Spec describes a token to create. Its ids are of what the token gives access to: an access token has an integration
// with its app and property, a client token an app, a staff token a property.
type Spec struct {
	Kind          Kind
	Name          string
	PropertyID    string
	IntegrationID string
	AppID         string
	ParentID      string // of a session: the operator token that opened it, with which it ends; else empty
	Role          string
	TTL           time.Duration // zero or negative: the token never expires
}

// sameOwner selects all tokens of the same kind and owner: an app, integration, property or parent token. The number of these tokens is
// limited, and a rotation ends them.
func (s Spec) sameOwner() predicate.Token {
	is := func(column, id string) predicate.Token {
		if id == "" {
			return sql.FieldIsNull(column)
		}
		return sql.FieldEQ(column, id)
	}
	return token.And(token.Kind(string(s.Kind)), is(token.FieldPropertyID, s.PropertyID),
		is(token.FieldIntegrationID, s.IntegrationID), is(token.FieldAppID, s.AppID), is(token.FieldParentID, s.ParentID))
}

// isValid selects the tokens that are neither revoked nor expired at a time.
func isValid(now time.Time) predicate.Token {
	return token.And(token.RevokedAtIsNil(), token.Or(token.ExpiresAtIsNil(), token.ExpiresAtGT(now)))
}

// Row is a credential as stored.
type Row = ent.Token

// Mint creates a token, and returns its row and its secret; only a hash of the secret is stored. It returns a fault (InUse) if the owner
// has too many valid tokens of the kind. The caller checks the role in s, and that the owner exists.
func Mint(tx *db.Tx, keys *keyring.Ring, s Spec) (*ent.Token, string, error) {
	ctx := tx.Context()
	held, err := tx.Token.Query().Where(s.sameOwner(), isValid(tx.Now())).Count(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("count tokens: %w", err)
	}
	if most := kinds[s.Kind].most; held >= most {
		return nil, "", fault.New(fault.Precondition, fault.InUse, "there are already %d valid tokens of this kind; revoke one first", held)
	}
	secret := keyring.NewToken(kinds[s.Kind].format)
	create := tx.Token.Create().SetID(id.New(id.Token)).SetKind(string(s.Kind)).SetMAC(computeMAC(keys, s.Kind, secret)).
		SetHint(keyring.Hint(secret)).SetName(s.Name).SetRole(s.Role).SetCreatedAt(tx.Now())
	if s.PropertyID != "" {
		create.SetPropertyID(s.PropertyID)
	}
	if s.IntegrationID != "" {
		create.SetIntegrationID(s.IntegrationID)
	}
	if s.AppID != "" {
		create.SetAppID(s.AppID)
	}
	if s.ParentID != "" {
		create.SetParentID(s.ParentID)
	}
	if s.TTL > 0 {
		create.SetExpiresAt(tx.Now().Add(s.TTL))
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("store a token: %w", err)
	}
	return row, secret, nil
}

// Rotate creates a token, and ends all other tokens of the same kind and owner after the overlap; 0 ends them immediately, and those that
// expire earlier do not change. Until they end, they count towards the limit of [Mint], so Rotate can fail.
func Rotate(tx *db.Tx, keys *keyring.Ring, s Spec, overlap time.Duration) (*ent.Token, string, error) {
	if _, err := End(tx, overlap, s.sameOwner()); err != nil {
		return nil, "", err
	}
	return Mint(tx, keys, s)
}

// End ends the valid tokens that match which, or all of the installation without which, and returns the number of changed tokens. If
// overlap is 0, it revokes them; otherwise they expire after that time, and those that expire earlier do not change.
func End(tx *db.Tx, overlap time.Duration, which ...predicate.Token) (int, error) {
	update := tx.Token.Update().Where(which...).Where(isValid(tx.Now()))
	if overlap > 0 {
		at := tx.Now().Add(overlap)
		update = update.Where(token.Or(token.ExpiresAtIsNil(), token.ExpiresAtGT(at))).SetExpiresAt(at)
	} else {
		update = update.SetRevokedAt(tx.Now())
	}
	n, err := update.Save(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("end tokens: %w", err)
	}
	return n, nil
}

// Revoke revokes one token immediately and returns it. If no token matches, it returns a not-found fault; it is not an error if the token
// has already ended. which must contain the kind and the tenant (the property), or a caller could revoke another tenant's token.
func Revoke(tx *db.Tx, tokenID string, which ...predicate.Token) (*ent.Token, error) {
	row, err := tx.Token.Query().Where(token.ID(tokenID)).Where(which...).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.TokenNotFound, "no such token")
	}
	if err != nil {
		return nil, fmt.Errorf("find a token: %w", err)
	}
	if row.RevokedAt != nil {
		return row, nil
	}
	row, err = row.Update().SetRevokedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("revoke a token: %w", err)
	}
	return row, nil
}

// List returns the valid tokens that match which, oldest first, at most 2000.
func List(tx *db.Tx, now time.Time, which ...predicate.Token) ([]*ent.Token, error) {
	return tx.Token.Query().Where(which...).Where(isValid(now)).Order(token.ByCreatedAt(), token.ByID()).Limit(2000).All(tx.Context())
}

// Retention is how long a token is kept after it was revoked or has expired.
const Retention = 30 * 24 * time.Hour

// Sweep deletes up to most tokens that were revoked or expired before a time, and returns their number. Tokens of [CreateCommandToken] live
// for minutes, so many of them accumulate.
func Sweep(tx *db.Tx, before time.Time, most int) (int, error) {
	ids, err := tx.Token.Query().Where(token.Or(token.RevokedAtLT(before), token.ExpiresAtLT(before))).Limit(most).IDs(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("sweep tokens: %w", err)
	}
	n, err := tx.Token.Delete().Where(token.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("sweep tokens: %w", err)
	}
	return n, nil
}

// computeMAC returns the keyed hash under which a token is stored and found.
func computeMAC(keys *keyring.Ring, k Kind, secret string) []byte {
	return keys.MAC("token/"+string(k), secret)
}
