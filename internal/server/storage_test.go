package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/server"
)

// overSocket calls a server as its operator does.
func overSocket(t *testing.T, n *node, method, path, body string) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", n.SocketPath())
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://socket"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// On a full disk changes are refused as unavailable, the node says so, and reads go on.
func TestFullDisk(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	socket, works := operatorOf(t, n)
	writer, _ := n.Database().JobPools()
	limit := func(pages string) {
		t.Helper()
		if _, err := writer.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("1") // SQLite takes it as the pages that are in use
	create := func(i int) (*http.Response, string) {
		return overSocket(t, n, http.MethodPost, "/v1/admin/apps", fmt.Sprintf(`{"name": "App %d"}`, i))
	}
	i := 0
	res, text := create(i)
	for ; res.StatusCode == http.StatusOK && i < 500; i++ { // the pages in use have room for some rows
		res, text = create(i + 1)
	}
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(text, "no space left") {
		t.Errorf("a change: %d, Retry-After %q, %s", res.StatusCode, res.Header.Get("Retry-After"), text)
	}
	if res, text := overSocket(t, n, http.MethodGet, "/v1/admin/apps", ""); res.StatusCode != http.StatusOK {
		t.Errorf("a read: %d %s", res.StatusCode, text)
	}
	if _, err := propertyv1.NewLockServiceClient(socket).ListLocks(works, &propertyv1.ListLocksRequest{}); err != nil {
		t.Errorf("a read of the property by its operator: %v", err)
	}
	if code, text := get(t, "http://"+n.OpsAddr()+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "no space left") {
		t.Errorf("/readyz: %d %q", code, text)
	}
	limit("1000000")
	if res, text := create(i + 1); res.StatusCode != http.StatusOK {
		t.Errorf("a change with room again: %d %s", res.StatusCode, text)
	}
	eventually(t, "the node is ready again", func() bool {
		code, _ := get(t, "http://"+n.OpsAddr()+"/readyz")
		return code == http.StatusOK
	})
}
