package partner

import (
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/app"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// maxApps bounds the apps or integrations that a list returns. There are a few hundred PMS vendors in the world.
const maxApps = 2000

// AppRow is a partner's app as stored.
type AppRow = ent.App

// CreateApp creates a partner app. It returns the app and its first client token (lkc_...), which is shown once. It returns a fault if the
// name is taken.
func (r *Registry) CreateApp(tx *db.Tx, name string) (*ent.App, string, error) {
	ctx := tx.Context()
	taken, err := tx.App.Query().Where(app.Name(name)).Exist(ctx)
	if err != nil {
		return nil, "", wrapError("look for an app", err)
	}
	if taken {
		return nil, "", fault.New(fault.Exists, fault.AlreadyExists, "an app with this name already exists; list the apps to find it")
	}
	row, err := tx.App.Create().SetID(id.New(id.App)).SetName(name).SetCreatedAt(tx.Now()).Save(ctx)
	if err != nil {
		return nil, "", wrapError("store an app", err)
	}
	_, secret, err := r.createToken(tx, credential.Spec{Kind: credential.Client, Name: name, AppID: row.ID})
	if err != nil {
		return nil, "", err
	}
	return row, secret, nil
}

// Apps returns all partner apps, ordered by name.
func Apps(tx *db.Tx) ([]*ent.App, error) {
	return tx.App.Query().Order(app.ByName()).Limit(maxApps).All(tx.Context())
}

// Connected returns the number of properties that have connected each app, by app id. Disabled integrations do not count. An app without
// others has no entry.
func Connected(tx *db.Tx) (map[string]int, error) {
	var rows []struct {
		AppID string `json:"app_id"`
		Count int    `json:"count"`
	}
	err := tx.Integration.Query().Where(integration.AppIDNotNil(), integration.DisabledAtIsNil()).
		GroupBy(integration.FieldAppID).Aggregate(func(s *sql.Selector) string { return sql.As(sql.Count("*"), "count") }).Scan(tx.Context(), &rows)
	if err != nil {
		return nil, wrapError("count integrations", err)
	}
	counts := make(map[string]int, len(rows))
	for _, row := range rows {
		counts[row.AppID] = row.Count
	}
	return counts, nil
}

// AppNames returns the names of the apps that each of the properties has connected and not disabled, by property id, in the order of their
// connection. A property without such apps has no entry.
func AppNames(tx *db.Tx, propertyIDs []string) (map[string][]string, error) {
	rows, err := tx.Integration.Query().Where(integration.PropertyIDIn(propertyIDs...), integration.AppIDNotNil(), integration.DisabledAtIsNil()).
		Order(integration.ByID()).All(tx.Context())
	if err != nil {
		return nil, wrapError("list integrations", err)
	}
	apps, err := Apps(tx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(apps))
	for _, a := range apps {
		names[a.ID] = a.Name
	}
	of := map[string][]string{}
	for _, row := range rows {
		of[row.PropertyID] = append(of[row.PropertyID], names[*row.AppID])
	}
	return of, nil
}

// ClientTokens returns the valid client tokens of an app, oldest first, without their secrets, or a not-found fault if there is no such
// app.
func ClientTokens(tx *db.Tx, appID string, now time.Time) ([]*ent.Token, error) {
	if err := requireApp(tx, appID); err != nil {
		return nil, err
	}
	return credential.List(tx, now, token.Kind(string(credential.Client)), token.AppID(appID))
}

// CreateClientToken creates another client token of an app, and fails if too many are valid. It returns its row and the token, which is
// shown once.
func (r *Registry) CreateClientToken(tx *db.Tx, appID, name string) (*ent.Token, string, error) {
	if err := requireApp(tx, appID); err != nil {
		return nil, "", err
	}
	return r.createToken(tx, credential.Spec{Kind: credential.Client, Name: name, AppID: appID})
}

// RotateClientToken creates a client token and returns its row and the token, which is shown once. The other tokens of the app end after
// the overlap; 0: immediately. It fails while too many of them have not ended.
func (r *Registry) RotateClientToken(tx *db.Tx, appID string, overlap time.Duration) (*ent.Token, string, error) {
	if err := requireApp(tx, appID); err != nil {
		return nil, "", err
	}
	return r.rotateToken(tx, credential.Spec{Kind: credential.Client, AppID: appID}, overlap)
}

// RevokeClientToken revokes one client token of an app immediately and returns it, or a not-found fault if the app has no such token. It is
// no error if the token has ended already.
func (r *Registry) RevokeClientToken(tx *db.Tx, appID, tokenID string) (*ent.Token, error) {
	tx.Notify(credentialsChanged, "")
	return credential.Revoke(tx, tokenID, token.Kind(string(credential.Client)), token.AppID(appID))
}

// requireApp returns a not-found fault if there is no app with this id.
func requireApp(tx *db.Tx, appID string) error {
	found, err := tx.App.Query().Where(app.ID(appID)).Exist(tx.Context())
	if err != nil {
		return wrapError("find an app", err)
	}
	if !found {
		return appNotFound()
	}
	return nil
}

func appNotFound() error { return fault.New(fault.NotFound, fault.AppNotFound, "no such app") }
