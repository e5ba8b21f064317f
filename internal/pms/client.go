// Package pms calls the endpoints that a partner registers: getSpaces, getCheckInStatus and checkIn.
//
// A partner's server is untrusted. Each call goes only to addresses that [Rules] allow, is signed (see [Verify]) and
// ends within [Limits]. The client refuses an answer that violates the contract. Every integration has its own
// transport, concurrency limit and circuit breaker, so one failing partner does not slow down others.
package pms

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"time"

	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

// Actions for which a partner can register an endpoint.
const (
	GetSpaces        = "getSpaces"
	GetCheckInStatus = "getCheckInStatus"
	CheckIn          = "checkIn"
)

const (
	// Values of Target.TokenIn. T is the token.
	TokenInQuery  = "query"  // sends the parameter ?token=T; the default
	TokenInHeader = "header" // sends the header Authorization: Bearer T
)

// Target is an endpoint or a webhook that a partner registered.
type Target struct {
	IntegrationID  string
	Action         string
	URL            string
	Method         string   // Method is GET or POST; empty means POST for checkIn and webhooks, else GET
	Token          string   // Token is empty if none is sent
	TokenIn        string   // TokenIn is TokenInQuery (also if empty) or TokenInHeader
	SigningSecrets []string // SigningSecrets are one, or two during a rotation; each is "whsec_" and base64 of 24 to 64 bytes
	WebhookID      string   // WebhookID is set for a webhook, which has limits and a circuit breaker of its own
	Urgent         bool     // Urgent makes getSpaces ignore an open circuit breaker; other actions do not use it
}

// TargetOf returns the target for calls to an endpoint that a partner registered. signingSecrets are those of its
// integration.
func TargetOf(e partner.Endpoint, signingSecrets []string) Target {
	return Target{
		IntegrationID: e.IntegrationID, Action: e.Action, URL: e.URL, Method: e.Method, Token: e.Token, TokenIn: e.TokenIn, SigningSecrets: signingSecrets,
	}
}

// Limits bound every call. A zero field is not replaced by a default: begin with [DefaultLimits].
type Limits struct {
	Connect   time.Duration // Connect limits the DNS lookup and the TCP connection together
	TLS       time.Duration // TLS limits the TLS handshake
	FirstByte time.Duration // FirstByte limits the time from sending the request to receiving the headers
	Total     time.Duration // Total limits the whole call, including waiting and retries

	Body    int64 // Body limits the body of an answer in bytes, after decompression
	Headers int64 // Headers limits the headers of an answer in bytes

	Concurrency  uint          // Concurrency is the number of concurrent calls per integration or webhook
	Wait         time.Duration // Wait is how long a call waits for a free slot among the concurrent calls
	Integrations int           // Integrations is the most integrations and webhooks in memory; a new one replaces an idle one, or is busy

	Attempts   int           // Attempts is the most attempts of a retryable call, with the first; 0 means 1
	Backoff    time.Duration // Backoff is the wait before the first retry; it doubles, with jitter
	MaxBackoff time.Duration // MaxBackoff is the longest wait before a retry, unless the partner asks for a longer one

	BreakerFailures uint          // BreakerFailures is the number of consecutive failures that open an integration's circuit breaker
	BreakerDelay    time.Duration // BreakerDelay is how long the circuit breaker stays open
}

// DefaultLimits returns the limits of the product's specification, and defaults for the limits that it does not set.
func DefaultLimits() Limits {
	return Limits{
		Connect: 3 * time.Second, TLS: 5 * time.Second, FirstByte: 10 * time.Second, Total: 15 * time.Second,
		Body: 1 << 20, Headers: 64 << 10,
		Concurrency: 8, Wait: time.Second, Integrations: 4096,
		Attempts: 3, Backoff: 250 * time.Millisecond, MaxBackoff: 2 * time.Second,
		BreakerFailures: 5, BreakerDelay: 30 * time.Second,
	}
}

// Options configure a [Client]. Only Rules is required.
type Options struct {
	Rules    *Rules
	Limits   Limits         // Limits, if all are zero, are DefaultLimits
	Log      *slog.Logger   // Log gets one line for each attempt, without token, query and body; nil: no log
	Clock    clock.Clock    // Clock gives the time of the signatures; nil: the system's clock
	RootCAs  *x509.CertPool // RootCAs, if nil, are the system's
	Resolver *net.Resolver  // Resolver, if nil, is Go's own resolver
}

// Client calls partners. A process has one; it is safe for concurrent use.
type Client struct {
	rules   *Rules
	limits  Limits
	log     *slog.Logger
	clock   clock.Clock
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	roots   *x509.CertPool
	states  *integrationStates
	retries retryPolicy
}

