package chain_test

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
)

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestViolationsAreBounded sends requests with so many violations that listing all would take hundreds of megabytes.
func TestViolationsAreBounded(t *testing.T) {
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator,
		HandlerFields: map[string]chain.HandlerField{partnerv1.ReservationService_BatchUpsertReservations_FullMethodName: chain.NewHandlerField("reservations", (*service).batch)},
		Authenticators: map[string]chain.Authenticator{
			"latchkey.partner.v1": partnerOnly,
			"latchkey.property.v1": func(context.Context, chain.Credentials) (actor.Actor, error) {
				return actor.Actor{Kind: actor.Staff, Role: "owner"}, nil
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	reg := c.Registrar(grpc.NewServer())
	partnerv1.RegisterReservationServiceServer(reg, &service{})
	propertyv1.RegisterSpaceServiceServer(reg, propertyv1.UnimplementedSpaceServiceServer{})
	propertyv1.RegisterNoticeServiceServer(reg, propertyv1.UnimplementedNoticeServiceServer{})
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	spaces := func(n int) *propertyv1.BatchCreateSpacesRequest {
		r := &propertyv1.BatchCreateSpacesRequest{}
		for range n {
			r.Spaces = append(r.Spaces, &propertyv1.NewSpace{})
		}
		return r
	}
	tooMany := &partnerv1.Reservation{PmsMeta: &partnerv1.PmsMeta{CompanionIds: make([]string, 101)}}
	for _, step := range []struct {
		name, method string
		req          proto.Message
		fields       int
		first        string
		most         uint64
	}{
		{"far too many spaces", propertyv1.SpaceService_BatchCreateSpaces_FullMethodName, spaces(300_000), 1, "spaces tooMany", 200 << 10},
		{"too many words", propertyv1.NoticeService_MarkNoticesRead_FullMethodName, &propertyv1.MarkNoticesReadRequest{Ids: make([]string, 300_000)}, 1, "ids tooMany", 200 << 10},
		{"as many spaces as may be, all wrong", propertyv1.SpaceService_BatchCreateSpaces_FullMethodName, spaces(500), 200, "spaces[0].", 700 << 10},
		{
			"a list that the handler judges, and another", partnerv1.ReservationService_BatchUpsertReservations_FullMethodName,
			&partnerv1.BatchUpsertReservationsRequest{Reservations: slices.Repeat([]*partnerv1.Reservation{tooMany}, 101)}, 1, "reservations tooMany", 100 << 10,
		},
	} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("access-token", "at"))
		call := func() error {
			_, err := c.Unary(ctx, step.req, &grpc.UnaryServerInfo{FullMethod: step.method}, func(context.Context, any) (any, error) { return nil, nil })
			return err
		}
		_ = call() // rules are compiled once
		used := allocated(func() { err = call() })
		code, _, fields, _ := statusParts(err)
		if code != codes.InvalidArgument || len(fields) != step.fields || !strings.HasPrefix(fields[0], step.first) {
			t.Errorf("%s: %v, %d fields: %.300q", step.name, code, len(fields), fields)
		}
		if used > step.most {
			t.Errorf("%s: %d bytes were allocated", step.name, used)
		}
	}
}
