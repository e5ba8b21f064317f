package partner

import (
	"context"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
)

// Probed is the result of a test call of a partner's endpoint or webhook.
type Probed struct {
	OK       bool // OK means that the endpoint answered correctly
	Status   int  // Status is the HTTP status; 0: no answer
	Latency  time.Duration
	Failures []Failure       // Failures describe what is wrong, without text from the partner; nil for a webhook, also if it failed
	Reason   string          // Reason is the reason in the partner's error answer, which may be the correct answer to a test
	Message  string          // Message is the message in the partner's error answer; for a webhook, why the delivery failed
	Problem  message.Message // Problem is, for a webhook, why the delivery failed, in every language; else zero
}

// Tester tests the endpoints of partners.
type Tester struct {
	DB       *db.DB
	Registry *Registry
	// Call calls an endpoint once. A failed call is a result. An error means that the call was not made.
	Call func(ctx context.Context, e Endpoint, signingSecrets []string) (Probed, error)
}

// Test calls the endpoint of an integration for one action once, outside of any transaction, and stores the result in its health. A failed
// call is a result; an error means that no call was made, or that its result could not be stored.
func (t Tester) Test(ctx context.Context, propertyID, integrationID, action string) (Probed, error) {
	view := t.DB.View(ctx)
	e, err := t.Registry.Endpoint(view, propertyID, integrationID, action)
	if err != nil {
		return Probed{}, err
	}
	secrets, err := t.Registry.SigningSecrets(view, propertyID, integrationID)
	if err != nil {
		return Probed{}, err
	}
	found, err := t.Call(ctx, e, secrets)
	if err != nil {
		return Probed{}, err
	}
	failure := Failure{}
	if !found.OK && len(found.Failures) > 0 {
		failure = found.Failures[0]
	}
	return found, t.DB.Write(ctx, func(tx *db.Tx) error { return RecordEndpointTest(tx, propertyID, integrationID, action, failure) })
}
