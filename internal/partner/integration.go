package partner

import (
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/app"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/property"
	"latchkey.dev/ent/token"
	"latchkey.dev/ent/webhook"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// Scopes are all scopes of integrations.
var Scopes = []string{
	actor.ReservationsWrite, actor.ReservationsRead, actor.PINsRead,
	actor.GuestsRead, actor.EndpointsWrite, actor.WebhooksWrite,
}

// defaultScopes are the scopes of a new integration: all except access to guests' data.
var defaultScopes = []string{
	actor.ReservationsWrite, actor.ReservationsRead, actor.PINsRead, actor.EndpointsWrite, actor.WebhooksWrite,
}

// builtInScopes are the scopes of a property's own scripts, which may read everything of the property.
var builtInScopes = []string{actor.ReservationsRead, actor.PINsRead, actor.GuestsRead}

// Connect connects an app to a property. It returns the integration and its access token (lka_...), which is shown once, or a fault if the
// app is connected already or a scope, the app or the property does not exist. If name is empty, the integration gets the app's; if scopes
// is empty, all but guests:read.
func (r *Registry) Connect(tx *db.Tx, propertyID, appID, name string, scopes []string) (*ent.Integration, string, error) {
	ctx := tx.Context()
	if err := checkScopes(scopes); err != nil {
		return nil, "", err
	}
	if err := requireProperty(tx, propertyID); err != nil {
		return nil, "", err
	}
	a, err := tx.App.Query().Where(app.ID(appID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, "", appNotFound()
	}
	if err != nil {
		return nil, "", wrapError("find an app", err)
	}
	taken, err := tx.Integration.Query().Where(integration.PropertyID(propertyID), integration.AppID(appID)).Exist(ctx)
	if err != nil {
		return nil, "", wrapError("look for an integration", err)
	}
	if taken {
		return nil, "", fault.New(fault.Exists, fault.AlreadyExists, "this app is already connected; rotate its access token to get a new one")
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
		return nil, "", wrapError("store an integration", err)
	}
	_, secret, err := r.createToken(tx, accessTokenSpec(row))
	if err != nil {
		return nil, "", err
	}
	return row, secret, nil
}

// IntegrationRow is an integration as stored.
type IntegrationRow = ent.Integration

// Integrations returns the integrations of a property by name, including disabled ones and the built-in one of its own scripts.
func Integrations(tx *db.Tx, propertyID string) ([]*ent.Integration, error) {
	return tx.Integration.Query().Where(integration.PropertyID(propertyID)).
		Order(integration.ByName(), integration.ByID()).Limit(maxApps).All(tx.Context())
}

// Integration returns one integration of a property, also a disabled one, or a not-found fault.
func Integration(tx *db.Tx, propertyID, integrationID string) (*ent.Integration, error) {
	rows, err := tx.Integration.Read(tx.Context(), "property_id = $1 AND id = $2", propertyID, integrationID)
	if err != nil {
		return nil, wrapError("find an integration", err)
	}
	if len(rows) == 0 {
		return nil, integrationNotFound()
	}
	return rows[0], nil
}

// Update changes the name and the scopes of an integration, also of a disabled one, or returns a fault if it or a scope does not exist. A
// nil name or empty scopes keep the stored ones. New scopes end the running deliveries to its webhooks.
func (r *Registry) Update(tx *db.Tx, propertyID, integrationID string, name *string, scopes []string) (*ent.Integration, error) {
	if err := checkScopes(scopes); err != nil {
		return nil, err
	}
	row, err := Integration(tx, propertyID, integrationID)
	if err != nil {
		return nil, err
	}
	tx.Notify(credentialsChanged, "")
	update := row.Update().SetNillableName(name)
	if len(scopes) > 0 {
		update.SetScopes(scopes)
		hooks := tx.Webhook.Update().Where(webhook.PropertyID(propertyID), webhook.IntegrationID(integrationID))
		endDelivery(hooks.Mutation())
		if err := hooks.Exec(tx.Context()); err != nil {
			return nil, wrapError("end the deliveries to webhooks", err)
		}
	}
	row, err = update.Save(tx.Context())
	if err != nil {
		return nil, wrapError("change an integration", err)
	}
	return row, nil
}

// RotateAccessToken creates an access token and returns the integration and the token, which is shown once. The other tokens of the
// integration end after the overlap; 0: immediately. It fails while too many of them have not ended, and for the built-in integration.
func (r *Registry) RotateAccessToken(tx *db.Tx, propertyID, integrationID string, overlap time.Duration) (*ent.Integration, string, error) {
	row, err := appIntegration(tx, propertyID, integrationID)
	if err != nil {
		return nil, "", err
	}
	_, secret, err := r.rotateToken(tx, accessTokenSpec(row), overlap)
	return row, secret, err
}

// RevokeAccessTokens revokes all access tokens of an app's integration immediately; without any, it is no error. It fails for the built-in
// integration. The integration stays connected, with its reservations and the access of guests.
func (r *Registry) RevokeAccessTokens(tx *db.Tx, propertyID, integrationID string) (*ent.Integration, error) {
	row, err := appIntegration(tx, propertyID, integrationID)
	if err != nil {
		return nil, err
	}
	tx.Notify(credentialsChanged, "")
	_, err = credential.End(tx, 0, accessTokensOf(propertyID, integrationID))
	return row, err
}

// AccessTokens returns the valid access tokens of a property's integrations, by integration id, without their secrets. An integration
// without tokens has no entry.
func AccessTokens(tx *db.Tx, propertyID string, now time.Time) (map[string][]*ent.Token, error) {
	rows, err := credential.List(tx, now, token.Kind(string(credential.Access)), token.PropertyID(propertyID))
	if err != nil {
		return nil, err
	}
	byIntegration := map[string][]*ent.Token{}
	for _, row := range rows {
		byIntegration[row.IntegrationID] = append(byIntegration[row.IntegrationID], row)
	}
	return byIntegration, nil
}

// appIntegration returns an integration that belongs to an app. It returns an error for the built-in integration,
// because that has no access tokens.
func appIntegration(tx *db.Tx, propertyID, integrationID string) (*ent.Integration, error) {
	row, err := Integration(tx, propertyID, integrationID)
	if err != nil {
		return nil, err
	}
	if row.AppID == nil {
		return nil, fault.New(fault.Precondition, fault.InUse, "the property's own scripts use an api-key and no access token; rotate the api-key")
	}
	return row, nil
}

// accessTokenSpec describes a new access token of an integration.
func accessTokenSpec(row *ent.Integration) credential.Spec {
	return credential.Spec{Kind: credential.Access, Name: row.Name, PropertyID: row.PropertyID, IntegrationID: row.ID, AppID: *row.AppID}
}

// accessTokensOf matches the access tokens of an integration, also those that have ended.
func accessTokensOf(propertyID, integrationID string) predicate.Token {
	return token.And(token.Kind(string(credential.Access)), token.PropertyID(propertyID), token.IntegrationID(integrationID))
}

// integrationIs matches one integration of a property by its id.
func integrationIs(propertyID, integrationID string) predicate.Integration {
	return integration.And(integration.PropertyID(propertyID), integration.ID(integrationID))
}

// checkScopes returns a fault if a scope does not exist.
func checkScopes(scopes []string) error {
	for _, s := range scopes {
		if !slices.Contains(Scopes, s) {
			return fault.Fields(fault.Field{Path: "scopes", Reason: fault.WrongValue, Message: "must contain only scopes that the documentation lists"})
		}
	}
	return nil
}

// requireProperty returns a not-found fault if there is no property with this id.
func requireProperty(tx *db.Tx, propertyID string) error {
	found, err := tx.Property.Query().Where(property.ID(propertyID)).Exist(tx.Context())
	if err != nil {
		return wrapError("find a property", err)
	}
	if !found {
		return fault.New(fault.NotFound, fault.PropertyNotFound, "no such property")
	}
	return nil
}

func integrationNotFound() error {
	return fault.New(fault.NotFound, fault.IntegrationNotFound, "no such integration")
}
