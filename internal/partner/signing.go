package partner

import (
	"crypto/rand"
	"encoding/base64"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
)

// secretBytes is the length of a signing secret. Standard Webhooks requires 24 to 64 bytes.
const secretBytes = 32

// secretPrefix is the prefix of symmetric secrets in Standard Webhooks.
const secretPrefix = "whsec_"

// SigningSecrets returns the secrets that sign calls to the partner (whsec_...), newest first: two after a rotation that kept the previous
// one, none before the first endpoint is registered or the first rotation.
func (r *Registry) SigningSecrets(tx *db.Tx, propertyID, integrationID string) ([]string, error) {
	row, err := Integration(tx, propertyID, integrationID)
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, sealed := range [][]byte{row.SigningSecret, row.PreviousSigningSecret} {
		if len(sealed) == 0 {
			continue
		}
		plain, err := r.keys.Open(tx.Context(), propertyID, signingPurpose(integrationID), sealed)
		if err != nil {
			return nil, wrapError("open a signing secret", err)
		}
		secrets = append(secrets, string(plain))
	}
	return secrets, nil
}

// RotateSigningSecret creates a secret of an app's integration, which is shown once. Until the next rotation, calls are signed with it and
// with the previous one, unless dropPrevious is set.
func (r *Registry) RotateSigningSecret(tx *db.Tx, propertyID, integrationID string, dropPrevious bool) (string, error) {
	row, err := appIntegration(tx, propertyID, integrationID)
	if err != nil {
		return "", err
	}
	secret, sealed, err := r.newSecret(tx, row.PropertyID, signingPurpose(row.ID))
	if err != nil {
		return "", err
	}
	update := row.Update().SetSigningSecret(sealed)
	if dropPrevious || len(row.SigningSecret) == 0 {
		update.ClearPreviousSigningSecret()
	} else {
		update.SetPreviousSigningSecret(row.SigningSecret)
	}
	if err := update.Exec(tx.Context()); err != nil {
		return "", wrapError("store a signing secret", err)
	}
	return secret, nil
}

// ensureSecret creates and returns the signing secret of an integration that has none. Otherwise it returns "".
func (r *Registry) ensureSecret(tx *db.Tx, row *ent.Integration) (string, error) {
	if len(row.SigningSecret) > 0 {
		return "", nil
	}
	secret, sealed, err := r.newSecret(tx, row.PropertyID, signingPurpose(row.ID))
	if err != nil {
		return "", err
	}
	if err := row.Update().SetSigningSecret(sealed).Exec(tx.Context()); err != nil {
		return "", wrapError("store a signing secret", err)
	}
	return secret, nil
}

// newSecret generates a signing secret, and seals it for a purpose of a property.
func (r *Registry) newSecret(tx *db.Tx, propertyID, purpose string) (secret string, sealed []byte, err error) {
	raw := make([]byte, secretBytes)
	rand.Read(raw)
	secret = secretPrefix + base64.StdEncoding.EncodeToString(raw)
	sealed, err = r.keys.Seal(tx.Context(), propertyID, purpose, []byte(secret))
	if err != nil {
		return "", nil, wrapError("seal a signing secret", err)
	}
	return secret, sealed, nil
}

// signingPurpose returns the associated data of an integration's sealed signing secret.
func signingPurpose(integrationID string) string { return "signing " + integrationID }
