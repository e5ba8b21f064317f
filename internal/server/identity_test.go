package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/oidctest"
)

// The server starts while its identity provider is down, and does not start without the client's secret.
func TestServerWithAnIdentityProvider(t *testing.T) {
	at := oidctest.New(t, oidctest.Hooks{})
	at.Close()
	c := settings(t, "")
	c.OIDC = config.OIDC{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecretFile: filepath.Join(t.TempDir(), "secret")}
	refused := func(what string) {
		t.Helper()
		s, err := server.New(t.Context(), c, server.Options{Logger: logger(t)})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "--oidc-client-secret-file") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("no file")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(c.OIDC.ClientSecretFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("\n")
	refused("an empty file")
	write(oidctest.ClientSecret + "\n")
	open(t, c, server.Options{})
}
