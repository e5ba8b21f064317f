// Package kiosk keeps a property's check-in tablets: their enrolment, their credentials and their health.
package kiosk

import (
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
	k, found, err := findByMAC(view, tokenMAC(keys, token))
	if err != nil {
		return actor.Actor{}, err
	}
	if !found {
		return actor.Actor{}, credential.Refused()
	}
	return actor.Actor{Kind: actor.Kiosk, ID: k.ID, PropertyID: k.PropertyID, TokenID: k.ID}, nil
}
