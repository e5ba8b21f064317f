// Package partner serves the partner API. It converts between protobuf and domain types, and runs each change in a transaction.
package partner

import (
	"context"
	"time"

	"buf.build/go/protovalidate"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation"
)

// Service implements the services of latchkey.partner.v1.
type Service struct {
	partnerv1.UnimplementedReservationServiceServer
	partnerv1.UnimplementedEndpointServiceServer
	partnerv1.UnimplementedSpaceServiceServer
	partnerv1.UnimplementedIntegrationServiceServer
	partnerv1.UnimplementedWebhookServiceServer

	DB        *db.DB
	Keys      *keyring.Ring
	Answers   *idem.Answers
	Validator protovalidate.Validator
	Registry  *partner.Registry
	// KeepStays is the retention period of reservations after their end.
	KeepStays time.Duration
	// CheckURL returns an error if a URL is not allowed for an endpoint or a webhook.
	CheckURL func(url string) error
	// Tester calls an endpoint once to test it.
	Tester partner.Tester
	// TestDelivery sends a message to a webhook once. An error means that the call was canceled.
	TestDelivery func(ctx context.Context, w *partner.WebhookRow, secrets []string, body []byte) (partner.Probed, error)
	// DeliverSoon enqueues the delivery of the events that wait for a webhook. It starts at once, also during a pause after failures.
	DeliverSoon func(tx *db.Tx, propertyID, webhookID string) error
	// ReadSpaces enqueues a call of an integration's getSpaces endpoint; nil enqueues none.
	ReadSpaces func(tx *db.Tx, propertyID, integrationID string) error
	// FirstSpaces enqueues the first call of an integration's getSpaces endpoint; nil enqueues none. A delay lets the partner store its
	// signing secret first.
	FirstSpaces func(tx *db.Tx, propertyID, integrationID string) error
}

// reservations returns the domain service for reservations.
func (s *Service) reservations() reservation.Service {
	return reservation.Service{Keys: s.Keys, Keep: s.KeepStays}
}

// caller returns the calling integration. It refuses all other callers.
func caller(ctx context.Context) (actor.Actor, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Integration || a.PropertyID == "" {
		return actor.Actor{}, credential.Refused()
	}
	return a, nil
}

// writeScope returns the scope of the reservations that a caller is allowed to change: those of its integration.
func writeScope(a actor.Actor) reservation.Scope {
	return reservation.Scope{PropertyID: a.PropertyID, IntegrationID: a.IntegrationID}
}

// readScope returns the scope of the reservations that a caller is allowed to read. A property's own scripts can read all reservations of
// the property.
func readScope(a actor.Actor) reservation.Scope {
	if isOwnScript(a) {
		return reservation.Scope{PropertyID: a.PropertyID}
	}
	return writeScope(a)
}

// isOwnScript reports whether the caller is a script of the property itself, which has an api-key, and not a partner app.
func isOwnScript(a actor.Actor) bool { return a.AppID == "" }
