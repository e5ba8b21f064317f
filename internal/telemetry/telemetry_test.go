package telemetry

import (
	"bytes"
	"strings"
	"testing"
)

func TestLoggerHidesSecrets(t *testing.T) {
	var out bytes.Buffer
	log, err := Logger(&out, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("a call", "pin", "739162", "access_token", "lka_x", "lock", "lck_1")
	log.Debug("not said")
	got := out.String()
	for _, secret := range []string{"739162", "lka_x", "not said"} {
		if strings.Contains(got, secret) {
			t.Errorf("the log holds %q: %s", secret, got)
		}
	}
	if !strings.Contains(got, "lck_1") {
		t.Errorf("the log lost what it may say: %s", got)
	}
}

func TestLoggerRefuses(t *testing.T) {
	for _, c := range [][2]string{{"loud", "text"}, {"info", "xml"}} {
		if _, err := Logger(&bytes.Buffer{}, c[0], c[1]); err == nil {
			t.Errorf("level %q, format %q were taken", c[0], c[1])
		}
	}
}

func TestRegistryHasTheProcess(t *testing.T) {
	families, err := Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "go_goroutines" {
			return
		}
	}
	t.Error("go_goroutines is missing")
}
