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

// repeats streams a conversation again after its messages were read, and then with another message.
type repeats struct {
	propertyv1.UnimplementedMessageServiceServer
}

func (repeats) WatchConversations(_ *propertyv1.WatchConversationsRequest, stream grpc.ServerStreamingServer[propertyv1.WatchConversationsResponse]) error {
	for _, c := range []*propertyv1.Conversation{
		{GuestId: "gst_1", Unread: 1, Last: &propertyv1.Message{Number: 1, Text: "Is there parking?"}},
		{GuestId: "gst_1", Last: &propertyv1.Message{Number: 1, Text: "Is there parking?"}},
		{GuestId: "gst_2", Unread: 1, Last: &propertyv1.Message{Number: 1, Text: "Good morning"}},
		{GuestId: "gst_1", Unread: 1, Last: &propertyv1.Message{Number: 2, Text: "For two cars"}},
	} {
		if err := stream.Send(&propertyv1.WatchConversationsResponse{Data: c}); err != nil {
			return err
		}
	}
	return nil
}

// The command prints each message once, not again when it was read.
func TestWatchPrintsEachMessageOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	propertyv1.RegisterMessageServiceServer(server, repeats{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	var out, errs bytes.Buffer
	if code := start(t.Context(), []string{"message", "watch", "--server", listener.Addr().String(), "--token", "lkp_test"}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("the command ends with %d: %s", code, errs.String())
	}
	for _, text := range []string{"Is there parking?", "Good morning", "For two cars"} {
		if n := strings.Count(out.String(), text); n != 1 {
			t.Errorf("%q is printed %d times: %s", text, n, out.String())
		}
	}
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
