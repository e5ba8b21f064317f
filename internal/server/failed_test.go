package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"latchkey.dev/internal/config"
)

func failing(t *testing.T) *Server {
	t.Helper()
	c := config.Default()
	c.DataDir, c.Drain = filepath.Join(t.TempDir(), "data"), 0
	c.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	s, err := New(t.Context(), c, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A part that fails ends the server with its name and its reason: the supervisor restarts the process.
func TestFailedPartEndsTheServer(t *testing.T) {
	s := failing(t)
	s.parts.background["a part"] = func(context.Context) error { return errors.New("its reason") }
	if err := s.Run(t.Context()); err == nil || err.Error() != "a part: its reason" {
		t.Errorf("Run: %v", err)
	}
}

func TestLostListenerEndsTheServer(t *testing.T) {
	s := failing(t)
	s.parts.background["fault"] = func(ctx context.Context) error {
		_ = s.listeners.ops.Close()
		<-ctx.Done()
		return nil
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "ops listener") {
		t.Errorf("Run: %v", err)
	}
}

func TestConditionSaysTheStateFirst(t *testing.T) {
	for _, c := range []struct {
		of    condition
		ready bool
		text  string
	}{
		{condition{}, true, "ready"},
		{condition{degraded: []string{"a", "b"}}, true, "degraded: a; b"},
		{condition{unready: []string{"a"}}, false, "unready: a"},
		{condition{unready: []string{"a"}, degraded: []string{"b"}}, false, "unready: a; b"},
	} {
		if c.of.ready() != c.ready || c.of.String() != c.text {
			t.Errorf("%+v: ready %v, %q", c.of, c.of.ready(), c.of)
		}
	}
}
