package agent

import (
	"context"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/lock/slot"
)

func findings(t *testing.T, dir string) map[string]Finding {
	t.Helper()
	out := map[string]Finding{}
	for _, f := range Examine(t.Context(), dir) {
		out[f.What] = f
		if !f.OK && f.Advice == "" {
			t.Errorf("%s: %s, and no advice", f.What, f.Detail)
		}
	}
	return out
}

func TestHealthOfARunningBridge(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(3, 0)
	k.snapshot(3, "front", r.desired("front", 1, 1, "048151"))
	k.observedAs(1, 1, "verified")
	var h Health
	waitFor(t, "the status", func() (err error) { h, err = AskHealth(t.Context(), r.dir); return err })
	if h.BridgeID != "brg_1" || h.Epoch != 3 || h.Since.IsZero() || h.Trouble != "" || h.ClockQuality != "synchronized" || h.CertificateUntil.IsZero() {
		t.Errorf("%+v", h)
	}
	if len(h.Locks) != 1 || !h.Locks[0].Online || h.Locks[0].Codes[slot.Verified] != 1 || *h.Locks[0].BatteryPercent != 100 {
		t.Errorf("%+v", h.Locks)
	}
	got := findings(t, r.dir)
	for _, what := range []string{"store", "key file", "session", "clock", "name", "reach"} {
		if !got[what].OK {
			t.Errorf("%s: %+v", what, got[what])
		}
	}
	k.end <- nil
	r.service.next()
	waitFor(t, "the end of the session", func() error {
		h, err := AskHealth(t.Context(), r.dir)
		if err == nil && (h.Epoch != 0 || h.Trouble == "") {
			return context.DeadlineExceeded
		}
		return err
	})
	if f := findings(t, r.dir)["session"]; f.OK || f.Advice == "" {
		t.Errorf("%+v", f)
	}
	r.stop()
	if _, err := AskHealth(t.Context(), r.dir); err != ErrNotRunning {
		t.Errorf("after its end: %v", err)
	}
}

func waitFor(t *testing.T, what string, try func() error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("gave up waiting for %s: %v", what, err)
		}
	}
}

func TestDoctorOfAStoppedBridge(t *testing.T) {
	r := enrolledRig(t, newService(t))
	got := findings(t, r.dir)
	for what, well := range map[string]bool{
		"store": true, "key file": true, "running": false, "certificate": false, // it ends within a day
		"name": true, "reach": true, "server's certificate": true,
	} {
		if f, ok := got[what]; !ok || f.OK != well {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

func TestDoctorGivesAdvice(t *testing.T) {
	r := enrolledRig(t, newService(t))
	other := newService(t)
	change := func(do func(*identity)) func(*testing.T) {
		return func(t *testing.T) {
			st, err := openStore(r.dir)
			if err != nil {
				t.Fatal(err)
			}
			id, err := st.identity()
			if err != nil {
				t.Fatal(err)
			}
			do(&id)
			if err := st.setIdentity(id); err != nil {
				t.Fatal(err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		spoil func(*testing.T)
		what  string
		word  string // of the advice
	}{
		{"another service", change(func(id *identity) { id.ConnectAddress = other.connect }), "server's certificate", "answers in its place"},
		{"a closed port", change(func(id *identity) { id.ConnectAddress = "127.0.0.1:1" }), "reach", "firewall"},
		{"an unknown name", change(func(id *identity) { id.ConnectAddress = "bridges.invalid:443" }), "name", "name server"},
		{"half an address", change(func(id *identity) { id.ConnectAddress = "nowhere" }), "server", "enrol again"},
		{"a certificate of long ago", change(func(id *identity) { id.Certificate = r.service.lasting(t, -100*24*time.Hour) }), "certificate", "more than 90 days"},
		{"a certificate of yesterday", change(func(id *identity) { id.Certificate = r.service.lasting(t, -time.Hour) }), "certificate", "renews it"},
		{"a loose key", func(t *testing.T) {
			if err := os.Chmod(filepath.Join(r.dir, keyFile), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "key file", "chmod 600"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spoil(t)
			if f := findings(t, r.dir)[tt.what]; f.OK || !strings.Contains(f.Advice, tt.word) {
				t.Errorf("%s: %+v, want advice about %q", tt.what, f, tt.word)
			}
		})
	}
	empty := t.TempDir()
	if f := findings(t, empty)["enrolment"]; f.OK || !strings.Contains(f.Advice, "enroll") {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) != 0 {
		t.Errorf("looking made %v, %v", left, err)
	}
	if f := findings(t, filepath.Join(empty, "nowhere"))["store"]; f.OK {
		t.Errorf("%+v", f)
	}
}

// lasting returns a bridge's certificate that ends after a given time.
func (s *service) lasting(t *testing.T, left time.Duration) []byte {
	t.Helper()
	life := s.life.Swap(int64(left))
	defer s.life.Store(life)
	return s.certify(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, s.key.Public()).Raw
}

func TestConnectionErrorsAreReadable(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`), "Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"},
		{status.Error(codes.Unavailable, "the server is leaving"), "the server is leaving"},
		{errRevoked, errRevoked.Error()},
	} {
		if got := rpcMessage(tt.err); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestDoctorTriesToWrite(t *testing.T) {
	dir := t.TempDir()
	if f := examineDisk(dir); !f.OK {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if f := examineDisk(filepath.Join(dir, "none")); f.OK || f.Advice == "" {
		t.Errorf("a place that takes nothing: %+v", f)
	}
}
