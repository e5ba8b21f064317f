// Package chain runs what all API calls share, over every protocol: request id, recovery from panics, access log, metrics, client address,
// deadline, authentication, rate limits, authorization, validation and error mapping. The gRPC server, the in-process connection for REST
// and the Connect handlers run the same chain.
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
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
)

// Limits of calls.
const (
	DefaultDeadline = 30 * time.Second // time limit of a unary call if Config.Deadline is not set
	MaxRequestBytes = 1 << 20          // size limit of a request in bytes after decompression, also of a REST body
	// MaxReceiveBytes is the largest message that gRPC and Connect receive. It is larger than MaxRequestBytes, so that the chain can refuse
	// a slightly too large message with a helpful error. gRPC itself refuses larger messages with only a status code.
	MaxReceiveBytes = MaxRequestBytes + MaxRequestBytes/4
)

// Authenticator turns the credentials of a call into an actor, or returns a fault of kind Unauthenticated. Each API area has its own
// authenticator and refuses the credentials of other areas.
type Authenticator func(ctx context.Context, c Credentials) (actor.Actor, error)

// Interceptor is a grpc.UnaryServerInterceptor that also gets the call.
type Interceptor func(ctx context.Context, call *Call, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error)

// Config configures a chain. Logger, Registerer and Validator are required.
type Config struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Validator  protovalidate.Validator
	Clock      clock.Clock // Clock is the system clock if nil

	// Authenticators maps a proto package (an API area), such as "latchkey.partner.v1", to its authenticator. Without one, methods that need
	// a credential cannot be registered.
	Authenticators map[string]Authenticator
	// Public lists services without credential and access rule, such as "grpc.health.v1.Health".
	Public []string
	// HandlerFields maps a full method name to the request field that the handler validates itself, because the validation needs stored
	// data.
	HandlerFields map[string]HandlerField
	// Static maps a full method name to additional validation that needs no stored data but that protovalidate rules cannot express. Its
	// violations are answered together with those of the rules.
	Static map[string]func(proto.Message) []fault.Field
	// StrictPackages lists the proto packages in which an unknown JSON field is an error. Other packages ignore unknown fields.
	StrictPackages []string
	// Audit stores the audit log entry of a call whose handler did not store one with its change, such as a refused call; optional.
	Audit func(ctx context.Context, r audit.Record) error
	// Explain converts a storage error without a fault to a fault; optional.
	Explain func(error) error
	// Inner runs after the chain, directly before unary handlers; optional.
	Inner Interceptor
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Deadline is the time limit of a unary call; zero: DefaultDeadline.
	Deadline time.Duration
	// ReceiveTimeout is the time limit for receiving the message of a unary gRPC call; zero: MaxReceiveTime.
	ReceiveTimeout time.Duration
	Limits         Limits
}

// Chain runs every call. It is safe for concurrent use once all services are registered.
type Chain struct {
	log            *slog.Logger
	clock          clock.Clock
	auth           map[string]Authenticator
	public         map[string]bool
	validator      protovalidate.Validator
	handlerFields  map[string]HandlerField
	static         map[string]func(proto.Message) []fault.Field
	strictPackages []string
	explainStorage func(error) error
	audit          func(ctx context.Context, r audit.Record) error
	inner          Interceptor
	proxies        []netip.Prefix
	deadline       time.Duration
	receiveTimeout time.Duration // time limit for receiving the message of a unary gRPC call; never 0
	calls          *limiter      // calls other than batches, per integration, or per address without a credential
	batches        *limiter      // batches, per integration, or per address without a credential
	tokens         *limiter      // all calls, batches included, of callers that are not integrations, per token
	arrivals       *arrivals
	decodeMemory   *semaphore.Weighted // decodeMemoryBytes, of which requests reserve parts
	metrics        *metrics
	methods        map[string]*method
}

// New creates a chain. It fails without Logger, Registerer or Validator, or if the metrics are already registered.
func New(cfg Config) (*Chain, error) {
	if cfg.Logger == nil || cfg.Registerer == nil || cfg.Validator == nil {
		return nil, errors.New("chain: Logger, Registerer and Validator are required")
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("chain: metrics: %w", err)
	}
	c := &Chain{
		log: cfg.Logger, clock: cfg.Clock, auth: cfg.Authenticators, validator: cfg.Validator, handlerFields: cfg.HandlerFields, static: cfg.Static, strictPackages: cfg.StrictPackages, explainStorage: cfg.Explain, audit: cfg.Audit, inner: cfg.Inner, proxies: cfg.TrustedProxies,
		deadline: cfg.Deadline, metrics: m,
		public: map[string]bool{}, methods: map[string]*method{},
		calls:    newLimiter("calls", cfg.Limits.PerMinute, cfg.Limits.Burst),
		batches:  newLimiter("batches", cfg.Limits.BatchPerMinute, cfg.Limits.BatchPerMinute),
		tokens:   newLimiter("calls", cfg.Limits.TokenPerMinute, cfg.Limits.TokenBurst),
		arrivals: &arrivals{bySender: map[string]arriving{}}, decodeMemory: semaphore.NewWeighted(decodeMemoryBytes),
	}
	if c.clock == nil {
		c.clock = clock.System
	}
	if c.receiveTimeout = cfg.ReceiveTimeout; c.receiveTimeout <= 0 {
		c.receiveTimeout = MaxReceiveTime
	}
	if c.deadline <= 0 {
		c.deadline = DefaultDeadline
	}
	for _, s := range cfg.Public {
		c.public[s] = true
	}
	return c, nil
}
