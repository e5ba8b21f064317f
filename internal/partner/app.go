package partner

import (
	"context"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/app"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/staff/credential"
)

// most apps an installation lists; a few hundred vendors exist in the world.
const mostApps = 2000

// CreateApp makes a partner app and its first client token, lkc_, shown once.
func (r *Registry) CreateApp(tx *db.Tx, name string) (*ent.App, string, error) {
	ctx := tx.Context()
	taken, err := tx.App.Query().Where(app.Name(name)).Exist(ctx)
	if err != nil {
		return nil, "", failed("look for an app", err)
	}
	if taken {
		return nil, "", fault.New(fault.Exists, fault.AlreadyExists, "there is an app of this name; list the apps to find it")
	}
	row, err := tx.App.Create().SetID(id.New(id.App)).SetName(name).SetCreatedAt(tx.Now()).Save(ctx)
	if err != nil {
		return nil, "", failed("store an app", err)
	}
	_, secret, err := r.mint(tx, credential.Spec{Kind: credential.Client, Name: name, AppID: row.ID})
	if err != nil {
		return nil, "", err
	}
	return row, secret, nil
}

// Apps lists the partner apps by name.
func Apps(ctx context.Context, c *ent.Client) ([]*ent.App, error) {
	return c.App.Query().Order(app.ByName()).Limit(mostApps).All(ctx)
}

// Connected counts, for each app, the properties that are connected to it.
func Connected(ctx context.Context, c *ent.Client) (map[string]int, error) {
	var rows []struct {
		AppID string `json:"app_id"`
		Count int    `json:"count"`
	}
	err := c.Integration.Query().Where(integration.AppIDNotNil(), integration.DisabledAtIsNil()).
		GroupBy(integration.FieldAppID).Aggregate(func(s *sql.Selector) string { return sql.As(sql.Count("*"), "count") }).Scan(ctx, &rows)
	if err != nil {
		return nil, failed("count integrations", err)
	}
	counts := make(map[string]int, len(rows))
	for _, row := range rows {
		counts[row.AppID] = row.Count
	}
	return counts, nil
}

// ClientTokens lists the valid client tokens of an app, without their secrets.
func ClientTokens(ctx context.Context, c *ent.Client, appID string, now time.Time) ([]*ent.Token, error) {
	if err := appExists(ctx, c, appID); err != nil {
		return nil, err
	}
	return credential.List(ctx, c, now, token.Kind(string(credential.Client)), token.AppID(appID))
}

// CreateClientToken makes one more client token of an app, shown once.
func (r *Registry) CreateClientToken(tx *db.Tx, appID, name string) (*ent.Token, string, error) {
	if err := appExists(tx.Context(), tx.Client, appID); err != nil {
		return nil, "", err
	}
	return r.mint(tx, credential.Spec{Kind: credential.Client, Name: name, AppID: appID})
}

// RotateClientToken makes a client token, shown once, and ends all others of the app with the
// overlap.
func (r *Registry) RotateClientToken(tx *db.Tx, appID string, overlap time.Duration) (*ent.Token, string, error) {
	if err := appExists(tx.Context(), tx.Client, appID); err != nil {
		return nil, "", err
	}
	return r.rotate(tx, credential.Spec{Kind: credential.Client, AppID: appID}, overlap)
}

// RevokeClientToken stops one client token of an app at once.
func (r *Registry) RevokeClientToken(tx *db.Tx, appID, tokenID string) (*ent.Token, error) {
	r.changed(tx)
	return credential.Revoke(tx, tokenID, token.Kind(string(credential.Client)), token.AppID(appID))
}

func appExists(ctx context.Context, c *ent.Client, appID string) error {
	found, err := c.App.Query().Where(app.ID(appID)).Exist(ctx)
	if err != nil {
		return failed("find an app", err)
	}
	if !found {
		return noApp()
	}
	return nil
}

func noApp() error { return fault.New(fault.NotFound, fault.AppNotFound, "no such app") }
