package chain_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/api/chain"
)

func TestPublicAndAnonymousNeedNoCredential(t *testing.T) {
	conn, _ := start(t, &service{}, nil)
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	_, err := lockv1.NewEnrolmentServiceClient(conn).Enroll(t.Context(), &lockv1.EnrollRequest{JoinCode: "lkj_x", CertificateRequest: []byte{1}, HpkePublicKey: make([]byte, 32)})
	if err != nil {
		t.Error(err)
	}
	_, err = lockv1.NewEnrolmentServiceClient(conn).Enroll(t.Context(), &lockv1.EnrollRequest{})
	if !strings.Contains(err.Error(), "certificateRequest: must not be empty") {
		t.Errorf("got %v", err)
	}
	if _, _, fields, _ := statusParts(err); !slices.Equal(fields, []string{"joinCode required", "certificateRequest tooShort", "hpkePublicKey badFormat"}) {
		t.Errorf("anonymous calls are validated: %v", fields)
	}
}

// The handlers of public services come from a library. The chain keeps their status codes, but not their messages.
func TestStatusCodesOfPublicServices(t *testing.T) {
	var log strings.Builder
	conn, _ := start(t, &service{}, func(c *chain.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	_, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "nope"})
	if code, reason, _, id := statusParts(err); code != codes.NotFound || reason != "notFound" || id == "" || strings.Contains(err.Error(), "unknown service") {
		t.Errorf("%v", err)
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
}
