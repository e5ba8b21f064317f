package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/http2"

	"latchkey.dev/internal/server"
)

// TestUnfinishedPostsOfAnAddressAreBounded posts forms from one address and finishes none. A further post cuts the oldest off.
func TestUnfinishedPostsOfAnAddressAreBounded(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	post := func(from, path string) net.Conn {
		conn := dialFrom(t, from, n.HTTPAddr())
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\n", path)
		if begun, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || begun.StatusCode != http.StatusContinue {
			t.Fatalf("%s: %v, %v", path, begun, err) // the server reads the form now
		}
		return conn
	}
	status := func(conn net.Conn) int {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	var held []net.Conn
	for i := range 65 {
		held = append(held, post("127.0.0.5", []string{"/app/nothing", "/operator/nothing", "/g/nothing"}[i%3]))
	}
	if got := status(held[0]); got != http.StatusBadRequest {
		t.Errorf("the oldest post of too many: %d", got)
	}
	for i, conn := range append([]net.Conn{post("127.0.0.6", "/app/nothing")}, held[1:]...) {
		_, _ = io.WriteString(conn, "a=b&c=d")
		if got := status(conn); got != http.StatusNotFound {
			t.Errorf("post %d, which finishes: %d", i, got)
		}
	}
}

// TestStreamsOfAConnectionAreBounded reads the limits that the server announces over HTTP/2.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", n.HTTPAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	announced, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the first frame is %v", frame)
	}
	for id, want := range map[http2.SettingID]uint32{http2.SettingMaxConcurrentStreams: 100, http2.SettingInitialWindowSize: 128 << 10} {
		if got, _ := announced.Value(id); got != want {
			t.Errorf("%v is %d, want %d", id, got, want)
		}
	}
}
