package e2e

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// A credential header that comes twice names two callers: neither is taken, whichever protocol is spoken.
func TestCredentialSentTwiceIsRefused(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(*sandbox.Config) {})
	good := w.Partner().Headers
	for header, value := range good {
		md := metadata.New(good)
		md.Append(header, value)
		_, err := partnerv1.NewIntegrationServiceClient(w.Public).GetIntegration(metadata.NewOutgoingContext(t.Context(), md), &partnerv1.GetIntegrationRequest{})
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("gRPC, %s twice: %v", header, err)
		}
		for path, body := range map[string]string{"/v1/integration": "", "/latchkey.partner.v1.IntegrationService/GetIntegration": "{}"} {
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			for _, times := range []int{1, 2} {
				req, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.Server.HTTPAddr()+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				for h, v := range good {
					req.Header.Set(h, v)
				}
				if times == 2 {
					req.Header.Add(header, value)
				}
				if body != "" {
					req.Header.Set("content-type", "application/json")
				}
				answer, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if want := map[int]int{1: http.StatusOK, 2: http.StatusUnauthorized}[times]; answer.StatusCode != want {
					t.Errorf("%s, %s %d times: %d, want %d", path, header, times, answer.StatusCode, want)
				}
			}
		}
	}
}
