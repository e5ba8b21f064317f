package sandbox

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/config"
)

func build(t *testing.T, c Config) *World {
	t.Helper()
	dir := t.TempDir()
	cfg := config.Default()
	cfg.DataDir, cfg.Database = filepath.Join(dir, "data"), c.Server.Database
	cfg.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	cfg.Drain = 10 * time.Millisecond
	c.Server, c.Dir, c.Options.Logger = cfg, dir, slog.New(slog.NewTextHandler(t.Output(), nil))
	w, err := Build(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func TestSpine(t *testing.T) {
	w := build(t, Config{})
	ctx := context.Background()
	a, err := w.PMS.Push(ctx, "B1", map[string]any{
		"pmsNumber": "1001", "booker": map[string]any{"lastName": "Lovelace"}, "state": "confirmed", "roomId": "R101",
		"fromDate": time.Now().Format(time.DateOnly), "toDate": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
	})
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	a, err = w.PMS.Push(ctx, "B1", map[string]any{"state": "started"})
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	err = w.Await(ctx, "verified", func(ctx context.Context) (bool, error) {
		a, err := w.PMS.Do(ctx, "GET", "/v1/reservations/find?pmsId=B1&extend=pin,gatePins,space,access", nil)
		if err != nil {
			return false, err
		}
		access, _ := a.Data()["access"].(map[string]any)
		doors, _ := access["doors"].([]any)
		for _, d := range doors {
			if d.(map[string]any)["pin"] != "verified" {
				return false, nil
			}
		}
		return len(doors) > 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The desk answers an edit that is no valid change with an error.
func TestPMSRefusesInvalidEdits(t *testing.T) {
	desk := NewPMS("secret", nil).Handler()
	for _, body := range []string{"", "null", "[]", `"started"`, "{"} {
		w := httptest.NewRecorder()
		desk.ServeHTTP(w, httptest.NewRequest(http.MethodPatch, "/reservations/B-1", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: answered %d", body, w.Code)
		}
	}
}

// A guest checks in with a phone by the QR code at the door, without script.
func TestVisitorChecksIn(t *testing.T) {
	w := build(t, Config{Play: true})
	ctx := t.Context()
	v, err := w.VisitByDoor(ctx, "2001", "okafor")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.AnswerName(ctx, "Ngozi", "Okafor"); err != nil {
		t.Fatal(err)
	}
	if err := v.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	pin, err := v.Complete(ctx)
	if err != nil || len(pin) < 6 {
		t.Fatalf("PIN of %d digits, %v", len(pin), err)
	}
}
