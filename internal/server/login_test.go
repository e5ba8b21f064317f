package server_test

import (
	"net/http"
	"testing"

	"latchkey.dev/internal/server"
)

// Views of the sign-in page take nothing from the calls that an address has without a credential.
func TestLoginPageIsNoCall(t *testing.T) {
	c := settings(t, "")
	c.Rate.PerMinute, c.Rate.Burst = 1, 2
	n := open(t, c, server.Options{})
	for i, step := range []struct {
		path   string
		status int
	}{
		{"/app/login", 200}, {"/app/login", 200}, {"/app/login", 200},
		{"/v1/property/identityProvider", 200}, {"/v1/property/identityProvider", 200}, {"/v1/property/identityProvider", 429}, {"/app/login", 200},
	} {
		res, err := http.Get("http://" + n.HTTPAddr() + step.path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != step.status {
			t.Errorf("%d. %s: %d, want %d", i, step.path, res.StatusCode, step.status)
		}
	}
}
