package chain_test

import (
	"context"
	"log/slog"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/jsonpb"
)

func TestRegistrarRefuses(t *testing.T) {
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator,
		HandlerFields: map[string]chain.HandlerField{lockv1.EnrolmentService_Enroll_FullMethodName: chain.NewHandlerField("join_code",
			func(*service, context.Context, *lockv1.EnrollRequest, *jsonpb.Report) (*lockv1.EnrollResponse, error) {
				return nil, nil
			})},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, register := range map[string]func(grpc.ServiceRegistrar){
		"an RPC without a rule":         func(r grpc.ServiceRegistrar) { grpc_health_v1.RegisterHealthServer(r, health.NewServer()) },
		"an area without authenticator": func(r grpc.ServiceRegistrar) { partnerv1.RegisterReservationServiceServer(r, &service{}) },
		"a handler of another service": func(r grpc.ServiceRegistrar) {
			lockv1.RegisterEnrolmentServiceServer(r, lockv1.UnimplementedEnrolmentServiceServer{})
		},
		"a service without a description": func(r grpc.ServiceRegistrar) { r.RegisterService(&grpc.ServiceDesc{ServiceName: "no.Such"}, nil) },
	} {
		reg := c.Registrar()
		if register(reg); reg.Err() == nil {
			t.Errorf("%s is registered", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := chain.New(chain.Config{}); err == nil {
		t.Error("a chain without a logger")
	}
	registry := prometheus.NewRegistry()
	if _, err := chain.New(chain.Config{Logger: slog.New(slog.DiscardHandler), Registerer: registry}); err == nil {
		t.Error("a chain without a validator")
	}
	cfg := chain.Config{Logger: slog.New(slog.DiscardHandler), Registerer: registry, Validator: protovalidate.GlobalValidator}
	if _, err := chain.New(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := chain.New(cfg); err == nil {
		t.Error("two chains count in one registry")
	}
}
