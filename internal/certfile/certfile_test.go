package certfile_test

import (
	"bytes"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/certfile"
	"latchkey.dev/internal/test/certtest"
)

// write writes a file with a modification time.
func write(t *testing.T, path string, content []byte, modified time.Time) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
}

func TestRenewal(t *testing.T) {
	certPath, keyPath := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if _, err := certfile.Open(certPath, keyPath, logger); err == nil {
		t.Error("missing files were opened")
	}
	start := time.Now().Truncate(time.Second)
	cert, key := certtest.Pair(t, 1)
	write(t, certPath, cert, start)
	write(t, keyPath, key, start)
	p, err := certfile.Open(certPath, keyPath, logger)
	if err != nil {
		t.Fatal(err)
	}
	renewed, renewedKey := certtest.Pair(t, 2)
	for i, step := range []struct {
		change       func()
		want         int64
		wantWarnings int
	}{
		{func() {}, 1, 0},
		{func() { write(t, certPath, []byte("half a file"), start.Add(time.Second)) }, 1, 1},
		{func() {}, 1, 1}, // the same error is logged once
		{func() { write(t, certPath, renewed, start.Add(2*time.Second)) }, 1, 2},      // its key is missing
		{func() { write(t, keyPath, renewedKey, start.Add(2*time.Second)) }, 2, 2},    // complete
		{func() { write(t, certPath, []byte("half"), start.Add(time.Minute)) }, 2, 3}, // the next renewal fails
		{func() { _ = os.Remove(certPath) }, 2, 4},
	} {
		step.change()
		got, err := p.Get(nil)
		if err != nil || got.Leaf.SerialNumber.Int64() != step.want {
			t.Errorf("step %d: certificate %v, %v, want %d", i, got.Leaf.SerialNumber, err, step.want)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != step.wantWarnings {
			t.Errorf("step %d: %d warnings, want %d:\n%s", i, n, step.wantWarnings, log.String())
		}
	}
}

func TestPool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	if _, err := certfile.Pool(path); err == nil {
		t.Error("a missing file was read")
	}
	write(t, path, []byte("no certificate"), time.Now())
	if _, err := certfile.Pool(path); err == nil || !strings.Contains(err.Error(), "no certificate in PEM") {
		t.Errorf("error %v", err)
	}
	cert, _ := certtest.Pair(t, 1)
	write(t, path, cert, time.Now())
	if pool, err := certfile.Pool(path); err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("an empty pool: %v", err)
	}
}
