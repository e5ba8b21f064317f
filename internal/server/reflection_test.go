package server_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/server"
)

// Tools find out without a credential what the public gRPC listener offers, and no other listener tells.
func TestTheGRPCListenerSaysWhatItOffers(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	ask := func(address string, r *reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error) {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		st, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		if err != nil {
			return nil, err
		}
		if err := st.Send(r); err != nil {
			return nil, err
		}
		return st.Recv()
	}
	all := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
	out, err := ask(n.GRPCAddr(), all)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range out.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	if !slices.Contains(names, "latchkey.partner.v1.ReservationService") || slices.Contains(names, "latchkey.lock.v1.BridgeService") {
		t.Errorf("it offers %v", names)
	}
	out, err = ask(n.GRPCAddr(), &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "latchkey.partner.v1.ReservationService"}})
	if err != nil || len(out.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("%v, %v", out, err)
	}
	if _, err := ask(n.HTTPAddr(), all); status.Code(err) == codes.OK {
		t.Error("the HTTP listener tells")
	}
	if _, err := ask(n.BridgeAddr(), all); status.Code(err) == codes.OK {
		t.Error("the bridges' listener tells")
	}
}
