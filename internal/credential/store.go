package credential

import (
	"fmt"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

// Found is a valid token that a caller presented. An id that the token does not have is empty.
type Found struct {
	ID, PropertyID, IntegrationID, AppID string
	Role, Name                           string
	ExpiresAt                            *time.Time
}

// Find returns the valid token of a kind with this secret. For anything else it returns [Refused].
func Find(view *db.Tx, keys *keyring.Ring, k Kind, secret string) (*Found, error) {
	if !keyring.IsToken(secret, kinds[k].format) {
		return nil, Refused()
	}
	t := &Found{}
	found, err := view.ReadOne(findQuery, []any{computeMAC(keys, k, secret), string(k), view.Now()},
		&t.ID, &t.PropertyID, &t.IntegrationID, &t.AppID, &t.Role, &t.Name, &t.ExpiresAt)
	if err != nil {
		return nil, fmt.Errorf("find a credential: %w", err)
	}
	if !found {
		return nil, Refused()
	}
	return t, nil
}

// findQuery reads a valid token: $1 is its hash, $2 its kind, $3 the time.
const findQuery = `SELECT id, coalesce(property_id, ''), coalesce(integration_id, ''), coalesce(app_id, ''), role, name, expires_at FROM tokens
	WHERE mac = $1 AND kind = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`

// findSessionQuery reads a valid session with its valid operator token: $1 is the hash, $2 the time, $3 the earliest start.
const findSessionQuery = `SELECT s.id, s.expires_at, p.id FROM tokens s JOIN tokens p ON p.id = s.parent_id
	WHERE s.mac = $1 AND s.kind = 'session' AND s.revoked_at IS NULL AND s.expires_at > $2 AND s.created_at > $3
	AND p.kind = 'operator' AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > $2)`
