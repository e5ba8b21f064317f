package server

import (
	"context"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"buf.build/go/protovalidate"
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/gen/site"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	adminapi "latchkey.dev/internal/api/admin"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/connectrpc"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/inproc"
	partnerapi "latchkey.dev/internal/api/partner"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/api/rest"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bridgelink"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/openid"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/pms"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/watch"
	"latchkey.dev/internal/worker"
)

// parts are the running parts of a server, which wire creates and connects.
type parts struct {
	node         *bridgelink.Node // node has the streams of connected bridges
	ca           *bridge.CA
	reservations reservation.Service
	registry     *partner.Registry
	pms          *pms.Client
	spaces       *worker.Spaces
	readings     worker.Readings
	days         worker.Days
	mails        worker.Mails
	invitations  worker.Invitations
	mailServers  *pms.Rules
	dispatcher   *worker.Dispatcher
	arrivals     worker.Arrivals
	announcer    *worker.Announcer
	smartKeys    *worker.SmartKeys
	webhooks     worker.Webhooks
	partnerAPI   *partnerapi.Service
	feed         *conversation.Feed // feed notifies streams of new messages in conversations
	changes      *watch.Feed        // changes notifies open pages of staff of changes that they show
	checkIns     *checkin.Service
	failures     *staff.Failures // failures records failed sign-ins
	identities   *openid.Provider
	provider     propertyv1.IdentityServiceServer // provider is the service from which pages read the identity provider
	answers      *idem.Answers
	validator    protovalidate.Validator
	chain        *chain.Chain
	grpc         *grpc.Server
	bridges      *grpc.Server
	local        *inproc.Conn // local calls the API inside the process, for REST and the pages
	connect      *connectrpc.Handler
	rest         *rest.Handler
	docs         *rest.Docs
	web          http.Handler
	http         []*http.Server
	health       *health.Server
	ready        atomic.Bool
	background   map[string]func(context.Context) error
}

// wire creates the parts of the server and connects them. It also creates the CA of the bridges at the first start. On SQLite it marks all
// bridges as offline: a crashed server can have left them online.
func (s *Server) wire(ctx context.Context) (*parts, error) {
	p := &parts{reservations: reservation.Service{Keys: s.keys, Keep: s.cfg.KeepStays}, registry: partner.New(s.db, s.keys, s.clock), health: health.NewServer(), background: map[string]func(context.Context) error{}}
	err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
		if p.ca, err = bridge.LoadOrCreateCA(tx, s.keys); err != nil || !s.db.SQLite() {
			return err
		}
		return bridge.MarkAllOffline(tx)
	})
	if err != nil {
		return nil, err
	}
	p.node = bridgelink.New(bridgelink.Config{
		DB: s.db, Keys: s.keys, CA: p.ca, Bus: s.bus, Logger: s.log,
		OnEvidence: func(tx *db.Tx, reported []lock.EvidenceChange) error {
			return code.ApplyEvidence(access.Reconciler{Tx: tx, Keys: s.keys}, reported)
		},
		OnCapabilities: func(tx *db.Tx, propertyID string, doors []string) error {
			touched, err := space.StaysAtDoors(tx, propertyID, doors...)
			if err != nil {
				return err
			}
			return p.reservations.Replan(tx, propertyID, touched)
		},
		Metrics: s.metrics, Clock: s.clock,
		Name: s.name, Intervals: s.nodePace,
	})
	p.background["bridge link"] = p.node.Run
	if err := s.wireMail(p); err != nil {
		return nil, err
	}
	if p.identities, err = s.identityProvider(); err != nil {
		return nil, err
	}
	s.wireEvents(p)
	s.db.Subscribe(bridge.Changed, p.node.Notify)
	s.db.Subscribe(event.Appended, p.announcer.Notify)
	s.db.Subscribe(access.Changed, p.smartKeys.Notify)
	p.feed = conversation.NewFeed()
	conversations := worker.Conversations{Bus: s.bus, Feed: p.feed}
	s.db.Subscribe(conversation.Changed, conversations.Notify)
	p.background["conversations"] = conversations.Run
	s.wireWatch(p)
	p.failures = staff.NewFailures(s.db, s.keys, s.log)
	p.background["failed sign-ins"] = p.failures.Run
	if err := s.wirePartners(p); err != nil {
		return nil, err
	}
	if err := s.wireAPI(p); err != nil {
		return nil, err
	}
	p.setServing(false)
	s.wireWork(p)
	return p, nil
}

