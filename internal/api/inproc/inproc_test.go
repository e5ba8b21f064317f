package inproc

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
)

type mark struct{}

type service struct {
	partnerv1.UnimplementedSpaceServiceServer
	ctx  context.Context
	fail error
}

func (s *service) ListSpaces(ctx context.Context, req *partnerv1.ListSpacesRequest) (*partnerv1.ListSpacesResponse, error) {
	s.ctx = ctx
	if err := grpc.SetHeader(ctx, metadata.Pairs("a", "1")); err != nil {
		return nil, err
	}
	if err := grpc.SetHeader(ctx, metadata.Pairs("b", "2")); err != nil {
		return nil, err
	}
	return &partnerv1.ListSpacesResponse{Data: &partnerv1.SpaceList{Total: req.GetPage().GetLimit()}}, s.fail
}

func TestInvoke(t *testing.T) {
	var passed []string
	s := &service{}
	c := New(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		passed = append(passed, info.FullMethod)
		return next(ctx, req)
	}, nil)
	partnerv1.RegisterSpaceServiceServer(c, s)
	ctx := metadata.AppendToOutgoingContext(context.WithValue(t.Context(), mark{}, "x"), "k", "v")
	var header metadata.MD
	resp, err := partnerv1.NewSpaceServiceClient(c).ListSpaces(ctx, &partnerv1.ListSpacesRequest{Page: &partnerv1.Page{Limit: 7}}, grpc.Header(&header))
	if err != nil || resp.GetData().GetTotal() != 7 {
		t.Fatalf("%v, %v", resp, err)
	}
	if diff := cmp.Diff([]string{"/latchkey.partner.v1.SpaceService/ListSpaces"}, passed); diff != "" {
		t.Error(diff)
	}
	in, _ := metadata.FromIncomingContext(s.ctx)
	out, _ := metadata.FromOutgoingContext(s.ctx)
	if s.ctx.Value(mark{}) != "x" || in.Get("k")[0] != "v" || out.Len() != 0 {
		t.Errorf("handler saw %v, in %v, out %v", s.ctx.Value(mark{}), in, out)
	}
	if diff := cmp.Diff(metadata.MD{"a": {"1"}, "b": {"2"}}, header); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"latchkey.partner.v1.SpaceService"}, c.Services()); diff != "" {
		t.Error(diff)
	}
}

func TestInvokeFails(t *testing.T) {
	s := &service{}
	c := New(nil, nil)
	partnerv1.RegisterSpaceServiceServer(c, s)
	const list = "/latchkey.partner.v1.SpaceService/ListSpaces"
	for _, step := range []struct {
		name, method string
		args, reply  proto.Message
		fail         error
		want         codes.Code
	}{
		{"unknown method", "/x/Y", &emptypb.Empty{}, &emptypb.Empty{}, nil, codes.Unimplemented},
		{"wrong request", list, &emptypb.Empty{}, &partnerv1.ListSpacesResponse{}, nil, codes.Internal},
		{"wrong answer", list, &partnerv1.ListSpacesRequest{}, &emptypb.Empty{}, nil, codes.Internal},
		{"status", list, &partnerv1.ListSpacesRequest{}, &partnerv1.ListSpacesResponse{}, status.Error(codes.NotFound, "no"), codes.NotFound},
		{"canceled", list, &partnerv1.ListSpacesRequest{}, &partnerv1.ListSpacesResponse{}, context.Canceled, codes.Canceled},
		{"plain", list, &partnerv1.ListSpacesRequest{}, &partnerv1.ListSpacesResponse{}, errors.New("x"), codes.Unknown},
	} {
		s.fail = step.fail
		if err := c.Invoke(t.Context(), step.method, step.args, step.reply); status.Code(err) != step.want {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if err := c.Invoke(t.Context(), list, "x", "y"); status.Code(err) != codes.Internal {
		t.Errorf("no messages: %v", err)
	}
	if _, err := c.NewStream(t.Context(), nil, list); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream: %v", err)
	}
}
