package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/logtest"
)

// OpenTelemetry reports its errors to the server's log, in the log's format.
func TestErrorsOfTracesAreLogged(t *testing.T) {
	var log logtest.Buffer
	server.LogTraceErrors(slog.New(slog.NewJSONHandler(&log, nil)))
	otel.Handle(errors.New("no collector"))
	if !log.Has(`"msg":"traces are not sent","error":"no collector"`) {
		t.Errorf("the log does not have the error:\n%s", log.String())
	}
}

// Traces show calls, changes of the database and calls to partners, and nothing that is secret or about people.
func TestTraces(t *testing.T) {
	seen := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(seen))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	w := world(t, sandbox.Config{Server: settings(t, ""), Options: server.Options{Traces: provider}})
	stay := map[string]any{
		"pmsNumber": "4711", "booker": map[string]any{"lastName": "Lovelace", "email": "ada@example.com"}, "state": "started", "roomId": "R101",
		"fromDate": time.Now().Format(time.DateOnly), "toDate": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
	}
	if a, err := w.PMS.Push(t.Context(), "B1", stay); err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	if a, err := w.PMS.Push(t.Context(), "B2", map[string]any{"state": "Lovelace"}); err != nil || a.Status != 400 {
		t.Fatal(a, err)
	}
	a, err := w.PMS.Do(t.Context(), "GET", "/v1/reservations/find?pmsId=B1&extend=pin", nil)
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	pin, _ := a.Data()["pin"].(string)
	if pin == "" {
		t.Fatal("no PIN")
	}
	openDoor(t, w)

	spans := seen.GetSpans()
	names, parents := map[string]bool{}, map[string]bool{}
	byID := map[string]string{}
	for _, s := range spans {
		names[s.Name] = true
		byID[s.SpanContext.SpanID().String()] = s.Name
	}
	for _, s := range spans {
		if s.Name == "db.Write" {
			parents[byID[s.Parent.SpanID().String()]] = true
		}
		text := fmt.Sprintf("%q %v %q %v", s.Name, s.Attributes, s.Status.Description, s.Events)
		for _, secret := range []string{pin, w.AccessToken, w.ClientToken, w.StaffToken, "pms-secret", "Lovelace", "ada@", "4711", "127.0.0.1"} {
			if strings.Contains(text, secret) {
				t.Errorf("a span holds %q: %s", secret, text)
			}
		}
	}
	const upsert = "/latchkey.partner.v1.ReservationService/UpsertReservation"
	for _, want := range []string{upsert, "partner getSpaces", "act on a lock", "db.Write"} {
		if !names[want] {
			t.Errorf("no span %q", want)
		}
	}
	if !parents[upsert] {
		t.Errorf("no change within its call; changes are within %v", parents)
	}
}

// openDoor has staff open a door.
func openDoor(t *testing.T, w *sandbox.World) {
	t.Helper()
	conn, err := grpc.NewClient(w.Server.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	locks := propertyv1.NewLockServiceClient(conn)
	all, err := locks.ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{PageSize: 1})
	if err != nil || len(all.GetData().GetList()) == 0 {
		t.Fatal(all, err)
	}
	if _, err := locks.UnlockLock(w.Staff(t.Context()), &propertyv1.UnlockLockRequest{Id: all.GetData().GetList()[0].GetId()}); err != nil {
		t.Fatal(err)
	}
}