// wireWatch creates the feed that notifies open pages of staff, on all nodes, of each change that they show.
func (s *Server) wireWatch(p *parts) {
	p.changes = watch.NewFeed()
	between := s.bus
	if s.db.SQLite() {
		between = nil // there is one node
	}
	changes := worker.NewWatch(between, p.changes)
	s.db.Subscribe(watch.Changed, changes.Notify)
	p.background["watch"] = changes.Run
}

// startWait is how long the check-in page waits, after a guest has pressed the last button, for the PMS to start the stay. Then it asks the
// guest to wait.
const startWait = time.Second

// wirePartners creates the client that calls partners' endpoints, and the parts that use it: reading of spaces, and check-in.
func (s *Server) wirePartners(p *parts) error {
	rules, err := partnerRules(s.cfg)
	if err != nil {
		return err
	}
	if p.pms, err = pms.New(pms.Options{Rules: rules, Log: s.log, Clock: s.clock}); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { p.pms.Close(); return nil })
	p.spaces = &worker.Spaces{
		DB: s.db, Directory: p.registry, Mappings: space.Mappings{Affected: reservation.Affected}, Replan: p.reservations.Replan, Log: s.log,
		Fetch: func(ctx context.Context, e partner.Endpoint, secrets []string, urgent bool) (all []space.Listed, err error) {
			t := pms.TargetOf(e, secrets)
			t.Urgent = urgent || e.Health.State() == partner.Unknown
			err = s.observePartner(ctx, t, func(ctx context.Context) error {
				all, err = p.pms.Listed(ctx, t)
				return err
			})
			return all, err
		},
	}
	s.closers = append(s.closers, func() error { p.spaces.Close(); return nil })
	p.readings = worker.Readings{Spaces: p.spaces, Jobs: s.jobs}
	p.days = worker.Days{DB: s.db, Reservations: p.reservations, Jobs: s.jobs}
	p.checkIns = &checkin.Service{DB: s.db, Keys: s.keys, PMS: s.pmsOf(p), Queue: s.jobs, Log: s.log, Starts: &checkin.Starts{Wait: startWait}}
	s.db.Subscribe(reservation.Started, p.checkIns.Starts.Notify)
	return nil
}

// tester returns the [partner.Tester], which tests endpoints of partners by real calls.
func (s *Server) tester(p *parts) partner.Tester {
	return partner.Tester{DB: s.db, Registry: p.registry, Call: s.probe}
}

// probe calls a partner's endpoint once to test it. A failed test is in the result, and not an error. The error is for an action that has
// no test.
func (s *Server) probe(ctx context.Context, e partner.Endpoint, secrets []string) (partner.Probed, error) {
	t := pms.TargetOf(e, secrets)
	var r pms.Report
	err := s.observeCall(ctx, "partner "+e.Action+" :test", t, func(ctx context.Context) (err error) {
		r, err = s.parts.pms.Probe(ctx, t)
		return err
	})
	if err != nil {
		return partner.Probed{}, err
	}
	var failures []partner.Failure
	texts := r.Texts()
	for i, english := range r.Problems() {
		failures = append(failures, partner.Failure{Text: english, Problem: texts[i]})
	}
	return partner.Probed{OK: r.OK, Status: r.Status, Latency: r.Latency, Failures: failures, Reason: r.Reason, Message: r.PartnerMsg}, nil
}

