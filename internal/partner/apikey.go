package partner

import (
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/token"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// CreateAPIKey creates the api-key of a property and returns its row and the key (lkk_...), which is shown once. It returns a fault if the
// property has a valid one. The key belongs to the property's built-in integration, which is created with the first key.
func (r *Registry) CreateAPIKey(tx *db.Tx, propertyID string) (*ent.Token, string, error) {
	_, err := APIKeys(tx, propertyID, tx.Now())
	if err == nil {
		return nil, "", fault.New(fault.Exists, fault.AlreadyExists, "the property already has an api-key; rotate it to get a new one")
	}
	if !fault.Has(err, fault.TokenNotFound) {
		return nil, "", err
	}
	return r.RotateAPIKey(tx, propertyID, 0)
}

// RotateAPIKey creates an api-key, also the first one, and returns its row and the key, which is shown once. The previous ones end after
// the overlap; 0: immediately. It fails while too many of them have not ended.
func (r *Registry) RotateAPIKey(tx *db.Tx, propertyID string, overlap time.Duration) (*ent.Token, string, error) {
	own, err := CreateOwnIntegration(tx, propertyID)
	if err != nil {
		return nil, "", err
	}
	return r.rotateToken(tx, credential.Spec{Kind: credential.APIKey, Name: own.Name, PropertyID: propertyID, IntegrationID: own.ID}, overlap)
}

// RevokeAPIKey revokes the api-keys of a property immediately, or returns a fault if there is none.
func (r *Registry) RevokeAPIKey(tx *db.Tx, propertyID string) error {
	tx.Notify(credentialsChanged, "")
	n, err := credential.End(tx, 0, token.Kind(string(credential.APIKey)), token.PropertyID(propertyID))
	if err != nil {
		return err
	}
	if n == 0 {
		return apiKeyNotFound()
	}
	return nil
}

// APIKeys returns the valid api-keys of a property without their secrets, newest first, or the fault TokenNotFound if there is none. There
// is more than one during the overlap of a replacement.
func APIKeys(tx *db.Tx, propertyID string, now time.Time) ([]*ent.Token, error) {
	rows, err := credential.List(tx, now, token.Kind(string(credential.APIKey)), token.PropertyID(propertyID))
	if err != nil {
		return nil, wrapError("find an api-key", err)
	}
	if len(rows) == 0 {
		return nil, apiKeyNotFound()
	}
	slices.Reverse(rows)
	return rows, nil
}

// IsOwn reports whether an integration is the built-in one of its property, for the property's own scripts.
func IsOwn(row *IntegrationRow) bool { return row.AppID == nil }

// OwnIntegration returns the built-in integration of a property, which the property's own scripts use. Before its first use it returns the
// fault integrationNotFound.
func OwnIntegration(view *db.Tx, propertyID string) (*IntegrationRow, error) {
	row, err := view.Integration.Query().Where(integration.PropertyID(propertyID), integration.AppIDIsNil()).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, integrationNotFound()
	}
	if err != nil {
		return nil, wrapError("find the built-in integration", err)
	}
	return row, nil
}

// CreateOwnIntegration returns the built-in integration of a property, and creates it if needed. It returns a not-found fault if there is
// no such property.
func CreateOwnIntegration(tx *db.Tx, propertyID string) (*IntegrationRow, error) {
	if err := requireProperty(tx, propertyID); err != nil {
		return nil, err
	}
	row, err := OwnIntegration(tx, propertyID)
	if err == nil || !fault.Has(err, fault.IntegrationNotFound) {
		return row, err
	}
	row, err = tx.Integration.Create().SetID(id.New(id.Integration)).SetPropertyID(propertyID).
		SetName("Own scripts").SetScopes(builtInScopes).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, wrapError("store the built-in integration", err)
	}
	return row, nil
}

func apiKeyNotFound() error {
	return fault.New(fault.NotFound, fault.TokenNotFound, "the property has no api-key; create one")
}
