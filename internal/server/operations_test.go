package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"latchkey.dev/internal/server"
)

// ask asks the operations listener under a name and with a token, and returns the status.
func ask(t *testing.T, n *node, path, host, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.OpsAddr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	if host != "" {
		req.Host = host
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// A page in a browser on the server's machine can lead a name of its own to 127.0.0.1.
func TestOperationsOnLoopbackAnswerToLoopbackNamesAlone(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	for host, want := range map[string]int{
		"": 200, "localhost": 200, "LOCALHOST:7099": 200, "127.0.0.1:1": 200, "[::1]:7099": 200,
		"evil.example": 421, "evil.example:7099": 421, "127.0.0.1.evil.example": 421, "192.0.2.1": 421,
	} {
		for _, path := range []string{"/metrics", "/livez"} {
			if got := ask(t, n, path, host, ""); got != want {
				t.Errorf("%s as %q: %d, want %d", path, host, got, want)
			}
		}
	}
	if got := ask(t, n, "/debug/pprof/", "", ""); got != http.StatusNotFound {
		t.Errorf("profiles without --profiles: %d", got)
	}
}

func TestOperationsAskForTheirToken(t *testing.T) {
	token := strings.Repeat("a1", 20)
	c := settings(t, "")
	c.OpsTokenFile, c.Profiles, c.Insecure = filepath.Join(t.TempDir(), "token"), true, true
	c.Listen.Ops = "0.0.0.0:0"
	if err := os.WriteFile(c.OpsTokenFile, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := server.New(t.Context(), c, server.Options{Logger: logger(t)}); err == nil {
		_ = s.Close()
		t.Error("a short token is taken")
	}
	if err := os.WriteFile(c.OpsTokenFile, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := open(t, c, server.Options{})
	for shown, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer " + token[1:]: 401, "Basic " + token: 401, "Bearer " + token: 200, "bearer " + token: 200,
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/"} {
			if got := ask(t, n, path, "node1.example", shown); got != want {
				t.Errorf("%s with %q: %d, want %d", path, shown, got, want)
			}
		}
		if got := ask(t, n, "/livez", "node1.example", shown); got != http.StatusOK {
			t.Errorf("/livez with %q: %d, want it to need no token", shown, got)
		}
		if got := ask(t, n, "/readyz", "node1.example", shown); (got == http.StatusUnauthorized) != (want == http.StatusUnauthorized) {
			t.Errorf("/readyz with %q: %d", shown, got)
		}
	}
}

// latchkey health asks over the operators' socket, which needs neither address nor token.
func TestHealthOverTheSocket(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	until(t, watch(t, n.GRPCAddr(), ""), healthv1.HealthCheckResponse_SERVING)
	if res, text := overSocket(t, n, http.MethodGet, "/readyz", ""); res.StatusCode != http.StatusOK || text != "ready\n" {
		t.Errorf("/readyz: %d %q", res.StatusCode, text)
	}
	if res, _ := overSocket(t, n, http.MethodGet, "/metrics", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("/metrics: %d", res.StatusCode)
	}
}
