package server_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/server"
)

// TestConnectionsOfAnAddressAreBounded opens more silent connections than one address may hold, at every listener.
func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	c := settings(t, "")
	c.ConnectionsPerAddress = 8
	metrics := prometheus.NewRegistry()
	n := open(t, c, server.Options{Metrics: metrics})
	for name, address := range map[string]string{"http": n.HTTPAddr(), "grpc": n.GRPCAddr(), "bridge": n.BridgeAddr(), "ops": n.OpsAddr()} {
		dial := func(from string) net.Conn {
			conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		for range 8 {
			dial("127.0.0.5")
		}
		// The ninth is closed, or reset, before anything is said.
		if _, err := dial("127.0.0.5").Read(make([]byte, 1)); err == nil || name != "grpc" && err != io.EOF && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
		if got := counted(t, metrics, name); got != 1 {
			t.Errorf("%s: %v connections were counted as refused", name, got)
		}
	}
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.6")}}).DialContext}}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://" + n.HTTPAddr() + "/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("another address: %d %v", res.StatusCode, res.Header)
	}
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
