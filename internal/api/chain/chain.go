// Package chain is what every call passes on its way in and out, whichever protocol brought
// it: request id, recovery from panics, access log and metrics, the client's address, a
// deadline, authentication, limits, authorization, validation, and one mapping of errors.
// The gRPC server, the in-process connection behind REST and the Connect handlers all run
// this one list.
package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"buf.build/go/protovalidate"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
)

// Defaults of [Config].
const (
	DefaultDeadline = 30 * time.Second
	MaxRequestBytes = 1 << 20 // of every call, REST bodies included
	// MaxReceiveBytes is what gRPC and Connect still take in of a message, so that one a little over MaxRequestBytes is
	// refused by the chain, with a reason. The gRPC server refuses a larger one unread, by its code alone.
	MaxReceiveBytes = MaxRequestBytes + MaxRequestBytes/4
)

// Authenticator turns the credentials of a call into an actor, or returns a fault of kind
// Unauthenticated. There is one for each area of the API; a credential of another area is
// none.
type Authenticator func(ctx context.Context, c Credentials) (actor.Actor, error)

// Config is what a chain needs to know. Logger and Registerer are required.
type Config struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Clock      clock.Clock // nil: the system's

	// Authenticators by proto package, such as "latchkey.partner.v1".
	Authenticators map[string]Authenticator
	// Public names services that need no credential and have no access rule, such as
	// "grpc.health.v1.Health".
	Public []string
	// Own names, by full method, the request field whose content the method's handler
	// validates with [Violations], because it depends on what is stored.
	Own map[string]string
	// Static finds, by full method, what is wrong with a request whatever is stored and the proto cannot say, so that one
	// answer names it beside the broken rules of the proto. It is also told of requests that break those.
	Static map[string]func(proto.Message) []fault.Field
	// Exact names the proto packages whose JSON callers may send fields alone: a name that is none is refused. Elsewhere it
	// is ignored.
	Exact []string
	// Explain gives a fault to errors of the storage that reach the chain without one; nil for none.
	Explain func(error) error
	// Inner runs last, right around the handler of a unary call; nil for none.
	Inner grpc.UnaryServerInterceptor
	// TrustedProxies may say in X-Forwarded-For who called them.
	TrustedProxies []netip.Prefix
	// Deadline caps every unary call; zero: DefaultDeadline.
	Deadline time.Duration
	// Arrival caps how long the message of a unary gRPC call may take to arrive; zero: MaxArrival.
	Arrival time.Duration
	Limits  Limits
}

// Chain runs every call. It is safe for concurrent use once all services are registered.
type Chain struct {
	log      *slog.Logger
	clock    clock.Clock
	auth     map[string]Authenticator
	public   map[string]bool
	own      map[string]string
	static   map[string]func(proto.Message) []fault.Field
	exact    []string
	storage  func(error) error
	inner    grpc.UnaryServerInterceptor
	proxies  []netip.Prefix
	deadline time.Duration
	arrival  time.Duration // of the message of a unary gRPC call
	calls    *limiter
	batches  *limiter
	tokens   *limiter
	awaited  *awaited
	decoding *semaphore.Weighted
	metrics  *metrics
	rules    protovalidate.Validator
	methods  map[string]*method
}

// New makes a chain. It fails when its metrics are registered already or a limit makes no
// sense.
func New(cfg Config) (*Chain, error) {
	if cfg.Logger == nil || cfg.Registerer == nil {
		return nil, errors.New("chain: Logger and Registerer are required")
	}
	rules, err := protovalidate.New()
	if err != nil {
		return nil, fmt.Errorf("chain: validation: %w", err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("chain: metrics: %w", err)
	}
	c := &Chain{
		log: cfg.Logger, clock: cfg.Clock, auth: cfg.Authenticators, own: cfg.Own, static: cfg.Static, exact: cfg.Exact, storage: cfg.Explain, inner: cfg.Inner, proxies: cfg.TrustedProxies,
		deadline: cfg.Deadline, metrics: m, rules: rules,
		public: map[string]bool{}, methods: map[string]*method{},
		calls:   newLimiter("calls", cfg.Limits.PerMinute, cfg.Limits.Burst),
		batches: newLimiter("batches", cfg.Limits.BatchPerMinute, cfg.Limits.BatchPerMinute),
		tokens:  newLimiter("calls", cfg.Limits.TokenPerMinute, cfg.Limits.TokenBurst),
		awaited: &awaited{by: map[string]int{}}, decoding: semaphore.NewWeighted(decodingBytes),
	}
	if c.clock == nil {
		c.clock = clock.System
	}
	if c.arrival = cfg.Arrival; c.arrival <= 0 {
		c.arrival = MaxArrival
	}
	if c.deadline <= 0 {
		c.deadline = DefaultDeadline
	}
	for _, s := range cfg.Public {
		c.public[s] = true
	}
	return c, nil
}
