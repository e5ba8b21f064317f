package partner

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/integration"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/staff/credential"
)

// Credentials are what a call to the partner area shows, as it came; empty where it did not.
type Credentials struct {
	ClientToken string // of the app, with AccessToken
	AccessToken string // of the app at one property
	Bearer      string // an access token alone, of the Authorization header
	APIKey      string // of the property's own scripts
}

// key identifies the credentials without holding them.
func (c Credentials) key() [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{c.ClientToken, c.AccessToken, c.Bearer, c.APIKey} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Authenticate tells which integration calls. An actor without AppID is a property's own
// scripts, which may read all of the property. Every credential shown must be valid and they
// must agree; otherwise the answer is the same whatever is wrong.
func (r *Registry) Authenticate(ctx context.Context, c Credentials) (actor.Actor, error) {
	now, key := r.clock.Now(), c.key()
	known, epoch, ok := r.known.find(key, now)
	if ok {
		return known, nil
	}
	a, until, err := r.lookUp(ctx, c)
	if err != nil {
		return actor.Actor{}, err
	}
	r.known.remember(key, epoch, a, now, until)
	return a, nil
}

// lookUp asks the database. The time is when the first of the credentials ends by itself.
func (r *Registry) lookUp(ctx context.Context, c Credentials) (actor.Actor, *time.Time, error) {
	access := c.AccessToken
	if access == "" {
		access = c.Bearer
	} else if c.Bearer != "" && subtle.ConstantTimeCompare([]byte(access), []byte(c.Bearer)) != 1 {
		return actor.Actor{}, nil, credential.Refused()
	}
	switch {
	case c.APIKey != "" && access == "" && c.ClientToken == "":
		row, err := credential.Find(r.db.View(ctx), r.keys, credential.APIKey, c.APIKey)
		if err != nil {
			return actor.Actor{}, nil, err
		}
		a, err := r.integration(ctx, row)
		return a, row.ExpiresAt, err
	case c.APIKey == "" && access != "" && (c.ClientToken != "" || c.Bearer != ""):
		return r.app(ctx, c.ClientToken, access)
	default:
		return actor.Actor{}, nil, credential.Refused()
	}
}

// app looks up an access token, with the client token of the same app where one is shown.
func (r *Registry) app(ctx context.Context, client, access string) (actor.Actor, *time.Time, error) {
	row, err := credential.Find(r.db.View(ctx), r.keys, credential.Access, access)
	if err != nil {
		return actor.Actor{}, nil, err
	}
	until := row.ExpiresAt
	if client != "" {
		own, err := credential.Find(r.db.View(ctx), r.keys, credential.Client, client)
		if err != nil {
			return actor.Actor{}, nil, err
		}
		if own.AppID != row.AppID {
			return actor.Actor{}, nil, credential.Refused()
		}
		if until == nil || own.ExpiresAt != nil && own.ExpiresAt.Before(*until) {
			until = own.ExpiresAt
		}
	}
	a, err := r.integration(ctx, row)
	return a, until, err
}

func (r *Registry) integration(ctx context.Context, t *ent.Token) (actor.Actor, error) {
	row, err := r.db.Read().Integration.Query().
		Where(of(t.PropertyID, t.IntegrationID), integration.DisabledAtIsNil()).Only(ctx)
	if ent.IsNotFound(err) {
		return actor.Actor{}, credential.Refused()
	}
	if err != nil {
		return actor.Actor{}, failed("find the calling integration", err)
	}
	a := actor.Actor{
		Kind: actor.Integration, ID: row.ID, PropertyID: row.PropertyID, IntegrationID: row.ID,
		Scopes: row.Scopes, TokenID: t.ID,
	}
	if row.AppID != nil {
		a.AppID = *row.AppID
	}
	return a, nil
}
