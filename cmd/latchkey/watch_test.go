package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// deadlines reports of each stream that a client opens whether it has a deadline, and ends the stream.
type deadlines struct {
	propertyv1.UnimplementedEventServiceServer
	propertyv1.UnimplementedMessageServiceServer
	has chan bool
}

func (e *deadlines) Watch(_ *propertyv1.WatchRequest, stream grpc.ServerStreamingServer[propertyv1.WatchResponse]) error {
	_, has := stream.Context().Deadline()
	e.has <- has
	return nil
}

func (e *deadlines) WatchConversations(_ *propertyv1.WatchConversationsRequest, stream grpc.ServerStreamingServer[propertyv1.WatchConversationsResponse]) error {
	_, has := stream.Context().Deadline()
	e.has <- has
	return nil
}

// A command that watches runs until the user ends it.
func TestWatchHasNoDeadline(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := &deadlines{has: make(chan bool, 1)}
	server := grpc.NewServer()
	propertyv1.RegisterEventServiceServer(server, served)
	propertyv1.RegisterMessageServiceServer(server, served)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	for _, command := range []string{"watch", "message watch"} {
		var out, errs bytes.Buffer
		args := append(strings.Fields(command), "--server", listener.Addr().String(), "--token", "lkp_test")
		if code := start(t.Context(), args, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%s ends with %d: %s", command, code, errs.String())
		}
		if <-served.has {
			t.Errorf("%s has a deadline", command)
		}
	}
}
