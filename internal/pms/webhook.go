package pms

import (
	"context"
	"errors"
	"net/http"
	"time"

	"latchkey.dev/internal/message"
)

// webhook is the action of messages to a partner's webhook.
const webhook = "webhook"

// Message is what a webhook receives.
type Message struct {
	ID   string // ID is the webhook-id, the same for each attempt
	Body []byte
}

// WebhookTarget returns the target for messages to a webhook. secrets are those that sign its messages now.
func WebhookTarget(integrationID, webhookID, url string, secrets []string) Target {
	return Target{IntegrationID: integrationID, WebhookID: webhookID, Action: webhook, URL: url, SigningSecrets: secrets}
}

// Delivered is the outcome of the delivery of a message to a webhook.
type Delivered struct {
	Status  int // Status is the HTTP status; 0 if there was no answer
	Latency time.Duration
	Failure string          // Failure is why it failed, in English; empty: the webhook answered 2xx
	Cause   Cause           // Cause is the kind of the failure
	Problem message.Message // Problem is Failure as a text in every language
	Gone    bool            // Gone means that the webhook answered 410: it wants no more messages
	// NotSent means that nothing was sent, because the circuit breaker is open or too many calls run. RetryAfter is then the wait until the
	// next attempt. Other failures leave it false, also those before the sending, such as a refused address.
	NotSent    bool
	RetryAfter time.Duration // RetryAfter is the wait that the webhook asks for, or with NotSent the wait until the next attempt; 0: none
}

// Deliver sends a message to a webhook once, without retries. Any answer with a 2xx status is a success, whatever its body. An
// urgent delivery ignores an open circuit breaker. It returns an error only if ctx was canceled; the webhook may then have the message.
// Other failures are in the result.
func (c *Client) Deliver(ctx context.Context, t Target, m Message, urgent bool) (Delivered, error) {
	began := time.Now()
	a, err := c.execute(ctx, t, call{action: webhook, message: &m, urgent: urgent})
	out := Delivered{Latency: time.Since(began)}
	var failure *CallError
	switch {
	case err == nil:
		out.Status, out.Latency = a.status, a.latency
	case !errors.As(err, &failure) || failure.Cause == CauseCanceled:
		return out, err
	default:
		out.Status, out.Failure, out.RetryAfter = failure.Status, failure.Error(), failure.RetryAfter
		out.Problem = failure.Problem()
		out.Cause, out.Gone = failure.Cause, failure.Status == http.StatusGone
		out.NotSent = failure.Cause == CauseOpen || failure.Cause == CauseBusy
	}
	return out, nil
}
