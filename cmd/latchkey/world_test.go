package main

import (
	"path/filepath"
	"testing"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
)

// newWorld is a shell at a property with a PMS, a bridge and virtual locks.
func newWorld(t *testing.T) (*shell, *sandbox.World) {
	t.Helper()
	root := t.TempDir()
	cfg := config.Default()
	cfg.KeepStays = 100 * 365 * 24 * time.Hour // tests name fixed days
	cfg.DataDir, cfg.KeyFile, cfg.Drain = filepath.Join(root, "d"), filepath.Join(root, "key"), time.Millisecond
	cfg.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	w, err := sandbox.Build(t.Context(), sandbox.Config{Server: cfg, Dir: filepath.Join(root, "b"), WithoutStorage: true, Options: server.Options{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shell{T: t, dir: cfg.DataDir, grpc: w.Server.GRPCAddr()}, w
}
