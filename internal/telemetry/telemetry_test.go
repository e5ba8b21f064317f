package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
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

func TestLoggerHidesSecretsByTheirShape(t *testing.T) {
	const token = "lka_abcdefghijklmnopqrstuvwxyz234567abcdef"
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log, err := Logger(&out, "info", format)
		if err != nil {
			t.Fatal(err)
		}
		called := &url.Error{Op: "Get", URL: "https://pms.example/spaces?page=2&token=hunter2&x=1", Err: io.EOF}
		address, err := url.Parse("postgres://user:hunter2@host/name")
		if err != nil {
			t.Fatal(err)
		}
		log.Info("refused "+token, "got", token+" here", "error", fmt.Errorf("read: %w", called), "database", address)
		log.With("key", "lkkek_hunter2hunter2").WithGroup("g").Info("x", "u", "nats://a:hunter2@b")
		got := out.String()
		for _, secret := range []string{token, "hunter2"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s: the log holds %q: %s", format, secret, got)
			}
		}
		for _, kept := range []string{"page=2", "x=1", "@host/name", "@b", "lka_", "EOF"} {
			if !strings.Contains(got, kept) {
				t.Errorf("%s: the log lost %q: %s", format, kept, got)
			}
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	for _, text := range []string{"lck_01JD", "talk_about it", "lk", "a@b", "what? ever & more", "lock lkx_1", "http://127.0.0.1:7080/v1?page=1"} {
		if got := scrub(text); got != text {
			t.Errorf("scrub(%q) = %q", text, got)
		}
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
