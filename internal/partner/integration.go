package partner

import (
	"context"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/app"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/property"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/staff/credential"
)

// Scopes are all that an integration may be allowed.
var Scopes = []string{
	actor.ReservationsWrite, actor.ReservationsRead, actor.PINsRead,
	actor.GuestsRead, actor.EndpointsWrite, actor.WebhooksWrite,
}

// defaultScopes are what an app gets unless the property says otherwise: all but what guests
// have shared.
var defaultScopes = []string{
	actor.ReservationsWrite, actor.ReservationsRead, actor.PINsRead, actor.EndpointsWrite, actor.WebhooksWrite,
}

// builtInScopes are those of a property's own scripts: they may read all of the property.
var builtInScopes = []string{actor.ReservationsRead, actor.PINsRead, actor.GuestsRead}

// Connect ties an app to a property and makes its access token, lka_, shown once. No scopes
// means all but guests:read; no name means the app's.
func (r *Registry) Connect(tx *db.Tx, propertyID, appID, name string, scopes []string) (*ent.Integration, string, error) {
	ctx := tx.Context()
	if err := checkScopes(scopes); err != nil {
		return nil, "", err
	}
	if err := propertyExists(tx, propertyID); err != nil {
		return nil, "", err
	}
	a, err := tx.App.Query().Where(app.ID(appID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, "", noApp()
	}
	if err != nil {
		return nil, "", failed("find an app", err)
	}
	taken, err := tx.Integration.Query().Where(integration.PropertyID(propertyID), integration.AppID(appID)).Exist(ctx)
	if err != nil {
		return nil, "", failed("look for an integration", err)
	}
	if taken {
		return nil, "", fault.New(fault.Exists, fault.AlreadyExists, "this app is connected already; rotate its access token to get a new one")
	}
	if name == "" {
		name = a.Name
	}
	if len(scopes) == 0 {
		scopes = defaultScopes
	}
	row, err := tx.Integration.Create().SetID(id.New(id.Integration)).SetPropertyID(propertyID).SetAppID(appID).
		SetName(name).SetScopes(scopes).SetCreatedAt(tx.Now()).Save(ctx)
	if err != nil {
		return nil, "", failed("store an integration", err)
	}
	_, secret, err := r.mint(tx, accessSpec(row))
	if err != nil {
		return nil, "", err
	}
	return row, secret, nil
}

// Integrations lists the integrations of a property by name, its own scripts' among them.
func Integrations(ctx context.Context, c *ent.Client, propertyID string) ([]*ent.Integration, error) {
	return c.Integration.Query().Where(integration.PropertyID(propertyID)).
		Order(integration.ByName(), integration.ByID()).Limit(mostApps).All(ctx)
}

// Integration returns one integration of a property.
func Integration(ctx context.Context, c *ent.Client, propertyID, integrationID string) (*ent.Integration, error) {
	row, err := c.Integration.Query().Where(of(propertyID, integrationID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, noIntegration()
	}
	if err != nil {
		return nil, failed("find an integration", err)
	}
	return row, nil
}

// Update changes the name and the scopes of an integration; nil leaves either as it is.
func (r *Registry) Update(tx *db.Tx, propertyID, integrationID string, name *string, scopes []string) (*ent.Integration, error) {
	if err := checkScopes(scopes); err != nil {
		return nil, err
	}
	row, err := Integration(tx.Context(), tx.Client, propertyID, integrationID)
	if err != nil {
		return nil, err
	}
	r.changed(tx)
	update := row.Update().SetNillableName(name)
	if len(scopes) > 0 {
		update.SetScopes(scopes)
	}
	row, err = update.Save(tx.Context())
	if err != nil {
		return nil, failed("change an integration", err)
	}
	return row, nil
}

// RotateAccessToken makes an access token, shown once, and ends the others of the integration:
// at once, or after the overlap.
func (r *Registry) RotateAccessToken(tx *db.Tx, propertyID, integrationID string, overlap time.Duration) (*ent.Integration, string, error) {
	row, err := connected(tx, propertyID, integrationID)
	if err != nil {
		return nil, "", err
	}
	_, secret, err := r.rotate(tx, accessSpec(row), overlap)
	return row, secret, err
}

// RevokeAccessToken stops every access token of an integration at once. What the integration
// stored stays, and so does the access of guests.
func (r *Registry) RevokeAccessToken(tx *db.Tx, propertyID, integrationID string) (*ent.Integration, error) {
	row, err := connected(tx, propertyID, integrationID)
	if err != nil {
		return nil, err
	}
	r.changed(tx)
	_, err = credential.End(tx, 0, accessOf(propertyID, integrationID))
	return row, err
}

// AccessTokens lists the valid access tokens of a property's integrations, by integration.
func AccessTokens(ctx context.Context, c *ent.Client, propertyID string, now time.Time) (map[string][]*ent.Token, error) {
	rows, err := credential.List(ctx, c, now, token.Kind(string(credential.Access)), token.PropertyID(propertyID))
	if err != nil {
		return nil, err
	}
	byIntegration := map[string][]*ent.Token{}
	for _, row := range rows {
		byIntegration[row.IntegrationID] = append(byIntegration[row.IntegrationID], row)
	}
	return byIntegration, nil
}

// connected returns an integration with an app behind it: the built-in one has no access token.
func connected(tx *db.Tx, propertyID, integrationID string) (*ent.Integration, error) {
	row, err := Integration(tx.Context(), tx.Client, propertyID, integrationID)
	if err != nil {
		return nil, err
	}
	if row.AppID == nil {
		return nil, fault.New(fault.Precondition, fault.InUse, "the property's own scripts have an api-key and no access token; rotate the api-key")
	}
	return row, nil
}

func accessSpec(row *ent.Integration) credential.Spec {
	return credential.Spec{Kind: credential.Access, Name: row.Name, PropertyID: row.PropertyID, IntegrationID: row.ID, AppID: *row.AppID}
}

func accessOf(propertyID, integrationID string) predicate.Token {
	return token.And(token.Kind(string(credential.Access)), token.PropertyID(propertyID), token.IntegrationID(integrationID))
}

func of(propertyID, integrationID string) predicate.Integration {
	return integration.And(integration.PropertyID(propertyID), integration.ID(integrationID))
}

func checkScopes(scopes []string) error {
	for _, s := range scopes {
		if !slices.Contains(Scopes, s) {
			return fault.Fields(fault.Field{Path: "scopes", Reason: fault.WrongValue, Message: "each must be one of the scopes that the documentation lists"})
		}
	}
	return nil
}

func propertyExists(tx *db.Tx, propertyID string) error {
	found, err := tx.Property.Query().Where(property.ID(propertyID)).Exist(tx.Context())
	if err != nil {
		return failed("find a property", err)
	}
	if !found {
		return fault.New(fault.NotFound, fault.PropertyNotFound, "no such property")
	}
	return nil
}

func noIntegration() error {
	return fault.New(fault.NotFound, fault.IntegrationNotFound, "no such integration")
}
