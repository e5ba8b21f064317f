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

// TestUnfinishedPostsOfAnAddressAreBounded posts forms from one address and finishes none.
func TestUnfinishedPostsOfAnAddressAreBounded(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	post := func(from, path string) net.Conn {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", n.HTTPAddr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=b", path)
		return conn
	}
	status := func(conn net.Conn) int {
		_, _ = io.WriteString(conn, "&c=d")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	var held []net.Conn
	for i := range 64 {
		held = append(held, post("127.0.0.5", []string{"/app/nothing", "/operator/nothing", "/g/nothing"}[i%3]))
	}
	// The server counts them when it reads them, which can be a moment later.
	for tries := 0; status(post("127.0.0.5", "/app/nothing")) != http.StatusTooManyRequests; tries++ {
		if tries == 200 {
			t.Fatal("one post too many is read")
		}
	}
	if got := status(post("127.0.0.6", "/app/nothing")); got != http.StatusNotFound {
		t.Errorf("another address: %d", got)
	}
	for i, conn := range held[:3] {
		if got := status(conn); got != http.StatusNotFound {
			t.Errorf("post %d that finishes: %d", i, got)
		}
	}
	if got := status(post("127.0.0.5", "/app/nothing")); got != http.StatusNotFound {
		t.Errorf("the place of a finished post: %d", got)
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