// wireAPI creates the API services and registers them with gRPC, REST and Connect, except enrolment and reflection, which only gRPC has. It
// also creates the handlers of the docs and of the web pages.
func (s *Server) wireAPI(p *parts) (err error) {
	p.answers = &idem.Answers{DB: s.db, Keys: s.keys, Render: map[string]idem.Renderer{}, StripPersonal: map[string]func(proto.Message){}}
	p.validator = protovalidate.GlobalValidator // one for the process, because it compiles the rules of each message once
	p.chain, err = chain.New(chain.Config{
		Logger: s.log, Registerer: s.metrics, Clock: s.clock, Validator: p.validator,
		Authenticators: s.authenticators(p),
		Public:         []string{healthv1.Health_ServiceDesc.ServiceName, reflectionv1.ServerReflection_ServiceDesc.ServiceName},
		HandlerFields:  handlerFields(),
		Static:         p.staticValidation(),
		StrictPackages: []string{"latchkey.property.v1", "latchkey.admin.v1"},
		Explain:        db.Explain,
		Audit: func(ctx context.Context, r audit.Record) error {
			return s.db.Write(ctx, func(tx *db.Tx) error { return audit.Append(tx, s.keys, r) })
		},
		Inner:          s.inner(p),
		TrustedProxies: s.cfg.TrustedProxies, Deadline: s.cfg.CallDeadline,
		Limits: chain.Limits{
			PerMinute: s.cfg.Rate.PerMinute, Burst: s.cfg.Rate.Burst, BatchPerMinute: s.cfg.Rate.BatchPerMinute,
			TokenPerMinute: s.cfg.Rate.StaffPerMinute, TokenBurst: s.cfg.Rate.StaffBurst,
		},
	})
	if err != nil {
		return err
	}
	p.grpc = grpc.NewServer(s.grpcOptions(p.chain)...)
	p.local = inproc.New(p.chain.Unary, p.chain.Stream)
	p.connect = connectrpc.New(p.chain)
	p.bridges = grpc.NewServer(bridgelink.ServerOptions(bridgelink.TLSConfig(p.ca, s.clock))...)
	p.node.Register(p.bridges)

	all := p.chain.Registrar(p.grpc, p.local, p.connect)
	s.registerPartner(p, all)
	s.registerStaffAndAdmin(p, all)
	s.registerGuest(p, all)
	healthv1.RegisterHealthServer(all, p.health)
	enrolment := &bridgelink.Enrolment{DB: s.db, Keys: s.keys, CA: p.ca, Address: s.advertisedBridgeAddr}
	direct := p.chain.Registrar(p.grpc)
	lockv1.RegisterEnrolmentServiceServer(direct, enrolment)
	// The proto descriptors are public, so reflection reveals nothing.
	reflectionv1.RegisterServerReflectionServer(direct, reflection.NewServerV1(reflection.ServerOptions{Services: p.grpc}))
	if err := all.Err(); err != nil {
		return err
	}
	if err := direct.Err(); err != nil {
		return err
	}
	if p.docs, err = rest.NewDocs(site.Files); err != nil {
		return err
	}
	if p.web, err = s.webHandler(p); err != nil {
		return err
	}
	p.rest, err = s.restHandler(p)
	return err
}

// handlerFields returns the request fields that handlers validate themselves, by the name of the RPC, because their rules depend on
// stored data.
func handlerFields() map[string]chain.HandlerField {
	fields := partnerapi.HandlerFields()
	maps.Copy(fields, propertyapi.HandlerFields())
	maps.Copy(fields, adminapi.HandlerFields())
	return fields
}

// staticValidation returns the functions that validate requests without stored data, by the name of the RPC.
func (p *parts) staticValidation() map[string]func(proto.Message) []fault.Field {
	static := partnerapi.Static(p.pms.CheckURL)
	maps.Copy(static, propertyapi.Static())
	return static
}

// inner returns the interceptor that runs directly before the handlers. It traces each call, and returns the stored answer to a call that
// repeats an Idempotency-Key. It runs Options.Around, if set, inside, so not for a stored answer.
func (s *Server) inner(p *parts) chain.Interceptor {
	return func(ctx context.Context, call *chain.Call, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if s.around != nil {
			handler := next
			next = func(ctx context.Context, req any) (any, error) { return s.around(ctx, req, info, handler) }
		}
		ctx, end := s.span(ctx, info.FullMethod, attribute.String("rpc.system", "grpc"))
		answer, err := p.answers.Unary(ctx, call, req, info, next)
		end(err)
		return answer, err
	}
}
