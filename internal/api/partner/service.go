// Package partner is the partners' area of the API: protobuf to domain and back, and the transaction around each change.
package partner

import (
	"context"
	"time"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff/credential"
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
	// CheckURL says what makes a URL unfit to be registered.
	CheckURL func(url string) error
	// Probe calls an endpoint once, now. An error means that it was not called.
	Probe func(ctx context.Context, e partner.Endpoint, signingSecrets []string) (Probed, error)
	// ReadSpaces has getSpaces of an integration read soon, from within the transaction that made it worth it.
	ReadSpaces func(tx *db.Tx, propertyID, integrationID string) error
	// FirstSpaces has getSpaces read for the first time, once the partner has had time to store its signing secret.
	FirstSpaces func(tx *db.Tx, propertyID, integrationID string) error
}

// Probed is what one call of an endpoint showed.
type Probed struct {
	OK         bool // it answered, and as it should
	Status     int  // of HTTP; 0: no answer
	Latency    time.Duration
	Violations []string // what is wrong, without the partner's own words
	Reason     string   // what the partner's own error says, also where one is a sound answer
	Message    string
}

func (s *Service) keeper() reservation.Keeper { return reservation.Keeper{Keys: s.Keys} }

// caller is the integration behind a call; the interceptors let no other in.
func caller(ctx context.Context) (actor.Actor, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Integration || a.PropertyID == "" {
		return actor.Actor{}, credential.Refused()
	}
	return a, nil
}

// own is the scope of what a caller writes.
func own(a actor.Actor) reservation.Scope {
	return reservation.Scope{PropertyID: a.PropertyID, IntegrationID: a.IntegrationID}
}

// readable is the scope of what a caller reads: a property's own scripts read all of the property.
func readable(a actor.Actor) reservation.Scope {
	if scripts(a) {
		return reservation.Scope{PropertyID: a.PropertyID}
	}
	return own(a)
}

func scripts(a actor.Actor) bool { return a.AppID == "" }
