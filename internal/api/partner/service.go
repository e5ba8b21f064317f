// Package partner serves the partner area of the API: it converts between protobuf and the domain, and runs each change
// in a transaction.
package partner

import (
	"context"
	"time"

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

	DB       *db.DB
	Keys     *keyring.Ring
	Memory   *idem.Memory
	Registry *partner.Registry
	// KeepStays is how long reservations are kept after their end.
	KeepStays time.Duration
	// CheckURL returns why a URL cannot be registered.
	CheckURL func(url string) error
	// Probe calls an endpoint once, immediately. An error means that it was not called.
	Probe func(ctx context.Context, e partner.Endpoint, signingSecrets []string) (Probed, error)
	// ReadSpaces enqueues a reading of an integration's getSpaces in the transaction.
	ReadSpaces func(tx *db.Tx, propertyID, integrationID string) error
	// FirstSpaces enqueues the first reading of getSpaces, after a delay in which the partner can store its signing secret.
	FirstSpaces func(tx *db.Tx, propertyID, integrationID string) error
}

// Probed is the result of a test call of an endpoint.
type Probed struct {
	OK         bool // the endpoint answered correctly
	Status     int  // HTTP status; 0: no answer
	Latency    time.Duration
	Violations []string // what is wrong, without text from the partner
	Reason     string   // reason in the partner's error, which can be a correct answer
	Message    string
}

func (s *Service) reservations() reservation.Service {
	return reservation.Service{Keys: s.Keys, Keep: s.KeepStays}
}

// caller returns the calling integration. The chain admits no other callers.
func caller(ctx context.Context) (actor.Actor, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Integration || a.PropertyID == "" {
		return actor.Actor{}, credential.Refused()
	}
	return a, nil
}

// writeScope is what a caller may change.
func writeScope(a actor.Actor) reservation.Scope {
	return reservation.Scope{PropertyID: a.PropertyID, IntegrationID: a.IntegrationID}
}

// readScope is what a caller may read: a property's own scripts read everything of the property.
func readScope(a actor.Actor) reservation.Scope {
	if isOwnScript(a) {
		return reservation.Scope{PropertyID: a.PropertyID}
	}
	return writeScope(a)
}

func isOwnScript(a actor.Actor) bool { return a.AppID == "" }
