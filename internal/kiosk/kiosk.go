// Package kiosk keeps a property's check-in tablets: their enrolment, their credentials and their health.
package kiosk

import (
	"fmt"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
)

func tokenMAC(keys *keyring.Ring, token string) []byte { return keys.MAC("kiosk", token) }

// Authenticate returns the kiosk with a token.
func Authenticate(view *db.Tx, keys *keyring.Ring, token string) (actor.Actor, error) {
	if !keyring.IsToken(token, keyring.KioskToken) {
		return actor.Actor{}, credential.Refused()
	}
	a := actor.Actor{Kind: actor.Kiosk}
	found, err := view.ReadOne(`SELECT id, property_id FROM kiosks WHERE mac = $1`, []any{tokenMAC(keys, token)}, &a.ID, &a.PropertyID)
	if err != nil {
		return actor.Actor{}, fmt.Errorf("find a kiosk: %w", err)
	}
	if !found {
		return actor.Actor{}, credential.Refused()
	}
	a.TokenID = a.ID
	return a, nil
}
