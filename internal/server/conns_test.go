package server_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/server"
)

// TestConnectionsOfAnAddressAreBounded opens more unused connections than one address may hold, at every listener. A new one takes the place
// of the oldest.
func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	c := settings(t, "")
	c.ConnectionsPerAddress = 8
	metrics := prometheus.NewRegistry()
	n := open(t, c, server.Options{Metrics: metrics})
	for name, listener := range map[string]struct{ address, begin string }{
		"http": {n.HTTPAddr(), "GET /docs HTTP/1.1\r\n"}, "ops": {n.OpsAddr(), "GET /livez HTTP/1.1\r\n"}, "bridge": {n.BridgeAddr(), "\x16\x03\x01"}, "grpc": {n.GRPCAddr(), ""},
	} {
		var held []net.Conn
		for range 9 {
			conn := dialFrom(t, "127.0.0.5", listener.address)
			_, _ = io.WriteString(conn, listener.begin)
			held = append(held, conn)
		}
		if err := held[0].SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, held[0]); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the oldest connection is still open", name)
		}
		if got := counted(t, metrics, name); got != 1 {
			t.Errorf("%s: %v connections were counted as refused", name, got)
		}
	}
	get := func(from string) *http.Response {
		conn := dialFrom(t, from, n.HTTPAddr())
		_, _ = io.WriteString(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	for _, from := range []string{"127.0.0.5", "127.0.0.6"} {
		if res := get(from); res.StatusCode != http.StatusOK || res.Header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: %d %v", from, res.StatusCode, res.Header)
		}
	}
	secure := tls.Client(dialFrom(t, "127.0.0.5", n.BridgeAddr()), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err := secure.HandshakeContext(t.Context()); err != nil {
		t.Errorf("the handshake of a bridge: %v", err)
	}
}

// A connection with a request, over HTTP/1 and HTTP/2, does not make room for another.
func TestUsedConnectionsMakeNoRoom(t *testing.T) {
	const most = 8
	c := settings(t, "")
	c.ConnectionsPerAddress = most
	n := open(t, c, server.Options{})
	for from, h2 := range map[string]bool{"127.0.0.5": false, "127.0.0.6": true} {
		done := make(chan error, most)
		var held []*io.PipeWriter
		for range most {
			tr := &http.Transport{
				Protocols: new(http.Protocols), DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext, ExpectContinueTimeout: time.Minute,
			}
			tr.Protocols.SetHTTP1(!h2)
			tr.Protocols.SetUnencryptedHTTP2(h2)
			t.Cleanup(tr.CloseIdleConnections)
			body, rest := io.Pipe()
			held = append(held, rest)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.HTTPAddr()+"/app/nothing", body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Expect", "100-continue") // so the form is sent when the server reads it
			go func() {
				res, err := tr.RoundTrip(req)
				if err == nil {
					_ = res.Body.Close()
				}
				done <- err
			}()
			_, _ = io.WriteString(rest, "a=b")
		}
		if _, err := dialFrom(t, from, n.HTTPAddr()).Read(make([]byte, 1)); err == nil {
			t.Errorf("HTTP/2 %v: another connection was accepted", h2)
		}
		for _, rest := range held {
			_ = rest.Close()
			if err := <-done; err != nil {
				t.Errorf("HTTP/2 %v: a request was cut: %v", h2, err)
			}
		}
	}
}

// dialFrom opens a connection from a local address, which the end of the test closes.
func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func counted(t *testing.T, from prometheus.Gatherer, listener string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "latchkey_connections_refused_total" && m.GetLabel()[0].GetValue() == listener {
				return m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

func TestHTTPSSetsStrictTransportSecurity(t *testing.T) {
	c := settings(t, "")
	c.TLS.Cert, c.TLS.Key = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	certify(t, c.TLS.Cert, c.TLS.Key, 1, time.Now())
	n := open(t, c, server.Options{})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/docs", "/v1/spaces"} {
		res, err := client.Get("https://" + n.HTTPAddr() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := res.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("%s: %q", path, got)
		}
	}
}
