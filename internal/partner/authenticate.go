package partner

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/integration"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
)

// Credentials are the credentials of a call to the partner area. Fields that were not sent are empty.
type Credentials struct {
	ClientToken string // ClientToken belongs to the partner's app and is used with AccessToken
	AccessToken string // AccessToken belongs to the app at one property
	Bearer      string // Bearer is an access token in the Authorization header. It needs no ClientToken, and must equal a sent AccessToken
	APIKey      string // APIKey belongs to a property's own scripts, and is sent alone
}

// key returns a hash of the credentials, under which the cache stores their caller.
func (c Credentials) key() [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{c.ClientToken, c.AccessToken, c.Bearer, c.APIKey} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Authenticate returns the calling integration, from the cache if it is at most cacheDuration old. An actor without AppID is a property's
// own script, which may read everything of the property. All credentials must be valid and belong together. Otherwise the error is
// [credential.Refused], which does not say what is wrong.
func (r *Registry) Authenticate(ctx context.Context, c Credentials) (actor.Actor, error) {
	now, key := r.clock.Now(), c.key()
	known, epoch, ok := r.cache.lookup(key, now)
	if ok {
		return known, nil
	}
	a, until, err := r.authenticate(ctx, c)
	if err != nil {
		return actor.Actor{}, err
	}
	r.cache.store(key, epoch, a, now, until)
	return a, nil
}

// authenticate is [Registry.Authenticate] without the cache. The time is when the earliest of the credentials expires; nil if none does.
func (r *Registry) authenticate(ctx context.Context, c Credentials) (actor.Actor, *time.Time, error) {
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
		a, err := r.actorOfToken(ctx, row)
		return a, row.ExpiresAt, err
	case c.APIKey == "" && access != "" && (c.ClientToken != "" || c.Bearer != ""):
		return r.authenticateApp(ctx, c.ClientToken, access)
	default:
		return actor.Actor{}, nil, credential.Refused()
	}
}

// authenticateApp authenticates an access token, together with a client token of the same app if one was sent. The time is when the earlier
// of them expires; nil if none does.
func (r *Registry) authenticateApp(ctx context.Context, client, access string) (actor.Actor, *time.Time, error) {
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
	a, err := r.actorOfToken(ctx, row)
	return a, until, err
}

// actorOfToken returns the actor of a valid token: its integration, with the scopes. For a disabled integration it returns
// [credential.Refused].
func (r *Registry) actorOfToken(ctx context.Context, t *credential.Found) (actor.Actor, error) {
	row, err := r.db.View(ctx).Integration.Query().
		Where(integrationIs(t.PropertyID, t.IntegrationID), integration.DisabledAtIsNil()).Only(ctx)
	if ent.IsNotFound(err) {
		return actor.Actor{}, credential.Refused()
	}
	if err != nil {
		return actor.Actor{}, wrapError("find the calling integration", err)
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