// New returns a client. It fails if the options have no rules.
func New(o Options) (*Client, error) {
	if o.Rules == nil {
		return nil, errors.New("pms.New: Options.Rules is missing")
	}
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Resolver == nil {
		// The C library's resolver would parse "0x7f.1" as an address.
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	d := &dialer{rules: o.Rules, resolver: o.Resolver, timeout: o.Limits.Connect}
	c := &Client{
		rules: o.Rules, limits: o.Limits, log: o.Log, clock: o.Clock,
		dial: d.DialContext, roots: o.RootCAs, retries: newRetryPolicy(o.Limits),
	}
	c.states = newIntegrationStates(o.Limits.Integrations, c.newIntegrationState)
	return c, nil
}

// Spaces calls getSpaces and returns the partner's rooms and beds. It retries a transient failure. An open breaker blocks the call unless
// t.Urgent is set. Ids may be duplicates and beds may have no room: package space handles this.
func (c *Client) Spaces(ctx context.Context, t Target) ([]*pmsv1.Space, error) {
	a, err := c.execute(ctx, t, call{action: GetSpaces, retryable: true, urgent: t.Urgent})
	if err != nil {
		return nil, err
	}
	spaces, violations := DecodeSpaces(a.body)
	return spaces, c.contractError(t, a, violations)
}

// Listed is [Client.Spaces] with the result converted for package space.
func (c *Client) Listed(ctx context.Context, t Target) ([]space.Listed, error) {
	all, err := c.Spaces(ctx, t)
	if err != nil {
		return nil, err
	}
	out := make([]space.Listed, len(all))
	for i, l := range all {
		out[i] = space.Listed{
			ExternalID: l.GetId(), Type: l.GetType(), Name: l.GetName(), ParentExternalID: l.GetParentId(), Floor: l.GetFloor(),
			IsPrivate: l.GetIsPrivate(), IsActive: l.GetIsActive(),
		}
	}
	return out, nil
}

// CheckInStatus asks whether the guest of a reservation may check in. It uses no cache, and calls the partner even if the breaker is open,
// because a guest is waiting. It retries only calls with GET.
func (c *Client) CheckInStatus(ctx context.Context, t Target, reservationID string) (checkin.Status, error) {
	a, err := c.execute(ctx, t, call{
		action: GetCheckInStatus, reservationID: reservationID,
		retryable: t.method() == methodGet, urgent: true,
	})
	if err != nil {
		return checkin.Status{}, err
	}
	status, violations := DecodeStatus(a.body)
	return status, c.contractError(t, a, violations)
}

// CheckIn asks the partner to check a guest in, even if the breaker is open. Any 2xx answer that can be read and has no error in its body
// is a success. After an error without an answer, with a status of 5xx, or with an answer that could not be read, the partner may have
// checked the guest in, unless nothing was sent. The key is 1 to 128 letters, digits, "-" or "_". Every retry, in this call or later, must
// use the same key.
func (c *Client) CheckIn(ctx context.Context, t Target, idempotencyKey string, body checkin.Disclosure) error {
	_, err := c.execute(ctx, t, call{
		action: CheckIn, key: idempotencyKey, disclosure: &body,
		retryable: true, urgent: true,
	})
	return err
}

// CheckURL returns a fault that says why a URL cannot be registered as an endpoint, or nil; see [Rules.CheckURL].
func (c *Client) CheckURL(raw string) error {
	return fieldsError(c.rules.CheckURL(raw))
}

// Close closes the idle connections. Running calls end within their own limits.
func (c *Client) Close() { c.states.close() }

// Partner is the PMS of one integration.
type Partner struct {
	client          *Client
	status, checkIn *Target
	observe         Observer
}

// Observer runs a call to a target, records its duration and outcome, and returns its error.
type Observer func(ctx context.Context, t Target, call func(ctx context.Context) error) error

var _ checkin.PMS = (*Partner)(nil)

// Partner returns the PMS of one integration, for package checkin. The two targets are its endpoints, nil if not registered. observe
// records each call; it may be nil.
func (c *Client) Partner(getCheckInStatus, checkIn *Target, observe Observer) *Partner {
	if observe == nil {
		observe = func(ctx context.Context, _ Target, call func(ctx context.Context) error) error { return call(ctx) }
	}
	return &Partner{client: c, status: getCheckInStatus, checkIn: checkIn, observe: observe}
}

// CheckInStatus is [Client.CheckInStatus] for the PMS's endpoint. It returns checkin.ErrNotRegistered if there is
// none.
func (p *Partner) CheckInStatus(ctx context.Context, reservationID string) (status checkin.Status, err error) {
	if p.status == nil {
		return checkin.Status{}, checkin.ErrNotRegistered
	}
	err = p.observe(ctx, *p.status, func(ctx context.Context) error {
		status, err = p.client.CheckInStatus(ctx, *p.status, reservationID)
		return err
	})
	return status, err
}

// CheckIn is [Client.CheckIn] for the PMS's endpoint. It returns checkin.ErrNotRegistered if there is none.
func (p *Partner) CheckIn(ctx context.Context, idempotencyKey string, body checkin.Disclosure) error {
	if p.checkIn == nil {
		return checkin.ErrNotRegistered
	}
	return p.observe(ctx, *p.checkIn, func(ctx context.Context) error { return p.client.CheckIn(ctx, *p.checkIn, idempotencyKey, body) })
}
