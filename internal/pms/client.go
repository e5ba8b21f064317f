// Package pms calls the endpoints a partner has registered: getSpaces, getCheckInStatus
// and checkIn.
//
// A partner is another company's program on the open internet. So each call goes only
// where [Rules] allow, is signed ([Verify]), ends within [Limits], and its
// answer is read under the contract and refused otherwise. Every integration has its own
// transport, concurrency limit and breaker: one bad partner never slows another.
package pms

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
)

// Actions a partner can register an endpoint for.
const (
	GetSpaces        = "getSpaces"
	GetCheckInStatus = "getCheckInStatus"
	CheckIn          = "checkIn"
)

// Where a token is sent.
const (
	TokenInQuery  = "query"  // ?token=T, the default
	TokenInHeader = "header" // Authorization: Bearer T
)

// Target is one registered endpoint, as a value.
type Target struct {
	IntegrationID  string
	Action         string
	URL            string
	Method         string // GET or POST; empty: POST for checkIn, else GET
	Token          string // empty: none is sent
	TokenIn        string
	SigningSecrets []string // one, or two while it is rotated; "whsec_" and base64 of 24 to 64 bytes
	Urgent         bool     // of getSpaces: an open breaker does not hold the call back
}

// Limits bound every call. All are settings; see [DefaultLimits].
type Limits struct {
	Connect   time.Duration // name lookup and TCP connection
	TLS       time.Duration // handshake
	FirstByte time.Duration // from the request sent to the answer's headers
	Total     time.Duration // the whole call, with waiting and retries

	Body    int64 // bytes of an answer's body, after decompression
	Headers int64 // bytes of an answer's headers

	Concurrency  uint          // calls to one integration at a time
	Wait         time.Duration // how long a call waits for one of these places
	Integrations int           // integrations remembered at a time

	Attempts   int           // of a call that may be repeated
	Backoff    time.Duration // before the first repetition; doubles, with jitter
	MaxBackoff time.Duration

	BreakerFailures uint          // failures in a row that open an integration's breaker
	BreakerDelay    time.Duration // how long it stays open
}

// DefaultLimits are the limits of the product's specification and, where that names none,
// ours.
func DefaultLimits() Limits {
	return Limits{
		Connect: 3 * time.Second, TLS: 5 * time.Second, FirstByte: 10 * time.Second, Total: 15 * time.Second,
		Body: 1 << 20, Headers: 64 << 10,
		Concurrency: 8, Wait: time.Second, Integrations: 4096,
		Attempts: 3, Backoff: 250 * time.Millisecond, MaxBackoff: 2 * time.Second,
		BreakerFailures: 5, BreakerDelay: 30 * time.Second,
	}
}

// Options configure a [Client]. Rules is required; the rest has defaults.
type Options struct {
	Rules    *Rules
	Limits   Limits         // zero: DefaultLimits
	Log      *slog.Logger   // one line for each attempt, without token, query and body
	Clock    clock.Clock    // time of the signatures
	RootCAs  *x509.CertPool // nil: the system's
	Resolver *net.Resolver  // nil: Go's own resolver
}

// Client calls partners. There is one in a process; it is safe for concurrent use.
type Client struct {
	rules   *Rules
	limits  Limits
	log     *slog.Logger
	clock   clock.Clock
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	roots   *x509.CertPool
	lines   *lines
	retries retryPolicy
}

// New makes a client.
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
		// The C library's resolver would read "0x7f.1" as an address.
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	d := &dialer{rules: o.Rules, resolver: o.Resolver, timeout: o.Limits.Connect}
	c := &Client{
		rules: o.Rules, limits: o.Limits, log: o.Log, clock: o.Clock,
		dial: d.DialContext, roots: o.RootCAs, retries: newRetryPolicy(o.Limits),
	}
	c.lines = newLines(o.Limits.Integrations, c.newLine)
	return c, nil
}

// Spaces reads the partner's rooms and beds. Ids may repeat and beds may lack their room:
// what that means is for the mapping to say.
func (c *Client) Spaces(ctx context.Context, t Target) ([]Space, error) {
	a, err := c.do(ctx, t, call{action: GetSpaces, repeat: true, urgent: t.Urgent})
	if err != nil {
		return nil, err
	}
	spaces, violations := DecodeSpaces(a.body)
	return spaces, c.judge(t, a, violations)
}

// CheckInStatus asks whether the guest of a reservation may check in. It always asks: a
// guest stands and waits, so neither a cache nor an open breaker answers in the
// partner's place.
func (c *Client) CheckInStatus(ctx context.Context, t Target, reservationID string) (checkin.Status, error) {
	a, err := c.do(ctx, t, call{
		action: GetCheckInStatus, reservationID: reservationID,
		repeat: t.method() == methodGet, urgent: true,
	})
	if err != nil {
		return checkin.Status{}, err
	}
	status, violations := DecodeStatus(a.body)
	return status, c.judge(t, a, violations)
}

// CheckIn asks the partner to check a guest in. Any 2xx without an error in its body is
// success. The key is 1 to 128 letters, digits, "-" or "_"; every repetition, in this call
// or a later one, must carry the same.
func (c *Client) CheckIn(ctx context.Context, t Target, idempotencyKey string, body checkin.Disclosure) error {
	_, err := c.do(ctx, t, call{
		action: CheckIn, key: idempotencyKey, disclosure: &body,
		repeat: true, urgent: true,
	})
	return err
}

// CheckURL reports what makes a URL unfit to be registered as an endpoint, as
// [Rules.CheckURL] does.
func (c *Client) CheckURL(raw string) error {
	return fieldsError(c.rules.CheckURL(raw))
}

// Close drops what the client holds. Calls under way end within their own limits.
func (c *Client) Close() { c.lines.close() }

// Partner is the PMS of one integration.
type Partner struct {
	client          *Client
	status, checkIn *Target
}

var _ checkin.PMS = (*Partner)(nil)

// Partner binds the endpoints of one integration; nil stands for one that is not
// registered.
func (c *Client) Partner(getCheckInStatus, checkIn *Target) *Partner {
	return &Partner{client: c, status: getCheckInStatus, checkIn: checkIn}
}

// CheckInStatus implements [checkin.PMS].
func (p *Partner) CheckInStatus(ctx context.Context, reservationID string) (checkin.Status, error) {
	if p.status == nil {
		return checkin.Status{}, checkin.ErrNotRegistered
	}
	return p.client.CheckInStatus(ctx, *p.status, reservationID)
}

// CheckIn implements [checkin.PMS].
func (p *Partner) CheckIn(ctx context.Context, idempotencyKey string, body checkin.Disclosure) error {
	if p.checkIn == nil {
		return checkin.ErrNotRegistered
	}
	return p.client.CheckIn(ctx, *p.checkIn, idempotencyKey, body)
}
