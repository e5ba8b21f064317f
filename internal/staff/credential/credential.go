// Package credential keeps the tokens that callers show: partners, scripts, staff and
// operators. A token is shown once, when it is made; what is stored is a keyed hash.
package credential

import (
	"context"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// Kind says whom a token lets in. One kind never serves for another.
type Kind string

const (
	Client   Kind = "client"   // a partner app, at every property
	Access   Kind = "access"   // a partner app at one property
	APIKey   Kind = "apiKey"   // the scripts of one property
	Operator Kind = "operator" // whoever runs the installation
	Staff    Kind = "staff"    // the staff of one property
)

// kinds holds what differs: how the token is drawn, and how many may be valid at a time for
// one owner.
var kinds = map[Kind]struct {
	draw keyring.Kind
	most int
}{
	Client:   {keyring.ClientToken, 10},
	Access:   {keyring.AccessToken, 10},
	APIKey:   {keyring.APIKey, 10},
	Operator: {keyring.OperatorToken, 100},
	Staff:    {keyring.StaffToken, 1000},
}

// Of tells the kind of a whole token; false for anything that was mistyped or is not ours.
func Of(secret string) (Kind, bool) {
	drawn, ok := keyring.ParseToken(secret)
	if !ok {
		return "", false
	}
	for k, v := range kinds {
		if v.draw == drawn {
			return k, true
		}
	}
	return "", false
}

// Refused is the answer to every credential that is not valid, whatever is wrong with it.
func Refused() error {
	return fault.New(fault.Unauthenticated, fault.InvalidCredentials, "valid credential required")
}

// Spec describes a token to make. Who is let in follows from the ids: an access token has an
// integration and its app and property, a client token an app, a staff token a property.
type Spec struct {
	Kind          Kind
	Name          string
	PropertyID    string
	IntegrationID string
	AppID         string
	Role          string
	TTL           time.Duration // zero: until it is revoked
}

// owner selects the tokens that count together: for limits and for rotation.
func (s Spec) owner() predicate.Token {
	return token.And(token.Kind(string(s.Kind)), token.PropertyID(s.PropertyID),
		token.IntegrationID(s.IntegrationID), token.AppID(s.AppID))
}

// valid selects the tokens that let someone in at that moment.
func valid(now time.Time) predicate.Token {
	return token.And(token.RevokedAtIsNil(), token.Or(token.ExpiresAtIsNil(), token.ExpiresAtGT(now)))
}

// Mint makes a token and returns its secret, which is not kept.
func Mint(tx *db.Tx, keys *keyring.Ring, s Spec) (*ent.Token, string, error) {
	ctx := tx.Context()
	held, err := tx.Token.Query().Where(s.owner(), valid(tx.Now())).Count(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("count tokens: %w", err)
	}
	if most := kinds[s.Kind].most; held >= most {
		return nil, "", fault.New(fault.Precondition, fault.InUse, "there are %d valid tokens of this kind already; revoke one first", held)
	}
	secret := keyring.NewToken(kinds[s.Kind].draw)
	create := tx.Token.Create().SetID(id.New(id.Token)).SetKind(string(s.Kind)).SetMAC(mac(keys, s.Kind, secret)).
		SetHint(keyring.Hint(secret)).SetName(s.Name).SetPropertyID(s.PropertyID).SetIntegrationID(s.IntegrationID).
		SetAppID(s.AppID).SetRole(s.Role).SetCreatedAt(tx.Now())
	if s.TTL > 0 {
		create.SetExpiresAt(tx.Now().Add(s.TTL))
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("store a token: %w", err)
	}
	return row, secret, nil
}

// Rotate makes a token and ends all others of the same owner: at once, or after the overlap.
func Rotate(tx *db.Tx, keys *keyring.Ring, s Spec, overlap time.Duration) (*ent.Token, string, error) {
	if _, err := End(tx, overlap, s.owner()); err != nil {
		return nil, "", err
	}
	return Mint(tx, keys, s)
}

// End stops the valid tokens that are selected and says how many: at once, or after a while
// unless they stop earlier by themselves.
func End(tx *db.Tx, after time.Duration, which ...predicate.Token) (int, error) {
	update := tx.Token.Update().Where(which...).Where(valid(tx.Now()))
	if after > 0 {
		at := tx.Now().Add(after)
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

// Revoke stops one token of an owner at once and returns it; a token that has stopped already
// is no fault. The selection names kind and tenant.
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

// List returns the valid tokens that are selected, oldest first, without their secrets.
func List(ctx context.Context, c *ent.Client, now time.Time, which ...predicate.Token) ([]*ent.Token, error) {
	return c.Token.Query().Where(which...).Where(valid(now)).Order(token.ByCreatedAt(), token.ByID()).Limit(2000).All(ctx)
}

// Find returns the valid token of a kind with this secret, with whom it lets in, its name and until when but without hint
// and creation; [Refused] for anything else.
func Find(view *db.Tx, keys *keyring.Ring, k Kind, secret string) (*ent.Token, error) {
	if !keyring.IsToken(secret, kinds[k].draw) {
		return nil, Refused()
	}
	t := &ent.Token{Kind: string(k)}
	found, err := view.ReadOne(shown, []any{mac(keys, k, secret), t.Kind, view.Now()},
		&t.ID, &t.PropertyID, &t.IntegrationID, &t.AppID, &t.Role, &t.Name, &t.ExpiresAt)
	if err != nil {
		return nil, fmt.Errorf("find a credential: %w", err)
	}
	if !found {
		return nil, Refused()
	}
	return t, nil
}

const shown = `SELECT id, property_id, integration_id, app_id, role, name, expires_at FROM tokens
	WHERE mac = $1 AND kind = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`

// Sweep deletes tokens that stopped before the given moment, at most so many, and says how many. Staff tokens
// are made for minutes, so they would pile up.
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

func mac(keys *keyring.Ring, k Kind, secret string) []byte {
	return keys.MAC("token/"+string(k), secret)
}
