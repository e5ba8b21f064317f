package main

import (
	"net/http"
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

// push sends a reservation for today as the PMS does.
func push(t *testing.T, w *sandbox.World, id, number, first, last, state, room string, nights int) {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	today := time.Now().In(zone)
	fields := map[string]any{
		"pmsNumber": number, "booker": map[string]any{"firstName": first, "lastName": last}, "state": state,
		"fromDate": today.Format(time.DateOnly), "toDate": today.AddDate(0, 0, nights).Format(time.DateOnly),
	}
	if room != "" {
		fields["roomId"] = room
	}
	answer, err := w.PMS.Push(t.Context(), id, fields)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("push %s: %v, %v", id, answer, err)
	}
}
