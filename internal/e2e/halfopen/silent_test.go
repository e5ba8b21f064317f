package halfopen

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"latchkey.dev/internal/e2e/e2etest"
)

// over is when connections that say nothing must be closed, and messages that stop must be answered.
const over = time.Minute

// TestSilenceEndsWithinAMinute opens connections that say nothing, or begin and stop, at each public listener.
func TestSilenceEndsWithinAMinute(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	preface := []byte(http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00") // and empty SETTINGS
	silent := map[string]struct {
		address string
		say     []byte
	}{
		"HTTP, nothing":              {w.Server.HTTPAddr(), nil},
		"HTTP, half a header":        {w.Server.HTTPAddr(), []byte("GET / HTTP/1.1\r\nHost")},
		"HTTP/2, the preface":        {w.Server.HTTPAddr(), preface},
		"gRPC, nothing":              {w.Server.GRPCAddr(), nil},
		"gRPC, the preface":          {w.Server.GRPCAddr(), preface},
		"bridges, nothing":           {w.Server.BridgeAddr(), nil},
		"operations, nothing":        {w.Server.OpsAddr(), nil},
		"gRPC, a message that stops": {w.Server.GRPCAddr(), append(bytes.Clone(preface), unfinished(t)...)},
	}
	var all sync.WaitGroup
	for name, c := range silent {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write(c.say); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := conn.SetReadDeadline(time.Now().Add(over + 10*time.Second)); err != nil {
				t.Error(err)
			}
			if !ends(conn) {
				t.Errorf("%s: after %v it is still open", name, over)
			}
		})
	}
	all.Wait()
}

// unfinished are the frames of a call whose message is begun and never finished.
func unfinished(t *testing.T) []byte {
	t.Helper()
	var header, frames bytes.Buffer
	fields := hpack.NewEncoder(&header)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/latchkey.lock.v1.EnrolmentService/Enroll"}, {":authority", "localhost"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	fr := http2.NewFramer(&frames, nil)
	if err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header.Bytes(), EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	if err := fr.WriteData(1, false, append([]byte{0, 0, 8, 0, 0}, make([]byte, 1000)...)); err != nil {
		t.Fatal(err)
	}
	return frames.Bytes()
}

// ends reads what a connection sends, answers its pings as a living client does, and reports whether it is closed or its call
// is answered.
func ends(conn net.Conn) bool {
	fr := http2.NewFramer(conn, conn)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
		switch f := f.(type) {
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = fr.WritePing(true, f.Data)
			}
		case *http2.HeadersFrame:
			return true
		}
	}
}
